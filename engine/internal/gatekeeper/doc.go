// Package gatekeeper implements Gatekeeper's mutators: Assign, AssignMetadata and ModifySet of
// mutations.gatekeeper.sh/v1, v1beta1 and v1alpha1, and AssignImage of v1alpha1. They behave as
// in Gatekeeper v3.23.1, installed with its own manifest. Errors in mutators and refused
// requests have the texts of Gatekeeper.
//
// All mutators together are one webhook. They run in the order of kinds and names; each sees the
// result of the one before. They run again until nothing changes. A mutator that fails makes the
// webhook refuse the request. Mutators whose locations contradict each other are disabled.
//
// Laws:
//
//	an object is not modified, and the result shares unchanged parts with it
//	the order of documents does not matter
//	parsing the text that a location prints gives the same location
//
// Odd behaviour of Gatekeeper that shows in a cluster is kept:
//
//   - the numbers of an assign.value are floating-point numbers until the end: they equal no
//     integer of an object, and integers beyond 2^53 are rounded
//   - a value that is assigned in several places is the same map in all of them: if a later
//     mutator changes it in one place, it changes everywhere
//   - prune creates the parents of a missing list
//   - whether path tests contradict each other depends on their order in the list
//   - a provider is asked for the value at the location even if the data source is the user name
//   - if one label is not a string, the object counts as having no labels
//
// Differences: a mutator that is defined twice is an error. A placeholder for external data
// without a known answer is an error, whatever the failurePolicy. Mutators with source Generated
// do not apply: they are for the objects that ExpansionTemplates generate when Gatekeeper
// validates. The annotations of --mutation-annotations are not added.
//
// The files in order: language.go (from documents to a program), document.go (errors in a
// document), shape.go (the schemas of the kinds), mutator.go (reading and checking), token.go
// and location.go (paths), tests.go (path tests), match.go, action.go, image.go, external.go and
// number.go (values to write), conflict.go; webhook.go (which requests reach the mutators),
// hook.go (from a request to steps), system.go (the rounds), walk.go (one mutator on an object),
// alias.go, export.go (the result that a server gets); check.go and order.go (mistakes that
// Gatekeeper accepts), goal.go (what mutators ask of objects that they change).
package gatekeeper
