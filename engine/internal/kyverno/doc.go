// Package kyverno implements Kyverno's mutate rules: ClusterPolicy and Policy of kyverno.io/v1
// and v2beta1, with PolicyException. They behave as in Kyverno v1.19.0, without a cluster. All
// rules together are one webhook with reinvocationPolicy IfNeeded; rules with mutate.targets
// change other objects after all requests have been admitted. Policies run in the order of their
// documents, rules in the order of the policy, with generated rules last. Each rule sees the
// result of the one before.
//
// Where a rule would ask a cluster, a registry or the clock, the answer comes from the user's
// values. ConfigMaps and the labels of namespaces come from the input, too. An expression that
// needs a missing answer is an error. A rule that fails does not change the object, and denies
// the request unless the failurePolicy is Ignore.
//
// Where Kyverno v1.19.0 deviates from its documentation, rules follow the documentation:
//
//   - +( ) in the items of a list is decided for each item separately (Kyverno: the first item
//     decides for all)
//   - a list may have any number of items with anchors (Kyverno loses some)
//   - an item with anchors changes the items that meet its conditions, which keep their places
//     in the list, whether or not they have a name, and in lists that do not merge by key, too
//     (Kyverno: nothing happens, or the list is replaced)
//   - a plain name in an item with anchors selects items (Kyverno ignores it)
//   - the value of a condition is only compared, never part of the patch (Kyverno writes parts
//     of it into the object)
//   - the anchors =( ), X( ) and ^( ) as keys of a patch are errors (Kyverno writes them into
//     the object)
//   - a rule generated for pod controllers keeps nested foreach and order (Kyverno deletes the
//     pod template, and loses the order)
//   - a rule with mutate.targets is not generated for pod controllers (Kyverno generates it
//     without the targets, and patches the controllers)
//   - empty maps of a patch are written (Kyverno drops them)
//   - an item of a patch that fits several items of a list is an error, and so are directives
//     other than $patch (Kyverno ignores the item, and writes the directives)
//   - replace of a missing path in a JSON Patch adds the value (Kyverno fails)
//   - after a failing rule, later rules see the object (Kyverno: an empty object)
//   - a JSON Patch may be a list as well as a text (Kyverno refuses the list)
//   - comparisons do not depend on the order of Go's maps or on Go's number types, and
//     operators do not depend on case
//
// Each deviation that has an effect on an object gives a warning (kyverno-differs). Comparisons
// do not, because Kyverno's answer is not the same each time. A strategic merge patch is also
// run as in Kyverno, and the results are compared.
//
// The overlay of policies before 1.6 works as in Kyverno 1.1, with one exception: an item
// without anchors that consists only of lists applies to every item of the object's list.
//
// As in Kyverno, an item of a list that a strategic merge patch changes moves to the front of
// the list, and new items come first.
//
// The files in order: language.go (from documents to a program), document.go (reading and
// checking), definition.go and rules.go (policies and rules; rules.go also has the exported view
// of rules, for conversion to another language), autogen.go (rules for pod controllers),
// exceptions.go, values.go (values and user info); plan.go (what applies to a request),
// match.go, scope.go (variables), context.go, apicall.go and images.go (context entries),
// variables.go (replacing variables), conditions.go (preconditions); mutate.go (patches and
// foreach), anchors.go and pattern.go (strategic merge patches), overlay.go; targets.go;
// check.go (patches that do not fit); differs.go and preprocess.go (the deviations of Kyverno
// v1.19.0).
package kyverno
