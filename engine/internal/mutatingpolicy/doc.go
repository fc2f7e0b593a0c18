// Package mutatingpolicy implements Kyverno's mutating CEL policies: MutatingPolicy of
// policies.kyverno.io/v1, v1beta1 and v1alpha1, NamespacedMutatingPolicy of v1 and v1beta1, and
// PolicyException of that group. They behave as in Kyverno v1.19.0, without a cluster. Invalid
// documents have the error texts of Kyverno and of its CustomResourceDefinitions.
//
// A cluster calls MutatingPolicies before the rules of ClusterPolicies, and
// NamespacedMutatingPolicies after them. In a cluster the order within a call is random; here it
// is by name. Each policy is matched on, and sees, the result of the one before. A policy that
// fails changes nothing. Policies with evaluation.mutateExisting change other objects after all
// requests have been admitted.
//
// Where a policy would ask a cluster, the answer comes from the manifests and the context. Where
// it would ask a registry, the network, the clock or a random generator, the answer comes from
// the user's values; without it the expression fails, and the error names what is missing.
//
// A policy that matches only pods also applies to pod controllers. It sees a controller as the
// pod that the controller creates, and its changes to the pod change the template (see
// template.go).
//
// Where Kyverno v1.19.0 deviates from its documentation, policies follow the documentation.
// Whenever this makes a difference, a warning says what v1.19.0 does (see differs.go):
//
//   - a policy for pods applies unchanged to controllers (Kyverno replaces texts in some of its
//     expressions)
//   - matchConditions apply to the targets of a policy without targetMatchConstraints, too
//     (Kyverno ignores them)
//   - an audit annotation that is null is left out (Kyverno: the policy fails)
//   - conditions of exceptions may use variables (Kyverno: they fail)
//   - the argument of orValue is evaluated only if it is needed (Kyverno: its errors always count)
//   - a policy runs once (Kyverno: twice, if policies of both failurePolicies share a webhook)
//   - matchConditions may use namespaceObject (Kyverno: the API server evaluates them without
//     namespaceObject)
//   - matchPolicy Exact and reinvocationPolicy IfNeeded have an effect (Kyverno ignores them)
//
// The files in order: language.go (from documents to programs), fields.go (the fields of the
// kinds), definition.go (policies), exceptions.go, units.go (the kinds that a policy applies to:
// autogen), plan.go (what applies to a request), evaluation.go (one policy on one object),
// mutate.go (its mutations), template.go (controllers as pods), world.go (answers for
// functions), entries.go (the global context), targets.go (mutateExisting), differs.go
// (deviations of Kyverno v1.19.0), check.go (mistakes that Kyverno accepts).
package mutatingpolicy
