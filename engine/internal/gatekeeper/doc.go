// Package gatekeeper is the language of Gatekeeper's mutators: Assign, AssignMetadata and
// ModifySet of mutations.gatekeeper.sh/v1, v1beta1 and v1alpha1, and AssignImage of
// v1alpha1. They do what those of Gatekeeper v3.23.1 do in a cluster with its own manifest,
// and are refused, and refuse requests, in its words.
//
// All mutators together are one webhook. They run in the order of kinds and names, each on
// what those before it left, and again until nothing changes. One that fails refuses the
// request. Mutators whose locations contradict each other are disabled.
//
// Laws:
//
//	an object is not modified, and what is made of it shares with it what stays as it is
//	the order of documents does not matter
//	reading what a location prints gives the location
//
// What seems odd in Gatekeeper and shows in a cluster is kept:
//
//   - the numbers of an assign.value are floating-point ones until the end: they equal no
//     integer of an object, and integers beyond 2^53 are rounded
//   - a value that is assigned in several places is the same map in all of them: what a
//     later mutator changes in one place changes everywhere
//   - prune makes the parents of a list that is not there
//   - path tests contradict each other by their places in the list, not by what they say
//   - of the user name and the value at the location, a provider is asked for the latter
//   - labels of which one is no text are none
//
// Differences: a mutator that is defined twice is an error, and so is a placeholder for
// external data to which nobody gave the answer, whatever the failurePolicy. Mutators with
// source Generated are about what ExpansionTemplates make when Gatekeeper validates, and do
// not apply to objects of a cluster; the annotations of --mutation-annotations are not added.
//
// The files in order: language.go (from documents to a program), document.go (what is wrong
// with one), shape.go (the schemas of the kinds), mutator.go (reading and checking),
// token.go and location.go (paths), tests.go (path tests), match.go, action.go, image.go,
// external.go and number.go (what is written), conflict.go; webhook.go (which requests reach
// the mutators), hook.go (from a request to steps), system.go (the rounds), walk.go (one
// mutator on an object), alias.go, export.go (what a server gets); check.go and order.go
// (mistakes that Gatekeeper accepts).
package gatekeeper
