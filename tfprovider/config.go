package tfprovider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/preadmit/preadmit/engine/source"
)

// unknown stands for a value that is not known yet.
type unknown struct{}

// decode turns a value into nil, unknown{}, string, bool, number{}, []any or
// map[string]any.
func decode(value tftypes.Value) (any, error) {
	switch kind := value.Type(); {
	case value.IsNull():
		return nil, nil
	case !value.IsKnown():
		return unknown{}, nil
	case kind.Is(tftypes.String):
		var text string
		err := value.As(&text)
		return text, err
	case kind.Is(tftypes.Bool):
		var is bool
		err := value.As(&is)
		return is, err
	case kind.Is(tftypes.List{}), kind.Is(tftypes.Tuple{}), kind.Is(tftypes.Set{}):
		var items []tftypes.Value
		if err := value.As(&items); err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i := range items {
			var err error
			if list[i], err = decode(items[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case kind.Is(tftypes.Map{}), kind.Is(tftypes.Object{}):
		var fields map[string]tftypes.Value
		if err := value.As(&fields); err != nil {
			return nil, err
		}
		object := make(map[string]any, len(fields))
		for key := range fields {
			var err error
			if object[key], err = decode(fields[key]); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return number{}, nil
}

// number stands for any number: no option is one.
type number struct{}

// reader gives a config the values of options.
type reader struct {
	face     face
	config   *config
	problems []message
}

// object reads the options below a prefix, which is empty or ends in ".". Values that
// are not known yet are left out.
func (r *reader) object(object map[string]any, prefix string, at path.Path) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at, value, name := at.AtName(key), object[key], prefix+key
		o, isGroup := r.find(name)
		switch {
		case o == nil && !isGroup:
			if r.face == inFunctions {
				r.unknownName(name, prefix, at)
			}
			continue
		case value == nil, value == any(unknown{}):
			continue
		case o != nil:
			r.value(o, value, at)
			continue
		}
		if nested, ok := value.(map[string]any); ok {
			r.object(nested, name+".", at)
		} else {
			r.fail(at, "expected an object")
		}
	}
}

// find returns the option with a name, or says that the name is that of an object
// which holds options.
func (r *reader) find(name string) (o *option, isGroup bool) {
	for i := range options {
		if o := &options[i]; o.faces&r.face != 0 && o.name == name {
			return o, false
		}
	}
	return nil, groups[name] != ""
}

// unknownName reports a name that no option has. A typing error must not silently
// leave a policy without effect.
func (r *reader) unknownName(name, prefix string, at path.Path) {
	var siblings, known []string
	for i := range options {
		if options[i].faces&r.face == 0 {
			continue
		}
		known = append(known, options[i].name)
		if sibling, ok := strings.CutPrefix(options[i].name, prefix); ok {
			sibling, _, _ = strings.Cut(sibling, ".")
			if !slices.Contains(siblings, prefix+sibling) {
				siblings = append(siblings, prefix+sibling)
			}
		}
	}
	advice := source.Suggest(name, siblings)
	if best := source.Nearest(name, known); best != "" && source.Nearest(name, siblings) == "" {
		advice = "did you mean " + best + "?"
	}
	r.problems = append(r.problems, errorf(at, "option-unknown", "%s: unknown option; %s", at, advice))
}

// value gives an option its value.
func (r *reader) value(o *option, value any, at path.Path) {
	switch target := o.target(r.config).(type) {
	case *string:
		if text, ok := value.(string); !ok {
			r.fail(at, "expected a string")
		} else if r.allowed(o, text, at) {
			*target = text
		}
	case *bool:
		is, ok := value.(bool)
		if !ok {
			r.fail(at, "expected true or false")
		}
		*target = is
	case *[]string:
		r.list(value, at, func(text string, at path.Path) {
			if r.allowed(o, text, at) {
				*target = append(*target, text)
			}
		})
	case *[]text:
		r.list(value, at, func(data string, at path.Path) {
			*target = append(*target, text{at, at.String(), data})
		})
	case *[]pattern:
		r.list(value, at, func(text string, at path.Path) {
			*target = append(*target, pattern{at, text})
		})
	case *map[string][]string:
		r.mapOfLists(target, value, at)
	}
}

func (r *reader) allowed(o *option, text string, at path.Path) bool {
	if len(o.values) == 0 || slices.Contains(o.values, text) {
		return true
	}
	r.fail(at, fmt.Sprintf("%q is not a value; expected %s", text, source.Alternatives(o.values)))
	return false
}

// list reads a list of strings.
func (r *reader) list(value any, at path.Path, each func(text string, at path.Path)) {
	list, ok := value.([]any)
	if !ok {
		r.fail(at, "expected a list of strings")
		return
	}
	for i, item := range list {
		switch item := item.(type) {
		case string:
			each(item, at.AtListIndex(i))
		case unknown:
		default:
			r.fail(at.AtListIndex(i), "expected a string")
		}
	}
}

func (r *reader) mapOfLists(target *map[string][]string, value any, at path.Path) {
	object, ok := value.(map[string]any)
	if !ok {
		r.fail(at, "expected a map of lists of strings")
		return
	}
	*target = map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if object[key] == any(unknown{}) {
			continue
		}
		r.list(object[key], at.AtMapKey(key), func(text string, _ path.Path) {
			(*target)[key] = append((*target)[key], text)
		})
	}
}

func (r *reader) fail(at path.Path, problem string) {
	r.problems = append(r.problems, errorf(at, "option-value", "%s: %s", at, problem))
}
