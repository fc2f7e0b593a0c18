package celenv

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/preadmit/preadmit/engine/gvk"
)

// gvrType is the type of the result of resource.ToGVR.
var gvrType = types.NewOpaqueType("schema.GroupVersionResource")

// gvrValue is the CEL value of a group, version and resource.
type gvrValue struct {
	opaque
	resource gvk.Resource
}

// Equal implements ref.Val.
func (r gvrValue) Equal(other ref.Val) ref.Val {
	s, ok := other.(gvrValue)
	return types.Bool(ok && r.resource == s.resource)
}

// Value implements ref.Val.
func (r gvrValue) Value() any { return r.resource }

// argument is a kind of argument of the members of resource.
type argument int

const (
	textArgument argument = iota
	gvrArgument
	labelsArgument
	objectArgument
)

var (
	objectMap     = cel.MapType(cel.StringType, cel.AnyType)
	argumentTypes = [...]*cel.Type{cel.StringType, gvrType, cel.MapType(cel.StringType, cel.StringType), objectMap}
	argumentNames = [...]string{"string", "gvr", "labels", "map"}
)

// resourceMember is one way to call a member of resource.
type resourceMember struct {
	names     []string
	arguments []argument
	result    *cel.Type
	call      func(resourceCall) ref.Val
}

// resourceMembers returns the members of resource. In namespaced policies they have no namespace
// argument: the World knows the namespace.
func (l kyvernoLibrary) resourceMembers(namespaced bool) []resourceMember {
	get, list, post, to := []string{"Get", "get"}, []string{"List", "list"}, []string{"Post", "post"}, []string{"ToGVR", "toGVR"}
	const text, gvr, labels, object = textArgument, gvrArgument, labelsArgument, objectArgument
	members := []resourceMember{
		{get, []argument{text, text, text, text}, objectMap, l.get},
		{get, []argument{gvr, text, text}, objectMap, l.get},
		{list, []argument{text, text, text}, objectMap, l.list},
		{list, []argument{text, text, text, labels}, objectMap, l.list},
		{list, []argument{gvr, text}, objectMap, l.list},
		{list, []argument{gvr, text, labels}, objectMap, l.list},
		{post, []argument{text, text, text, object}, objectMap, l.post},
		{post, []argument{text, text, object}, objectMap, l.post},
	}
	if namespaced {
		members = []resourceMember{
			{get, []argument{text, text, text}, objectMap, l.get},
			{get, []argument{gvr, text}, objectMap, l.get},
			{list, []argument{text, text}, objectMap, l.list},
			{list, []argument{text, text, labels}, objectMap, l.list},
			{list, []argument{gvr}, objectMap, l.list},
			{list, []argument{gvr, labels}, objectMap, l.list},
			{post, []argument{text, text, object}, objectMap, l.post},
		}
	}
	return append(members, resourceMember{to, []argument{text, text}, gvrType, l.toGVR})
}

// resource declares the variable resource and its members.
func (l kyvernoLibrary) resource(namespaced bool) []cel.EnvOption {
	options := []cel.EnvOption{cel.Variable("resource", contextTypes["resource"])}
	for _, m := range l.resourceMembers(namespaced) {
		for _, name := range m.names {
			id, parameters := "resource_"+name, []*cel.Type{contextTypes["resource"]}
			for _, kind := range m.arguments {
				id += "_" + argumentNames[kind]
				parameters = append(parameters, argumentTypes[kind])
			}
			options = append(options, cel.Function(name, cel.MemberOverload(id, parameters, m.result, cel.FunctionBinding(func(values ...ref.Val) ref.Val {
				c, failed := m.read(values, namespaced)
				if failed != nil {
					return failed
				}
				return m.call(c)
			}))))
		}
	}
	return options
}

// resourceCall has the arguments of a member of resource.
type resourceCall struct {
	target                                ref.Val
	apiVersion, resource, namespace, name string
	labels                                map[string]string
}

// read reads the arguments in their order: apiVersion and plural, the namespace unless
// namespaced, the name.
func (m resourceMember) read(values []ref.Val, namespaced bool) (c resourceCall, failed ref.Val) {
	c.target = values[0]
	places := []*string{&c.apiVersion, &c.resource, &c.namespace, &c.name}
	if namespaced {
		places = []*string{&c.apiVersion, &c.resource, &c.name}
	}
	for i, kind := range m.arguments {
		var err error
		switch kind {
		case textArgument:
			*places[0], err = nativeOf[string](values[i+1])
			places = places[1:]
		case gvrArgument:
			if r, ok := values[i+1].(gvrValue); ok {
				c.apiVersion, c.resource = gvk.Kind{Group: r.resource.Group, Version: r.resource.Version}.APIVersion(), r.resource.Resource
			} else {
				return c, types.MaybeNoSuchOverloadErr(values[i+1])
			}
			places = places[2:]
		case labelsArgument:
			c.labels, err = nativeOf[map[string]string](values[i+1])
		}
		if err != nil {
			return c, types.NewErr("invalid arg %d: %v", i+1, err)
		}
	}
	return c, nil
}

func (l kyvernoLibrary) get(c resourceCall) ref.Val {
	object, failed := ask(c.target, "failed to get resource", func(w World) (map[string]any, error) {
		return w.Get(c.apiVersion, c.resource, c.namespace, c.name)
	})
	switch {
	case failed != nil:
		return failed
	case object == nil:
		return types.NullValue
	}
	return l.NativeToValue(object)
}

func (l kyvernoLibrary) list(c resourceCall) ref.Val {
	items, failed := ask(c.target, "failed to list resource", func(w World) ([]any, error) {
		return w.List(c.apiVersion, c.resource, c.namespace, c.labels)
	})
	if failed != nil {
		return failed
	}
	return l.NativeToValue(map[string]any{"items": items})
}

func (l kyvernoLibrary) post(c resourceCall) ref.Val {
	object, failed := ask(c.target, "failed to create resource", func(w World) (map[string]any, error) {
		return w.Post(c.apiVersion, c.resource, c.namespace)
	})
	if failed != nil {
		return failed
	}
	return l.NativeToValue(object)
}

// toGVR calls ToGVR, whose second argument is a kind in place of a plural resource.
func (l kyvernoLibrary) toGVR(c resourceCall) ref.Val {
	resource, failed := ask(c.target, "failed to map kind to resource", func(w World) (gvk.Resource, error) {
		return w.Resource(c.apiVersion, c.resource)
	})
	if failed != nil {
		return failed
	}
	return gvrValue{opaque{gvrType}, resource}
}
