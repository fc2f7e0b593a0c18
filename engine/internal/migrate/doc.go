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
// A policy goes through these stages, each with its files:
//
//	migrate.go      documents to rules, rules to converters, converters to documents
//	converter.go    one rule, from its match block to its mutations
//	refusal.go      what has no equivalent, at its position
//	match.go        match and exclude blocks to constraints and conditions
//	path.go         the places of values in an object, also as JSON Pointers
//	code.go         a CEL expression with what is known about its value
//	jmespath.go     expressions and texts with variables to code;
//	                selection.go and functions.go have their selections and functions
//	context.go      the entries of a context to variables
//	condition.go    preconditions, and the patterns of anchors;
//	                textpattern.go has texts with wildcards, quantities and durations
//	patch.go        a strategic merge patch to a tree of nodes without anchors
//	mutation.go     a tree to an ApplyConfiguration where possible, and a JSON Patch for the rest
//	operations.go   a JSON Patch to mutations, one for each operation
//	foreach.go      what is done for each element of a list; other objects as targets
//	merge.go        rules that depend on each other to one policy
//	comments.go     the comments of a rule
//	write.go        a policy as YAML
//	exception.go    exceptions from rules to exceptions from policies
//	native.go       the policies of Kubernetes itself
//
// Kyverno moves the items of a list that a patch changes to the front. Where this makes a difference,
// earlier JSON Patches do the same.
//
// Expressions are trees from the beginning to the end (package celenv/expr). What one reads,
// whether its value may be missing, whether it can fail, and whether a list holds one operation, is asked
// of the tree. A missing value is an error or null in JMESPath, and an error or an empty optional value in
// CEL: code says which. A value whose type decides, and is not known, is refused.
package migrate
