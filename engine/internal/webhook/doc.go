// Package webhook implements mutating webhooks of a cluster: MutatingWebhookConfigurations v1 of
// admissionregistration.k8s.io as policies. Behaviour and texts are those of kube-apiserver 1.36.3
// (k8s.io/apiserver v0.36.3, pkg/admission/plugin/webhook).
//
// Each webhook with an answerer is one program, at its place in the order of configurations and
// positions. The package computes the request that a server would send, hands it to a
// policy.Answerer, and computes from the answer what the server does: a patched object, a denial, a
// failure, warnings and audit annotations. It does no I/O: who answers is the frontend's concern, or
// that of Recorded, which finds answers in documents.
//
// Laws:
//
//	a webhook gets only requests that a server would send
//	the same request has the same uid, so its answer can be recorded
//	a patch that does not apply changes nothing and ends the request
//
// Differences: a request lacks what a server draws before admission (uid, creationTimestamp and
// managedFields of the object), and built-in kinds are not converted to other versions for
// matchPolicy Equivalent, which is an error.
//
// The files in order: language.go (from documents to programs), read.go and client.go (the fields of a
// configuration), plan.go (which requests a webhook gets), review.go (the request), response.go (decoding an
// answer), verdict.go (what a server does with it), recorded.go (recorded answers), recorder.go (recording them),
// exchange.go (without the values of Secrets), order.go (which answers mean the same), nearest.go (what changed
// since a recorded request).
package webhook
