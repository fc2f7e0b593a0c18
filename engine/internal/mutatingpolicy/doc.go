// Package mutatingpolicy implements Kyverno's mutating CEL policies: MutatingPolicy of
// policies.kyverno.io/v1, v1beta1 and v1alpha1, NamespacedMutatingPolicy of v1 and v1beta1, and
// PolicyException of that group. They behave as in Kyverno v1.19.0, without a cluster, defects
// included. Invalid documents have the error texts of Kyverno and of its
// CustomResourceDefinitions.
//
// A cluster calls MutatingPolicies before the rules of ClusterPolicies, and
// NamespacedMutatingPolicies after them, each with a webhook for failurePolicy Fail and one for
// Ignore. In a cluster the order within a call is random; here it is by name. Each policy is
// matched on, and sees, the result of the one before. Only on creation, when Kyverno compares an
// objectSelector with an empty old object, too, a selector that asks for missing labels is compared before all
// policies of the same webhook. A policy that fails changes nothing.
// Policies with evaluation.mutateExisting change other objects after all requests have been
// admitted.
//
// Where a policy would ask a cluster, the answer comes from the manifests and the context. Where
// it would ask a registry, the network, the clock or a random generator, the answer comes from
// the user's values; without it the expression fails, and the error names what is missing.
//
// A policy that matches only pods also applies to pod controllers, for which Kyverno rewrites the
// texts of its expressions.
//
// Where Kyverno's documentation says something else, deviations.go says what, how to write the
// policy, which versions of Kyverno do it, and which recordings show it.
//
// The files in order: language.go (from documents to programs), fields.go (the fields of the
// kinds), definition.go (policies), exceptions.go, units.go (the kinds that a policy applies to)
// and autogen.go (policies for controllers), plan.go (what applies to a request), evaluation.go
// (one policy on one object), mutate.go (its mutations), world.go (answers for functions),
// entries.go (the global context), targets.go (mutateExisting), check.go (mistakes that Kyverno
// accepts), deviations.go.
package mutatingpolicy
