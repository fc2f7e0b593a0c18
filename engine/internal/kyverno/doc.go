// Package kyverno implements Kyverno's mutate rules: ClusterPolicy and Policy of kyverno.io/v1
// and v2beta1, with PolicyException. They behave as in Kyverno v1.19.0, without a cluster, defects
// included. Rules are two webhooks with reinvocationPolicy IfNeeded: policies with failurePolicy
// Fail, then those with Ignore. Rules with mutate.targets change other objects after all requests
// have been admitted. In a webhook, ClusterPolicies run before Policies, each in the order of
// their documents; in a cluster this order is random. Rules run in the order of the policy, with
// generated rules last. Each rule sees the result of the one before.
//
// Where a rule would ask a cluster, a registry or the clock, the answer comes from the user's
// values. ConfigMaps and the labels of namespaces come from the input, too. An expression that
// needs a missing answer is an error. A rule that fails does not change the object, and denies
// the request unless the failurePolicy is Ignore.
//
// Where Kyverno's documentation says something else, deviations.go says what, how to write the
// policy, which versions of Kyverno do it, and which recordings show it. Where Kyverno's answer
// depends on the order of Go's maps, keys are in alphabetical order, and unordered.go finds the place.
//
// The overlay of policies before 1.6 works as in Kyverno 1.1, with one exception: an item
// without anchors that consists only of lists applies to every item of the object's list.
//
// The files in order: language.go (from documents to programs), document.go (reading and
// checking), definition.go and rules.go (policies and rules; rules.go also has the exported view
// of rules, for conversion to another language), autogen.go (rules for pod controllers),
// exceptions.go, values.go (values and user info); plan.go (what applies to a request),
// match.go, scope.go (variables), context.go, apicall.go and images.go (context entries),
// variables.go (replacing variables), conditions.go (preconditions), unknown.go (values
// that are not known yet); mutate.go (patches and
// foreach), anchors.go, preprocess.go and pattern.go (strategic merge patches), overlay.go;
// targets.go; check.go (patches that do not fit); reads.go (fields that are not there); deviations.go; unordered.go
// (what varies from run to run); refused.go (policies that Kyverno refuses), conflict.go (match blocks that it refuses).
package kyverno
