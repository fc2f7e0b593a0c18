// Package engine runs mutating policies on manifests. Compile turns policies into a
// Set; Set.Run takes manifests to an Outcome: the same manifests, changed as an API
// server with these policies would change them, and for every change who made it. It
// is the only door for the faces, and has no state besides what it is given: no
// cluster, no network, no clock.
//
// Laws, for a manifest M and policies P:
//
//	an API server without P, given Run(M, P), holds the object that one with P holds, given M
//	Run(Run(M, P), P) is Run(M, P), or there is a diagnostic
//	the bytes of a manifest that no policy changes are its input bytes
//	the changes applied to the admission view before give the one after
//	the edits applied to the manifest give the output, and each has a cause
//
// The files in order: options.go (Options), policies.go (what looks like a policy),
// set.go (Compile), documents.go (which document is what), run.go (Run: each manifest
// once, context before what needs it), trees.go (mutation trees), admit.go (the passes
// over one manifest), follow.go (what they lead to on others), stats.go (Stat), write.go
// (from the mutated view back to the manifest), attribute.go (which changes led to which
// edit), replay.go (the policies on their own output), secrets.go (what messages
// must not show), check.go (Check: mistakes and conflicts of policies), view.go (View:
// what policies see, and no more), outcome.go (Outcome), convert.go (policies in other
// forms).
package engine
