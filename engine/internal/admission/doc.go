// Package admission works out what mutating admission sees of an object: the
// admission view. A kube-apiserver decodes, normalises, defaults and converts an
// object before policies see it; a policy that asks has(object.spec.replicas) sees
// true although the manifest says nothing. Everything here is what kube-apiserver
// 1.36.3 does with its feature gates at their defaults.
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
// The first has three exceptions, which are the server's own: a pointer to the time
// 0001-01-01T00:00:00Z is written as null and read as absent, and an empty list of
// scaling policies and an empty status.allocatable are written as absent, which then
// is defaulted. Not reproduced is the time at which a device was tainted
// (timeAdded), which the server sets to now: it stays absent.
//
// The types of built-in kinds come from a table of the Go types of the API
// (gotypes.txt), because an OpenAPI document does not say which fields vanish when
// they are zero. Constant defaults are a table too (defaults.txt), conditional ones
// are functions. Custom resources follow their schema.
//
// The files in order: view.go (View, Redefault); gotypes.go reads the table of
// types; record.go holds a struct that is being decoded; decode.go and scalars.go
// decode and normalise, quantities.go quantities; defaults.go, with pods.go and
// images.go, core.go, workloads.go and groups.go (the other API groups) for the
// conditional defaults; convert.go and autoscalers.go do what conversion does;
// custom.go reads custom resources; unview.go (Unview, Pin, ServerOwned) is the way
// back; fields.go, errors.go.
package admission
