package tfprovider

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/internal/settings"
)

// unknown represents a value that is not known yet.
type unknown struct{ kind valueKind }

// valueKind is the type that an unknown value will have.
type valueKind int

const (
	// someText is a string, anything a value of any type, and several a list or a map.
	someText valueKind = iota
	anything
	someNumber
	someBool
	several
)

func kindOf(kind tftypes.Type) valueKind {
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

// IsLater implements settings.Later.
func (unknown) IsLater() {}

func isUnknown(value any) bool {
	_, is := value.(unknown)
	return is
}

// decode turns a value into nil, unknown, string, bool, json.Number, []any or
// map[string]any.
func decode(value tftypes.Value) (any, error) {
	switch kind := value.Type(); {
	case value.IsNull():
		return nil, nil
	case !value.IsKnown():
		return unknown{kindOf(kind)}, nil
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
		return json.Number(n.Text('f', -1)), err
	case kind.Is(tftypes.List{}), kind.Is(tftypes.Tuple{}), kind.Is(tftypes.Set{}):
		return decodeList(value)
	case kind.Is(tftypes.Map{}), kind.Is(tftypes.Object{}):
		return decodeMap(value)
	}
	return nil, fmt.Errorf("there are no values of type %s", value.Type())
}

func decodeList(value tftypes.Value) (any, error) {
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
}

func decodeMap(value tftypes.Value) (any, error) {
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

// optionReader sets the values of options in a config.
type optionReader struct {
	scope    settings.Scope
	config   *config
	problems []message
}

// read reads options. It skips values that are not known yet.
func (r *optionReader) read(object map[string]any) {
	settings.Read(r, &r.config.options, object, nil)
}

// Name implements settings.Tree.
func (r *optionReader) Name(o *settings.Option) string { return nameIn(r.scope)(o) }

// Text implements settings.Tree.
func (r *optionReader) Text(o *settings.Option, value any) (text, problem string) {
	is, isBool := value.(bool)
	text, isText := value.(string)
	switch {
	case isBool && o.IsSwitch():
		return strconv.FormatBool(is), ""
	case isText && (!o.IsSwitch() || text == "true" || text == "false"): // Terraform converts between them
		return text, ""
	}
	problem = o.Expected(value)
	if _, ok := value.(json.Number); ok && !o.IsSwitch() {
		problem += "; put it in quotes, because without them 1.30 is the number 1.3"
	}
	return "", problem
}

// File implements settings.Tree.
func (r *optionReader) File(o *settings.Option, name string, at change.Path) error {
	r.config.files[o.Files] = append(r.config.files[o.Files], pattern{r.path(at), name})
	return nil
}

// isFileName reports whether a text can only be the name of a file with manifests.
func isFileName(text string) bool {
	extension := filepath.Ext(text)
	return extension != text && slices.Contains([]string{".yaml", ".yml", ".json"}, extension) && !strings.ContainsAny(text, " \t\r\n:{}")
}

// notRead returns the message about names of files where their content is expected.
func (r *optionReader) notRead(o *settings.Option, files []string) string {
	problem := fmt.Sprintf("expected YAML or JSON, not the name of a file, %q", files[0])
	if len(files) > 1 {
		problem = fmt.Sprintf("expected YAML or JSON, not the names of %d files, such as %q", len(files), files[0])
	}
	problem += "; fileset only lists names: read each file with file"
	for i := range settings.Table {
		if other := &settings.Table[i]; other.Files == o.Texts && nameIn(r.scope)(other) != "" {
			problem += ", or give the names with the option " + other.Attribute
		}
	}
	return problem
}

// Texts implements settings.Tree. Texts are a list, or a map whose keys are names for messages, such
// as file names.
func (r *optionReader) Texts(o *settings.Option, value any, at change.Path) {
	target := &r.config.texts[o.Texts]
	if o.Sensitive {
		target = &r.config.sensitive[o.Texts]
	}
	var files []string
	add := func(name string, value any, at change.Path) {
		data, problem := r.Text(o, value)
		switch {
		case problem != "":
			r.Fail(at, problem)
		case isFileName(data):
			files = append(files, data)
		default:
			*target = append(*target, text{r.path(at), name, data})
		}
	}
	defer func() {
		if len(files) > 0 {
			r.Fail(at, r.notRead(o, files))
		}
	}()
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !isUnknown(value[name]) {
				add(name, value[name], at.Key(name))
			}
		}
	case []any:
		settings.List(r, value, at, func(item any, at change.Path) { add(r.path(at).String(), item, at) })
	default:
		r.Fail(at, "expected a list or a map of strings, not "+settings.Describe(value))
	}
}

// Unknown implements settings.Tree. An unknown option is an error, because a typo must not silently
// disable a policy. The data source has other attributes, too, and Terraform checks their names.
func (r *optionReader) Unknown(at change.Path, advice string) {
	if r.scope == settings.Functions {
		at := r.path(at)
		r.problems = append(r.problems, errorf(at, "option-unknown", "%s: unknown option; %s", at, advice))
	}
}

// Fail implements settings.Tree.
func (r *optionReader) Fail(to change.Path, problem string) {
	at := r.path(to)
	r.problems = append(r.problems, errorf(at, "option-value", "%s: %s", at, problem))
}

// path returns a path in the notation of Terraform: keys up to the name of an option are attributes,
// and those below it are keys of a map.
func (r *optionReader) path(at change.Path) path.Path {
	to, isOption := path.Empty(), false
	for i, step := range at {
		switch {
		case step.IsIndex():
			to = to.AtListIndex(step.Index)
		case isOption:
			to = to.AtMapKey(step.Key)
		default:
			to = to.AtName(step.Key)
			name := at[:i+1].String()
			isOption = settings.Find(name, func(o *settings.Option) string { return o.Attribute }) != nil
		}
	}
	return to
}
