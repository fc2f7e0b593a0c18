// Package kyverno is the language of Kyverno's mutate rules: ClusterPolicy and Policy of
// kyverno.io/v1 and v2beta1, with PolicyException. They do what those of Kyverno
// v1.19.0 do, without a cluster. All rules together are one webhook with
// reinvocationPolicy IfNeeded; rules with mutate.targets change other objects when all
// requests have been admitted. Policies run in the order of their documents, rules in
// that of the policy, generated ones last; each sees what those before it left.
//
// What a rule would ask a cluster, a registry or the clock for comes from the user's
// values; a ConfigMap and the labels of a namespace come from the input, too. An
// expression that needs what nobody gave is an error. A rule that fails leaves the
// object as it was before the rule, and denies the request unless the failurePolicy is
// Ignore.
//
// Where Kyverno v1.19.0 is defective, rules do what its documentation says:
//
//   - +( ) in the items of a list is decided for each item by itself (Kyverno: the
//     first item decides for all)
//   - any number of items with anchors may stand in a list (Kyverno loses some)
//   - an item with anchors changes the items that fulfil its conditions where they
//     stand in the list, whether or not they have a name, and in lists that do not
//     merge by key, too (Kyverno: nothing happens, or the list is replaced)
//   - a plain name in an item with anchors selects items (Kyverno: it is ignored)
//   - what is below a condition is condition only, never patch (Kyverno writes
//     parts of it into the object)
//   - the anchors =( ), X( ) and ^( ) as keys of a patch are errors (Kyverno writes
//     them into the object)
//   - a rule generated for pod controllers keeps nested foreach and order (Kyverno:
//     the pod template is deleted; order is lost)
//   - a rule with mutate.targets is not generated for pod controllers (Kyverno: it is,
//     without the targets, and patches the controllers)
//   - empty maps of a patch are written (Kyverno drops them)
//   - an item of a patch that fits several items of a list, and directives other than
//     $patch, are errors (Kyverno ignores the item, and writes the directives)
//   - replace of a missing path in a JSON Patch adds, as the documentation says
//   - a failing rule leaves the object to the rules after it (Kyverno: an empty one)
//   - of JSON Patches, the list form works as well as the text
//   - comparisons do not depend on the order of Go's maps or on Go's number types, and
//     operators on their spelling in upper or lower case
//
// Each time one of them takes effect on an object there is a warning (kyverno-differs),
// but for comparisons, where what Kyverno answers is not the same each time. For strategic
// merge patches, what Kyverno does is carried out as well, and the results are compared.
//
// The overlay of policies before 1.6 works as in Kyverno 1.1, but for an item without
// anchors that consists of lists only: it is laid over every item of the object's list.
//
// As in Kyverno, an item of a list that a strategic merge patch names moves to the front
// of the list, and new items come first.
//
// The files in order: language.go (from documents to a program), document.go (reading
// and checking), definition.go and rules.go (policies and rules), autogen.go (rules for pod
// controllers), exceptions.go, values.go (values and user info); plan.go (what applies to
// a request), match.go, scope.go (variables), context.go, apicall.go and images.go (where
// they come from), variables.go (replacing them), conditions.go (preconditions); mutate.go
// (patches and foreach), anchors.go and pattern.go (strategic merge patches), overlay.go;
// targets.go; check.go (patches that do not fit); differs.go and preprocess.go (what Kyverno v1.19.0 does in another way);
// rules.go (rules for those who say them in another language).
package kyverno
