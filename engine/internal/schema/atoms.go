package schema

import (
	"slices"
	"strconv"

	smd "sigs.k8s.io/structured-merge-diff/v4/schema"
)

// KeyRule says whether items of an associative list may have the same keys. Since Kubernetes 1.34
// an item needs at least one of its keys, given or by default.
type KeyRule uint8

const (
	// AnyKey is the rule of Kubernetes 1.35 and later: the live object may repeat items with the
	// same keys.
	AnyKey KeyRule = iota
	// UniqueKey is the rule of Kubernetes 1.34: no two items may have the same keys.
	UniqueKey
)

// KeyRuleOf returns the rule of Kubernetes 1.minor.
func KeyRuleOf(minor int) KeyRule {
	if minor < 35 {
		return UniqueKey
	}
	return AnyKey
}

// absent is the value of a key that an item lacks. The schema
// names it as the default of the key, so that structured-merge-diff v4 uses it when it compares
// items. It is not a JSON value and equals only itself. As a default it is never written.
type absent struct{}

// atoms converts types to the schema of structured-merge-diff. Every type gets a name in it,
// which makes comparisons of types cheap.
type atoms struct {
	types []smd.TypeDef
	names map[*Type]*string
	// keyed are the item types of lists with several keys.
	keyed map[*Type]*string
}

var (
	untypedName, deducedName = "untyped", "deduced"
	untypedScalar            = smd.Untyped
	untypedRef               = smd.TypeRef{NamedType: &untypedName}
	deducedRef               = smd.TypeRef{NamedType: &deducedName}
	untypedList              = &smd.List{ElementType: untypedRef, ElementRelationship: smd.Atomic}
)

// newAtoms returns the schema of a type and a reference to the type in it.
func newAtoms(root *Type) (*smd.Schema, smd.TypeRef) {
	a := atoms{names: map[*Type]*string{}, keyed: map[*Type]*string{}}
	a.types = []smd.TypeDef{
		// Any value, replaced as a whole.
		{Name: untypedName, Atom: smd.Atom{
			Scalar: &untypedScalar,
			List:   untypedList,
			Map:    &smd.Map{ElementType: untypedRef, ElementRelationship: smd.Atomic},
		}},
		// Any value; maps merge.
		{Name: deducedName, Atom: smd.Atom{
			Scalar: &untypedScalar,
			List:   untypedList,
			Map:    &smd.Map{ElementType: deducedRef},
		}},
	}
	ref := a.ref(root)
	return &smd.Schema{Types: a.types}, ref
}

func (a *atoms) ref(t *Type) smd.TypeRef {
	switch {
	case t == nil:
		return smd.TypeRef{}
	case t.Scalar == Untyped && len(t.Fields) == 0:
		if t.AtomicMap {
			return untypedRef
		}
		return deducedRef
	case t.Scalar == IntOrString:
		return deducedRef
	}
	if name := a.names[t]; name != nil {
		return smd.TypeRef{NamedType: name}
	}
	ref, set := a.define()
	a.names[t] = ref.NamedType
	set(a.atom(t))
	return ref
}

// define reserves a type and returns a function that sets it: types may be recursive.
func (a *atoms) define() (smd.TypeRef, func(smd.Atom)) {
	i := len(a.types)
	name := strconv.Itoa(i)
	a.types = append(a.types, smd.TypeDef{Name: name})
	return smd.TypeRef{NamedType: &name}, func(atom smd.Atom) { a.types[i].Atom = atom }
}

func (a *atoms) atom(t *Type) smd.Atom {
	switch {
	case t.Scalar == NotScalar && t.IsList:
		return smd.Atom{List: a.list(t)}
	case t.Scalar == NotScalar:
		return smd.Atom{Map: a.structure(t, nil)}
	case t.Scalar == Untyped:
		return smd.Atom{Scalar: &untypedScalar, List: untypedList, Map: a.structure(t, nil)}
	}
	scalar := smd.Untyped // quantities, times
	switch t.Scalar {
	case Integer, Number:
		scalar = smd.Numeric
	case Boolean:
		scalar = smd.Boolean
	case String:
		if t.Format == "" || t.Format == "byte" {
			scalar = smd.String
		}
	}
	return smd.Atom{Scalar: &scalar}
}

func (a *atoms) list(t *Type) *smd.List {
	list := &smd.List{ElementRelationship: smd.Atomic}
	if t.List != Atomic {
		list.ElementRelationship = smd.Associative
	}
	list.Keys = t.ListKeys
	if len(t.ListKeys) > 1 && t.Elem.Scalar == NotScalar && !t.Elem.IsList {
		ref, set := a.define()
		list.ElementType = ref
		set(smd.Atom{Map: a.structure(t.Elem, t.ListKeys)})
	} else {
		list.ElementType = a.ref(t.Elem)
	}
	return list
}

// structure returns the atom of a struct or map. The optional keys may be missing.
func (a *atoms) structure(t *Type, optional []string) *smd.Map {
	m := &smd.Map{ElementType: a.ref(t.Elem)}
	if t.AtomicMap {
		m.ElementRelationship = smd.Atomic
	}
	if len(t.Fields) > 0 {
		m.Fields = make([]smd.StructField, len(t.Fields))
	}
	for i, f := range t.Fields {
		m.Fields[i] = smd.StructField{Name: f.Name, Type: a.ref(f.Type), Default: f.Default}
		if f.Default == nil && slices.Contains(optional, f.Name) {
			m.Fields[i].Default = absent{}
		}
	}
	return m
}
