package tfprovider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// argumentIndex are the positions of arguments by name. All other names are options, which come
// last.
var argumentIndex = map[string]int64{"manifest": 0, "manifests": 0, "object": 0, "yaml": 0, "policies": 1}

const optionsIndex = 2

var manifestParameter = function.StringParameter{
	Name:                "manifest",
	MarkdownDescription: "One manifest, YAML or JSON.",
}

var manifestsParameter = function.MapParameter{
	Name: "manifests", ElementType: types.StringType, AllowUnknownValues: true,
	MarkdownDescription: "Manifests with any keys, for example those of `split`. Each is one document, YAML or JSON.",
}

// takeManifests adds the known manifests of a map. It returns the keys of those and of the others.
func (c *config) takeManifests(manifests types.Map) (keys, unknown []string, failure *function.FuncError) {
	elements := manifests.Elements() // each call of Elements copies them
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		value, _ := elements[key].(types.String)
		at := path.Root("manifests").AtMapKey(key)
		switch {
		case value.IsNull():
			return nil, nil, argumentError(0, errorf(at, "option-value", "%s is null", at))
		case value.IsUnknown():
			unknown = append(unknown, key)
		default:
			keys = append(keys, key)
			c.texts[settings.Manifests] = append(c.texts[settings.Manifests], text{at, at.String(), value.ValueString()})
		}
	}
	return keys, unknown, nil
}

// policiesParameter is a list or a map. With allowUnknown, Terraform calls the function even if
// parts of it are not known.
func policiesParameter(allowUnknown bool) function.Parameter {
	return function.DynamicParameter{
		Name: "policies", AllowUnknownValues: allowUnknown,
		MarkdownDescription: "Policies and their bindings: a list of strings with YAML or JSON, each with any number of documents. " +
			"It may also be a map whose keys are names for messages, " +
			"such as `{ for f in fileset(path.module, \"policies/*.yaml\") : f => file(\"${path.module}/${f}\") }`. Functions read no files: use `file`.",
	}
}

// optionsParameter is at most one object with options. With allowUnknown, Terraform calls the
// function even if parts of it are not known.
func optionsParameter(allowUnknown bool) function.Parameter {
	var help strings.Builder
	help.WriteString("An object with any of these options:\n")
	name := nameIn(settings.Functions)
	for i := range settings.Table {
		o := &settings.Table[i]
		kind := o.Type()
		if o.Texts != 0 {
			kind += " or map(string)"
		}
		if name(o) != "" {
			fmt.Fprintf(&help, "\n- `%s` (%s) %s", name(o), kind, o.AttributeHelp)
		}
	}
	return function.DynamicParameter{Name: "options", AllowUnknownValues: allowUnknown, MarkdownDescription: help.String()}
}

// take adds the policies and options of a call to a config. known is false if any part of them is
// unknown.
func (c *config) take(ctx context.Context, policies types.Dynamic, given []types.Dynamic) (known bool, failure *function.FuncError) {
	if len(given) > 1 {
		return true, argumentError(optionsIndex+1, errorf(path.Empty(), "argument-invalid", "expected one object with all options"))
	}
	c.private = true // the arguments may be sensitive
	r := &optionReader{scope: settings.Functions, config: c}
	decoded, err := underlying(ctx, policies)
	if err != nil {
		return true, argumentError(argumentIndex["policies"], errorf(path.Empty(), "internal", "%v", err))
	}
	known = !holdsUnknown(decoded)
	if !isUnknown(decoded) {
		r.Texts(&settings.Option{Texts: settings.Policies}, decoded, change.Keys("policies"))
	}
	for _, value := range given {
		decoded, err := underlying(ctx, value)
		known = known && !holdsUnknown(decoded)
		object, ok := decoded.(map[string]any)
		switch {
		case err != nil:
			return true, argumentError(optionsIndex, errorf(path.Empty(), "internal", "%v", err))
		case ok:
			r.read(object)
		case !isUnknown(decoded):
			return true, argumentError(optionsIndex, errorf(path.Empty(), "option-value", "expected an object with options, not %s", settings.Describe(decoded)))
		}
	}
	return known, funcError(r.problems)
}

// underlying returns the decoded value of a dynamic value.
func underlying(ctx context.Context, value types.Dynamic) (any, error) {
	var inner attr.Value = value
	if !value.IsNull() && !value.IsUnknown() && !value.IsUnderlyingValueNull() {
		inner = value.UnderlyingValue()
	}
	raw, err := inner.ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}

// requirePolicies turns warnings about missing policies and bindings into errors: functions cannot
// warn, and a typo often makes the list of policies empty.
func (a *admission) requirePolicies() {
	if a.config.options.AllowNoPolicies {
		return
	}
	for i := range a.problems {
		m := &a.problems[i]
		if m.code != "no-policies" && m.code != "policy-without-binding" || m.severity == source.Error {
			continue
		}
		m.severity = source.Error
		if m.code == "no-policies" {
			m.at, m.detail = path.Root("policies"), "policies: there are no policies, so nothing would change"+noPoliciesAdvice
		} else {
			m.title = "Unbound Policy"
			m.detail += "\n\nif this is intended, set the option allow_no_policies"
		}
	}
	for _, t := range a.config.texts[settings.Policies] {
		if stream, problems := manifest.Read(t.name, []byte(t.data)); len(stream.Documents()) == 0 && len(problems) == 0 {
			a.problems = append(a.problems, errorf(t.at, "no-policies", "%s: it contains no policy%s", t.name, source.Literal(noPoliciesAdvice)))
		}
	}
}

const noPoliciesAdvice = "\n\ncheck where the policies come from: fileset returns nothing for a missing directory, " +
	"and its paths are relative to its first argument; if there may be no policies, set the option allow_no_policies"

// argumentError returns an error about an argument.
func argumentError(index int64, m message) *function.FuncError {
	return function.NewArgumentFuncError(index, m.text())
}

// funcError joins the errors among messages to one; nil if there are no errors. It drops warnings,
// because functions cannot warn.
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

// admitOne runs policies on a manifest, which must be one document. The arguments of the call are
// the manifest, the policies, and options.
func admitOne(ctx context.Context, sets *cache, request function.RunRequest, observers ...engine.Observer) (*admission, *document, *function.FuncError) {
	var manifest string
	var policies types.Dynamic
	var given []types.Dynamic
	if err := request.Arguments.Get(ctx, &manifest, &policies, &given); err != nil {
		return nil, nil, err
	}
	var c config
	if _, err := c.take(ctx, policies, given); err != nil {
		return nil, nil, err
	}
	c.texts[settings.Manifests] = []text{{path.Root("manifest"), "manifest", manifest}}
	a := admit(ctx, sets, &c, observers...)
	a.requireOne()
	a.requirePolicies()
	if err := funcError(a.problems); err != nil {
		return nil, nil, err
	}
	return a, &a.documents[0], nil
}

// requireOne reports manifests that have no document or more than one.
func (a *admission) requireOne() {
	for i, stream := range a.streams {
		if n := len(stream.Documents()); n != 1 && !a.unreadable(stream.Name()) {
			count := cmp.Or(map[int]string{0: "no document"}[n], fmt.Sprintf("%d documents", n))
			a.problems = append(a.problems, errorf(a.config.texts[settings.Manifests][i].at, "document-count", "%s: expected one document, found %s; the function split returns them separately", stream.Name(), count))
		}
	}
}

// unreadable reports whether there is already an error about a text.
func (a *admission) unreadable(name string) bool {
	for _, m := range a.problems {
		if m.severity == source.Error && m.at.String() == name {
			return true
		}
	}
	return false
}

// Paragraphs of the pages of functions.
const (
	textsAreCheap = "Terraform converts all objects of `for_each` once for every instance, even without any function. " +
		"For many manifests, keep texts in `for_each`, and call `admit(yamldecode(each.value), …)` in the resource, " +
		"or use `mutate` with `jsonencode` in the local and `jsondecode(each.value)` in the resource. The guide \"Limits\" has the costs.\n\n"
	onceInLocal = "Terraform evaluates `for_each` once for every instance, so a function call in it takes quadratic time. " +
		"Put results into a `local`, or use the manifests in `for_each` and call `mutate` in the resource with `each.value`. Set the option `for` to the resource that applies the results.\n\n"
	cannotMark = "A function cannot mark a part of its result as sensitive. Terraform marks the whole result if an argument is marked: " +
		"give a Secret, a secret policy or secret context as `sensitive(file(…))`. " +
		"Values that a policy copies from an argument without this mark are in clear text.\n\n"
)
