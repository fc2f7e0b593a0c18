package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// admitFunction is the function admit.
type admitFunction struct{ sets *cache }

func (f *admitFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "admit"
}

func (f *admitFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "One object as policies change it",
		MarkdownDescription: "Returns an object as the mutating policies of a cluster change it, like `mutate` without `jsonencode` and `jsondecode`. Numbers keep their digits.\n\n" +
			"A value in the object that is not known until apply stays unknown, and the rest of the result is known, with these exceptions:\n\n" +
			"- If an expression of a policy gets the value, the whole result is unknown. Expressions are observed while they run: policies for other kinds, " +
			"and conditions that are false before they get to the value, do no harm. `has()` gets a value, too.\n" +
			"- Rules of Kyverno and mutators of Gatekeeper that match the kind are judged by their text: the whole result is unknown if it contains all keys of the path of the value, " +
			"for example `labels` and `env` for `metadata.labels.env`; in rules with variables (`{{ … }}`), the first of them is enough.\n" +
			"- The same holds if a selector may choose by the value, if a policy may merge a list by it, such as the name of a container, " +
			"or if an admission plug-in of the option `admission_plugins` covers the kind.\n" +
			"- The whole result is also unknown if `apiVersion`, `kind`, `metadata.namespace`, a whole list or map, two booleans, policies or options are unknown, " +
			"or if the object is not valid without the value.\n\n" +
			"If policies deny the object whatever the value is, this is an error at plan. " +
			"A value that becomes null or empty only at apply may change more than the plan shows; Terraform then fails with an error about an inconsistent plan.\n\n" +
			textsAreCheap + onceInLocal + cannotMark + "Functions cannot warn; `explain` returns the warnings.",
		Parameters: []function.Parameter{
			function.DynamicParameter{
				Name: "object", AllowUnknownValues: true,
				MarkdownDescription: "One object, for example the result of `yamldecode`.",
			},
			policiesParameter(true),
		},
		VariadicParameter: optionsParameter(true),
		Return:            function.DynamicReturn{},
	}
}

func (f *admitFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var given, policies types.Dynamic
	var options []types.Dynamic
	if response.Error = request.Arguments.Get(ctx, &given, &policies, &options); response.Error != nil {
		return
	}
	var c config
	known, failure := c.take(ctx, policies, options)
	if response.Error = failure; failure != nil {
		return
	}
	object, err := underlying(ctx, given)
	if err == nil && !isObject(object) {
		problem := errorf(path.Root("object"), "manifest-invalid", "object: expected an object, not %s%s", settings.Describe(object), source.Literal(adviceFor(object)))
		problem.title = "Invalid Manifest"
		response.Error = argumentError(0, problem)
		return
	}
	var result any = unknown{anything}
	if err == nil && known {
		var problems []message
		result, problems, err = f.admit(ctx, object, c)
		if response.Error = funcError(problems); response.Error != nil {
			return
		}
	}
	if err == nil {
		value, problem := fromJSON(ctx, result)
		if err = problem; err == nil {
			response.Error = response.Result.Set(ctx, types.DynamicValue(value))
			return
		}
	}
	response.Error = argumentError(0, errorf(path.Root("object"), "internal", "%v", err))
}

// admit returns the result, with unknown parts, and all messages.
func (f *admitFunction) admit(ctx context.Context, object any, c config) (any, []message, error) {
	if holdsUnknown(object) {
		return newPartly(object).admit(ctx, f.sets, c)
	}
	a := admit(ctx, f.sets, c.with(manifest.JSON(plain(object, nil))))
	a.requireOne()
	a.requirePolicies()
	if a.failed() {
		return nil, a.problems, nil
	}
	result, err := readJSON(a.documents[0].json)
	return result, a.problems, err
}

// with returns a copy of the config with an object to admit.
func (c config) with(object []byte) *config {
	at := path.Root("object")
	c.texts[settings.Manifests] = []text{{at, at.String(), string(object)}}
	return &c
}

func isObject(value any) bool {
	_, is := value.(map[string]any)
	return is || isUnknown(value)
}

func adviceFor(value any) string {
	switch value.(type) {
	case string:
		return "\n\nfor a text use mutate, or yamldecode"
	case []any:
		return "\n\nfor several objects use a for expression"
	}
	return ""
}
