package tfprovider

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/preadmit/preadmit/engine/source"
)

// argumentIndex are the arguments of functions by name; the options come last and are
// all other names.
var argumentIndex = map[string]int64{"manifest": 0, "manifests": 0, "yaml": 0, "policies": 1}

const optionsIndex = 2

var (
	manifestParameter = function.StringParameter{
		Name:                "manifest",
		MarkdownDescription: "One manifest, YAML or JSON.",
	}
	policiesParameter = function.ListParameter{
		Name: "policies", ElementType: types.StringType,
		MarkdownDescription: "Policies and their bindings: strings with YAML or JSON, of any number of documents. Functions read no files: use `file`.",
	}
)

// optionsParameter takes no or one object with options.
func optionsParameter() function.Parameter {
	var help strings.Builder
	help.WriteString("An object with any of these options:\n")
	for i := range options {
		o := &options[i]
		if o.faces&inFunctions == 0 {
			continue
		}
		kind := "string"
		switch o.target(new(config)).(type) {
		case *bool:
			kind = "bool"
		case *map[string][]string:
			kind = "map(list(string))"
		case *[]string, *[]text:
			kind = "list(string)"
		}
		fmt.Fprintf(&help, "\n- `%s` (%s) %s", o.name, kind, o.help)
	}
	return function.DynamicParameter{Name: "options", MarkdownDescription: help.String()}
}

// take adds the policies and options of a call to a config.
func (c *config) take(ctx context.Context, policies []*string, given []types.Dynamic) *function.FuncError {
	at := path.Root("policies")
	for i, data := range policies {
		at := at.AtListIndex(i)
		if data == nil {
			return argumentError(argumentIndex["policies"], errorf(at, "option-value", "%s is null", at))
		}
		c.policies = append(c.policies, text{at, at.String(), *data})
	}
	if len(given) > 1 {
		return argumentError(optionsIndex+1, errorf(path.Empty(), "argument-invalid", "expected one object with all options"))
	}
	for _, value := range given {
		raw, err := underlying(ctx, value)
		if err != nil {
			return argumentError(optionsIndex, errorf(path.Empty(), "internal", "%v", err))
		}
		decoded, err := decode(raw)
		object, ok := decoded.(map[string]any)
		if err != nil || !ok {
			return argumentError(optionsIndex, errorf(path.Empty(), "option-value", "expected an object with options"))
		}
		r := reader{face: inFunctions, config: c}
		r.object(object, "", path.Empty())
		if len(r.problems) > 0 {
			return funcError(r.problems)
		}
	}
	return nil
}

// underlying is the value in a dynamic one.
func underlying(ctx context.Context, value types.Dynamic) (tftypes.Value, error) {
	var inner attr.Value = value
	if !value.IsNull() && !value.IsUnderlyingValueNull() {
		inner = value.UnderlyingValue()
	}
	return inner.ToTerraformValue(ctx)
}

// argumentError is an error about an argument.
func argumentError(index int64, m message) *function.FuncError {
	return function.NewArgumentFuncError(index, m.text())
}

// funcError makes one error of all errors among messages; nil if there is none.
// Functions cannot warn.
func funcError(messages []message) *function.FuncError {
	var texts []string
	var index *int64
	for _, m := range messages {
		if m.severity != source.Error {
			continue
		}
		texts = append(texts, m.text())
		if index == nil && len(m.at.Steps()) > 0 {
			name, _ := m.at.Steps()[0].(path.PathStepAttributeName)
			i, ok := argumentIndex[string(name)]
			if !ok {
				i = optionsIndex
			}
			index = &i
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &function.FuncError{Text: strings.Join(texts, "\n\n"), FunctionArgument: index}
}

// admitOne runs policies on a manifest that must be one document. The arguments are the
// manifest, the policies, and options.
func admitOne(ctx context.Context, sets *cache, request function.RunRequest) (*admission, *document, *function.FuncError) {
	var manifest string
	var policies []*string
	var given []types.Dynamic
	if err := request.Arguments.Get(ctx, &manifest, &policies, &given); err != nil {
		return nil, nil, err
	}
	var c config
	if err := c.take(ctx, policies, given); err != nil {
		return nil, nil, err
	}
	c.manifests = []text{{path.Root("manifest"), "manifest", manifest}}
	a := admit(ctx, sets, &c)
	a.requireOne()
	if err := funcError(a.problems); err != nil {
		return nil, nil, err
	}
	return a, &a.documents[0], nil
}

// requireOne reports manifests that are not one document.
func (a *admission) requireOne() {
	for i, stream := range a.streams {
		if n := len(stream.Documents()); n != 1 && !a.unreadable(stream.Name()) {
			count := cmp.Or(map[int]string{0: "no document"}[n], fmt.Sprintf("%d documents", n))
			a.problems = append(a.problems, errorf(a.config.manifests[i].at, "document-count", "%s: expected one document, found %s; the function split makes one of each", stream.Name(), count))
		}
	}
}

// unreadable reports whether there is an error about a text already.
func (a *admission) unreadable(name string) bool {
	for _, m := range a.problems {
		if m.severity == source.Error && m.at.String() == name {
			return true
		}
	}
	return false
}
