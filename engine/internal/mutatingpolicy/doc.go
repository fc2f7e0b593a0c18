// Package mutatingpolicy is the language of Kyverno's CEL policies that mutate:
// MutatingPolicy of policies.kyverno.io/v1, v1beta1 and v1alpha1, NamespacedMutatingPolicy
// of v1 and v1beta1, and PolicyException of that group. They do what those of Kyverno
// v1.19.0 do in a cluster, without one. Documents are refused for its reasons, or for
// those of its CustomResourceDefinitions, in their words.
//
// A cluster calls MutatingPolicies before the rules of ClusterPolicies, and
// NamespacedMutatingPolicies after them. Within a call their order is random; here it is
// that of their names. Each policy sees what those before it left, also where it is
// matched, and a policy that fails leaves nothing behind. Policies with
// evaluation.mutateExisting change other objects when all requests have been admitted.
//
// What a policy would ask a cluster is answered from the manifests and the context. What
// it would ask a registry, the network, the clock or chance comes from the user's values;
// an expression that needs what nobody gave fails and says so.
//
// A policy that matches pods only is for pod controllers, too: it sees a controller as the
// pod that it makes, and what it changes of the pod is changed in the template (see
// template.go).
//
// Where Kyverno v1.19.0 is defective in a cluster, policies do what its documentation
// says, with a warning that says what v1.19.0 does instead, each time that it makes a
// difference (see differs.go):
//
//   - a policy for pods is carried over to controllers as a whole (Kyverno replaces texts
//     in some of its expressions)
//   - matchConditions hold for the targets of a policy without targetMatchConstraints, too
//     (Kyverno does not look at them)
//   - an audit annotation that is null is left out (Kyverno: the policy fails)
//   - conditions of exceptions may use variables (Kyverno: they fail)
//   - the argument of orValue counts only if it is needed (Kyverno: its errors always do)
//   - a policy runs once (Kyverno: twice, where policies of both failurePolicies share a
//     webhook)
//   - matchConditions may use namespaceObject (Kyverno: the API server evaluates them, and
//     has none)
//   - matchPolicy Exact and reinvocationPolicy IfNeeded have an effect (Kyverno: none)
//
// The files in order: language.go (from documents to programs), fields.go (the fields of
// the kinds), definition.go (policies), exceptions.go, units.go (what a policy is for:
// autogen), plan.go (what applies to a request), evaluation.go (one policy on one object),
// mutate.go (its mutations), template.go (controllers as pods), world.go (what functions
// ask), entries.go (the global context), targets.go (mutateExisting), differs.go (what
// Kyverno v1.19.0 does instead), check.go (mistakes that Kyverno accepts).
package mutatingpolicy
