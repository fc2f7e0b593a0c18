// Package schema knows the kinds of the Kubernetes API: their resources, the types
// of their fields, and what follows from these: how an ApplyConfiguration merges
// into an object, and which objects the API server refuses to decode. It is the
// only importer of structured-merge-diff.
//
// A Registry holds kinds: those built in, those that CustomResourceDefinitions
// define, and those of a cluster's OpenAPI documents. The built-in kinds come from
// the documents of a real server (openapi/), in a compact text that is searched as
// it is embedded: nothing is done at start-up, and the types of a kind are read when
// they are first asked for. What other versions of Kubernetes have is embedded as the
// difference to the default version.
//
// The files in order: type.go, kind.go, registry.go; compact.go reads the embedded
// text, openapi.go OpenAPI documents, crd.go custom resource definitions; strict.go
// checks objects as the server decodes them; atoms.go, violation.go, plain.go and
// merge.go merge.
package schema

//go:generate go run ./generate
