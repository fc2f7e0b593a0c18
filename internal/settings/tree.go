package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// Tree is a frontend whose options are nested maps: a functionConfig or Terraform.
type Tree interface {
	// Name returns the path of an option, its keys separated by dots; "" if the frontend does not
	// have the option.
	Name(o *Option) string
	// Text returns the text of a scalar, or why the option cannot have it.
	Text(o *Option, value any) (text, problem string)
	// File takes a path of an option with Files, Texts takes the value of an option with Texts.
	File(o *Option, name string, at change.Path) error
	Texts(o *Option, value any, at change.Path)
	// Unknown takes a name that no option has, with advice. Fail takes all other errors.
	Unknown(at change.Path, advice string)
	Fail(at change.Path, problem string)
}

// Later is a value that is not known yet, so that it is neither used nor wrong.
type Later interface{ IsLater() }

// Read sets the options that the map at a path of a tree gives, those that imply others first.
// further are names that belong to no option but are allowed.
func Read(t Tree, c *Config, object map[string]any, at change.Path, further ...string) {
	rank := func(key string) int {
		if o := Find(at.Key(key).String(), t.Name); o != nil && o.Implies != nil {
			return 0
		}
		return 1
	}
	keys := slices.Sorted(maps.Keys(object))
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	for _, key := range keys {
		at, value := at.Key(key), object[key]
		name := at.String()
		o := Find(name, t.Name)
		_, isLater := value.(Later)
		nested, isMap := value.(map[string]any)
		switch {
		case o == nil && !isGroup(t, name):
			t.Unknown(at, Suggest(name, t.Name, further...).Text)
		case value == nil, isLater:
		case o != nil:
			set(t, c, o, value, at)
		case isMap:
			Read(t, c, nested, at, further...)
		default:
			t.Fail(at, "expected a map, not "+Describe(value))
		}
	}
}

// isGroup reports whether a name is that of a map which contains options.
func isGroup(t Tree, name string) bool {
	return slices.ContainsFunc(Table, func(o Option) bool { return strings.HasPrefix(t.Name(&o), name+".") })
}

// set sets an option to a value.
func set(t Tree, c *Config, o *Option, value any, at change.Path) {
	target, isMap := o.target(c).(*map[string][]string)
	switch {
	case o.Texts != 0:
		t.Texts(o, value, at)
	case isMap:
		object, ok := value.(map[string]any)
		if !ok {
			t.Fail(at, "expected a map of lists, not "+Describe(value))
			return
		}
		*target = map[string][]string{}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			List(t, object[key], at.Key(key), func(item any, at change.Path) {
				if text, problem := t.Text(o, item); problem == "" {
					(*target)[key] = append((*target)[key], text)
				} else {
					t.Fail(at, problem)
				}
			})
		}
	case o.IsList():
		List(t, value, at, func(item any, at change.Path) { SetScalar(t, c, o, item, at) })
	default:
		SetScalar(t, c, o, value, at)
	}
}

// List calls a function for each item of a list, except those that are not known yet.
func List(t Tree, value any, at change.Path, each func(item any, at change.Path)) {
	list, ok := value.([]any)
	if _, isLater := value.(Later); !ok && !isLater {
		t.Fail(at, "expected a list, not "+Describe(value))
	}
	for i, item := range list {
		if _, isLater := item.(Later); !isLater {
			each(item, at.Index(i))
		}
	}
}

// SetScalar sets an option to a scalar, or adds it to a list.
func SetScalar(t Tree, c *Config, o *Option, value any, at change.Path) {
	text, problem := t.Text(o, value)
	if problem == "" {
		var err error
		if o.Files != 0 {
			err = t.File(o, text, at)
		} else {
			err = o.Set(c, text)
		}
		if err == nil {
			return
		}
		problem = err.Error()
	}
	t.Fail(at, problem)
}

// Scalar returns the text of a scalar in YAML, or why the option cannot have it. Without quotes, YAML
// reads on and off as booleans and a version as a number.
func (o *Option) Scalar(value any) (text, problem string) {
	switch value := value.(type) {
	case string:
		return value, ""
	case bool:
		switch {
		case o.IsSwitch():
			return strconv.FormatBool(value), ""
		case slices.Contains(o.Values, "on"):
			return map[bool]string{true: "on", false: "off"}[value], ""
		}
	case int64:
		return strconv.FormatInt(value, 10), ""
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), ""
	}
	return "", o.Expected(value)
}

// Expected says that a scalar has the wrong type for the option.
func (o *Option) Expected(value any) string {
	if o.IsSwitch() {
		return "expected true or false, not " + Describe(value)
	}
	return "expected a string, not " + Describe(value)
}

// Describe returns the type of a value for messages, and a number itself.
func Describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64, json.Number:
		return fmt.Sprint("the number ", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return "a value that is not known"
}
