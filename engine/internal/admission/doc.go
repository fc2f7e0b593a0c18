// Package admission computes the admission view of an object: what mutating admission sees of
// it. A kube-apiserver decodes, normalises, defaults and converts an object before policies see
// it. A policy that asks has(object.spec.replicas) sees true although the manifest says
// nothing. Everything here is what kube-apiserver does, in the version of Kubernetes that the
// kind of the object is built into, with its feature gates at their defaults: 1.32.13, 1.33.1,
// 1.34.3, 1.35.4, 1.36.3 and 1.37.1.
//
// Laws, for every object that has a view:
//
//	View(View(x)) is equal to View(x)
//	View(x) does not modify x, and is the same every time
//	View(x) shares with x what stays as it is, and is x if all of it does
//	View and Redefault make the same of x, whatever their Memo knows
//	Unview(x, View(x), View(x)) is equal to x
//	Pin(x, y, v) has nothing that x has not and that the server does not store like that
//	View(Normalize(x)) is equal to View(x), but for what is stored alike: null and []
//
// The first law has three exceptions, which are the server's own. It writes a pointer to the
// time 0001-01-01T00:00:00Z as null and reads null as absent. It writes an empty list of
// scaling policies and an empty status.allocatable as absent, which it then defaults. One
// thing is not reproduced: the server sets the time at which a device was tainted (timeAdded)
// to now; here it stays absent.
//
// The types of built-in kinds come from a table of the Go types of the API (gotypes.txt),
// because an OpenAPI document does not say which fields vanish when they are zero. That of each
// other version is embedded as what differs (versions). Constant defaults are a table too (defaults.txt), conditional ones are functions. Custom resources
// follow their schema.
//
// The files in order: view.go (View, Redefault); gotypes.go (the table of types), record.go (a
// struct that is being decoded), decode.go and scalars.go (decoding and normalising),
// quantities.go; defaults.go, defaulted.go (whether a field has a default), pods.go and
// images.go, core.go, workloads.go and groups.go (conditional defaults, by API group);
// convert.go and autoscalers.go (conversion); custom.go (custom resources); unview.go (Unview,
// Pin, ServerOwned) and stored.go (Stored, Normalize), from the view back to the manifest;
// fields.go, errors.go.
package admission
