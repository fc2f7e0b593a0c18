// Package admission computes the admission view of an object: the object as mutating admission
// policies see it. A kube-apiserver decodes, normalises, defaults and converts an object before
// policies run. A policy that asks has(object.spec.replicas) sees true although the manifest
// does not set replicas. The package does what kube-apiserver does, in the version of Kubernetes
// that the kind of the object belongs to, with default feature gates: 1.34.3,
// 1.35.4, 1.36.3 and 1.37.1.
//
// Laws, for every object that has a view:
//
//	View(View(x)) is equal to View(x)
//	View(x) does not modify x, and always returns the same
//	View(x) shares unchanged parts with x, and is x if nothing changes
//	the results of View and Redefault do not depend on their Memo
//	Unview(x, View(x), View(x)) is equal to x
//	Pin(x, y, v) adds to x only values in the form in which the server stores them
//	View(Normalize(x)) is equal to View(x), except for null and [], which are stored alike
//
// The first law has three exceptions, which are the server's own. The server writes a pointer to
// the time 0001-01-01T00:00:00Z as null and reads null as absent. It writes an empty list of
// scaling policies and an empty status.allocatable as absent, and then defaults them. One
// behaviour is not reproduced: the server sets the time at which a device was tainted
// (timeAdded) to now; here the field stays absent.
//
// The types of all kinds come from package schema, which also knows which fields of a built-in
// kind are omitted when they are zero. Constant defaults are in a table (defaults.txt);
// conditional defaults are functions.
//
// The files in order: view.go (View, Redefault); structs.go (Go types), gotype.go (the Go types of values, for
// others), record.go (a struct that is being decoded), decode.go and scalars.go (decoding and normalising),
// quantities.go; defaults.go, defaulted.go (whether a field has a default), pods.go and
// images.go, core.go, workloads.go and groups.go (conditional defaults, by API group);
// convert.go and autoscalers.go (conversion); custom.go (custom resources); unview.go (Unview,
// Pin, ServerOwned) and stored.go (Stored, Normalize), from the view back to the manifest;
// fields.go, errors.go.
package admission
