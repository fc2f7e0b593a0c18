package tfprovider

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// unknown represents a value that is not known yet.
type unknown struct{ shape shape }

// shape is the type that an unknown value will have.
type shape int

const (
	// someText is a string, anything a value of any type, and several a list or a map.
	someText shape = iota
	anything
	someNumber
	someBool
	several
)

func shapeOf(kind tftypes.Type) shape {
	switch {
	case kind.Is(tftypes.String):
		return someText
	case kind.Is(tftypes.Number):
		return someNumber
	case kind.Is(tftypes.Bool):
		return someBool
	case kind.Is(tftypes.DynamicPseudoType):
		return anything
	}
	return several
}

func isUnknown(value any) bool {
	_, is := value.(unknown)
	return is
}

// decode turns a value into nil, unknown, string, bool, number, []any or
// map[string]any.
func decode(value tftypes.Value) (any, error) {
	switch kind := value.Type(); {
	case value.IsNull():
		return nil, nil
	case !value.IsKnown():
		return unknown{shapeOf(kind)}, nil
	case kind.Is(tftypes.String):
		var text string
		err := value.As(&text)
		return text, err
	case kind.Is(tftypes.Bool):
		var is bool
		err := value.As(&is)
		return is, err
	case kind.Is(tftypes.Number):
		var n big.Float
		err := value.As(&n)
		return number(n.Text('f', -1)), err
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
	return nil, fmt.Errorf("there are no values of type %s", value.Type())
}

// number is a number in decimal notation. No option has this type.
type number string

// holdsUnknown reports whether any part of a value is not known yet.
func holdsUnknown(value any) bool {
	switch v := value.(type) {
	case unknown:
		return true
	case []any:
		return slices.ContainsFunc(v, holdsUnknown)
	case map[string]any:
		for _, item := range v {
			if holdsUnknown(item) {
				return true
			}
		}
	}
	return false
}

// reader sets the values of options in a config.
type reader struct {
	scope    scope
	config   *config
	problems []message
}

// object reads the options below a prefix, which is empty or ends in ".". It skips values that are
// not known yet.
func (r *reader) object(object map[string]any, prefix string, at path.Path) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at, value, name := at.AtName(key), object[key], prefix+key
		o, isGroup := r.find(name)
		switch {
		case o == nil && !isGroup:
			if r.scope == inFunctions {
				r.unknownName(name, prefix, at)
			}
			continue
		case value == nil, isUnknown(value):
			continue
		case o != nil:
			r.value(o, value, at)
			continue
		}
		if nested, ok := value.(map[string]any); ok {
			r.object(nested, name+".", at)
		} else {
			r.fail(at, "expected an object, not "+describe(value))
		}
	}
}

// find returns the option with a name, or reports that the name is a group of options.
func (r *reader) find(name string) (o *option, isGroup bool) {
	for i := range options {
		if o := &options[i]; o.scope&r.scope != 0 && o.name == name {
			return o, false
		}
	}
	return nil, groups[name] != ""
}

// unknownName reports an unknown option as an error, because a typo must not silently disable a
// policy.
func (r *reader) unknownName(name, prefix string, at path.Path) {
	var siblings, known []string
	for i := range options {
		if options[i].scope&r.scope == 0 {
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

// value sets an option.
func (r *reader) value(o *option, value any, at path.Path) {
	switch target := o.target(r.config).(type) {
	case *string:
		if text, ok := value.(string); !ok {
			r.expectedText(at, value)
		} else if r.allowed(o, text, at) {
			*target = text
		}
	case *size:
		text, _ := value.(string)
		bytes, err := limit.ParseInput(text)
		if err != nil {
			r.fail(at, err.Error())
		}
		*target = size(bytes)
	case *bool:
		is, ok := value.(bool)
		if !ok {
			r.fail(at, "expected true or false, not "+describe(value))
		}
		*target = is
	case *[]string:
		r.list(value, at, func(text string, at path.Path) {
			if r.allowed(o, text, at) {
				*target = append(*target, text)
			}
		})
	case *[]text:
		r.texts(target, value, at)
	case *[]pattern:
		r.list(value, at, func(text string, at path.Path) {
			*target = append(*target, pattern{at, text})
		})
	case *map[string][]string:
		r.mapOfLists(target, value, at)
	}
}

func (r *reader) allowed(o *option, text string, at path.Path) bool {
	if err := settings.Check(o.values, text); err != nil {
		r.fail(at, err.Error())
		return false
	}
	return true
}

// list reads a list of strings.
func (r *reader) list(value any, at path.Path, each func(text string, at path.Path)) {
	list, ok := value.([]any)
	if !ok {
		r.fail(at, "expected a list of strings, not "+describe(value))
		return
	}
	for i, item := range list {
		switch item := item.(type) {
		case string:
			each(item, at.AtListIndex(i))
		case unknown:
		default:
			r.expectedText(at.AtListIndex(i), item)
		}
	}
}

// texts reads texts: a list, or a map whose keys are names for messages, such as file names.
func (r *reader) texts(target *[]text, value any, at path.Path) {
	named, ok := value.(map[string]any)
	if !ok {
		if _, ok := value.([]any); !ok {
			r.fail(at, "expected a list or a map of strings, not "+describe(value))
			return
		}
		r.list(value, at, func(data string, at path.Path) {
			*target = append(*target, text{at, at.String(), data})
		})
		return
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		at := at.AtMapKey(name)
		switch data := named[name].(type) {
		case string:
			*target = append(*target, text{at, name, data})
		case unknown:
		default:
			r.expectedText(at, data)
		}
	}
}

// expectedText reports a value that is not a string.
func (r *reader) expectedText(at path.Path, value any) {
	problem := "expected a string, not " + describe(value)
	if _, ok := value.(number); ok {
		problem += "; put it in quotes, because without them 1.30 is the number 1.3"
	}
	r.fail(at, problem)
}

// describe returns the type of a value for messages, and the value if it is short.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case number:
		return "the number " + string(v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a value that is not known"
}

func (r *reader) mapOfLists(target *map[string][]string, value any, at path.Path) {
	object, ok := value.(map[string]any)
	if !ok {
		r.fail(at, "expected a map of lists of strings")
		return
	}
	*target = map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if isUnknown(object[key]) {
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
