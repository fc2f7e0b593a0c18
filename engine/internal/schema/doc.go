// Package schema has the kinds of the Kubernetes API: their resources and the types of their
// fields. From the types it computes how an ApplyConfiguration merges into an object, and which
// objects the API server refuses to decode. It is the only importer of structured-merge-diff.
//
// A Registry holds kinds: built-in kinds, kinds of CustomResourceDefinitions, and kinds of a
// cluster's OpenAPI documents. The built-in kinds come from the documents of a real server
// (openapi/), and from the Go types of the API, which say how zero values are written (gotypes/).
// They are embedded as a compact text that is searched in place: nothing happens at start-up, and
// the types of a kind are parsed when they are first used. Other versions of Kubernetes are
// embedded as differences to the default version.
//
// The files in order: type.go, kind.go, registry.go; compact.go (the embedded text), openapi.go
// (OpenAPI documents), crd.go (custom resource definitions), lifecycle.go (deprecated and removed versions), enums.go
// (enumerated values), descriptions.go (what fields are, for editors); strict.go and gonames.go (strict decoding);
// atoms.go, violation.go, plain.go and merge.go (merging).
package schema

//go:generate bash gotypes/generate
//go:generate go run ./generate/command
