// Package migrate converts the mutate rules of Kyverno's ClusterPolicies and Policies to CEL: to
// MutatingPolicies and NamespacedMutatingPolicies of policies.kyverno.io/v1. It evaluates
// nothing: package kyverno reads and checks the rules. The rules that Kyverno generates for pod
// controllers are converted like other rules, to separate policies.
//
// Laws:
//
//	a converted policy does what the rule does, for every object that a server accepts
//	a part without an equivalent is an error at its position, with advice
//	a comment of a rule is kept in the converted policy
//
// A rule goes through three forms: expressions of JMESPath become code (a CEL expression with
// the known type of its value), a strategic merge patch becomes a tree of nodes without anchors,
// and both become mutations. An ApplyConfiguration is used where possible, and a JSONPatch for
// the rest. Kyverno moves the items of a list that a patch changes to the front. Where this
// makes a difference, an earlier JSONPatch does the same.
//
// The files in order: migrate.go (from documents to documents), converter.go (one rule),
// match.go (the objects that it matches), value.go (JMESPath), condition.go (preconditions and
// patterns), patch.go (strategic merge patches to trees), mutation.go (trees to mutations),
// operations.go (JSON Patches), foreach.go (foreach and targets), merge.go (rules that depend on
// each other), cel.go (expressions), layout.go (line breaks), comments.go, write.go (YAML),
// exception.go; native.go (policies of Kubernetes itself); counterexample.go (objects that reach the
// branches of a policy).
package migrate
