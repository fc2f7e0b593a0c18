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
			"A value in the object that is not known until apply stays unknown. Besides, only what depends on it is unknown: copies of it, texts that policies compute from it, " +
			"and what a policy changes only if a condition on the value holds. If such a policy adds a key to a map, the whole map is unknown: give the map a key in the manifest, so that what is around it stays known. " +
			"The whole result is unknown in these cases:\n\n" +
			"- An expression of a policy uses the value in a function that may fail, for instance `int()`, `quantity()` or `split()`, or as a key, an index or a part of a JSON Pointer. " +
			"In rules of Kyverno, all functions but `to_string`, `join`, `merge`, `not_null` and `to_array`, filters and comparisons in `{{ … }}`, and JSON Patches as text are such a use.\n" +
			"- A policy may merge a list by the value, such as the name of a container, tests it in a JSON Patch, or removes it.\n" +
			"- Policies are mutation trees that contain the keys of its path, or an admission plug-in of the option `admission_plugins` covers the kind.\n" +
			"- `apiVersion`, `kind`, `metadata.namespace`, a whole list or map, four booleans, policies or options are unknown, " +
			"or the object is not valid without the value.\n\n" +
			"The function `unknowns` says which policy uses which value. " +
			"If policies deny the object whatever the value is, this is an error at plan. " +
			"A value that becomes null or empty only at apply may change more than the plan shows; Terraform then fails with an error about an inconsistent plan.\n\n" +
			textsAreCheap + onceInLocal + cannotMark + "Functions cannot warn; `explain` and `report` return the warnings.",
		Parameters:        []function.Parameter{objectParameter, policiesParameter(true)},
		VariadicParameter: optionsParameter(true),
		Return:            function.DynamicReturn{},
	}
}

var objectParameter = function.DynamicParameter{
	Name: "object", AllowUnknownValues: true,
	MarkdownDescription: "One object, for example the result of `yamldecode`.",
}

// objectCall has the arguments of a function for one object.
type objectCall struct {
	object any
	config config
	// known says that policies and options are known.
	known   bool
	failure *function.FuncError
}

// takeObject reads the arguments of a function for one object.
func takeObject(ctx context.Context, request function.RunRequest) (call objectCall) {
	var given, policies types.Dynamic
	var options []types.Dynamic
	if call.failure = request.Arguments.Get(ctx, &given, &policies, &options); call.failure != nil {
		return call
	}
	if call.known, call.failure = call.config.take(ctx, policies, options); call.failure != nil {
		return call
	}
	var err error
	if call.object, err = underlying(ctx, given); err != nil {
		call.failure = call.failed(nil, err)
	} else if !isObject(call.object) {
		problem := errorf(path.Root("object"), "manifest-invalid", "object: expected an object, not %s%s", settings.Describe(call.object), source.Literal(adviceFor(call.object)))
		problem.title = "Invalid Manifest"
		call.failure = argumentError(0, problem)
	}
	return call
}

// failed returns the error of a call; nil if it has not failed.
func (*objectCall) failed(problems []message, err error) *function.FuncError {
	if err != nil {
		return argumentError(0, errorf(path.Root("object"), "internal", "%v", err))
	}
	return funcError(problems)
}

func (f *admitFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	call := takeObject(ctx, request)
	if response.Error = call.failure; response.Error != nil {
		return
	}
	var result any = unknown{anything}
	if call.known {
		found, problems, err := f.admit(ctx, call.object, call.config)
		if response.Error = call.failed(problems, err); response.Error != nil {
			return
		}
		result = found
	}
	value, err := fromJSON(ctx, result)
	if response.Error = call.failed(nil, err); response.Error == nil {
		response.Error = response.Result.Set(ctx, types.DynamicValue(value))
	}
}

// admit returns the result, with unknown parts, and all messages.
func (f *admitFunction) admit(ctx context.Context, object any, c config) (any, []message, error) {
	if holdsUnknown(object) {
		found, err := newPartly(object).admit(ctx, f.sets, c)
		return found.result, found.problems, err
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
