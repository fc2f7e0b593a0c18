// Package migrate says the mutate rules of Kyverno's ClusterPolicies and Policies in CEL: as
// MutatingPolicies and NamespacedMutatingPolicies of policies.kyverno.io/v1. It evaluates
// nothing: package kyverno reads and checks the rules, and what it generates for pod
// controllers is converted like what the user wrote, into policies of its own.
//
// Laws:
//
//	what is converted does what the rule does, on every object that a server takes
//	what has no equivalent is an error at its place, which says what to do
//	a comment of a rule is in the policy that is made of it
//
// A rule goes through three forms: expressions of JMESPath become code (an expression of
// CEL, with what is known of its value), a strategic merge patch becomes a tree of nodes
// without anchors, and both become mutations. What an ApplyConfiguration can say is one; the
// rest is a JSONPatch. As Kyverno puts the items of a list that a patch changes first, a
// JSONPatch before it does, where it makes a difference.
//
// The files in order: migrate.go (from documents to documents), converter.go (one rule),
// match.go (which objects it is about), value.go (JMESPath), condition.go (preconditions and
// patterns), patch.go (strategic merge patches to trees), mutation.go (trees to mutations),
// operations.go (JSON Patches), foreach.go (foreach and targets), merge.go (rules that need
// each other's work), cel.go (expressions), layout.go (in lines), comments.go, write.go
// (YAML), exception.go; native.go (policies of Kubernetes itself); witness.go (objects that
// reach what others do not).
package migrate
