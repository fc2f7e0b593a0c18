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
// what is known about its value), a strategic merge patch becomes a tree of nodes without
// anchors, and both become mutations. An ApplyConfiguration is used where possible, and a
// JSONPatch for the rest. Kyverno moves the items of a list that a patch changes to the front.
// Where this makes a difference, earlier JSONPatches do the same.
//
// Expressions are trees from the beginning to the end (package celenv/expr). What one reads,
// whether its value may be missing, and whether it can fail, is asked of the tree. A missing
// value is an error or null in JMESPath, and an error or an empty optional value in CEL: code
// says which. A value whose type decides, and is not known, is refused.
//
// The files in order: migrate.go (from documents to documents), converter.go (one rule),
// match.go (the objects that it matches), code.go (expressions with what is known about them),
// jmespath.go, selection.go and functions.go (JMESPath), condition.go (preconditions and patterns),
// textpattern.go (texts with wildcards, quantities and durations), patch.go (strategic merge
// patches to trees), mutation.go (trees to mutations), operations.go (JSON Patches), foreach.go
// (foreach and targets), merge.go (rules that depend on each other), comments.go, write.go (YAML),
// exception.go; native.go (policies of Kubernetes itself).
package migrate
