package tfprovider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/engine/manifest"
)

// mutateAllFunction is the function mutate_all.
type mutateAllFunction struct{ sets *cache }

func (f *mutateAllFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "mutate_all"
}

func (f *mutateAllFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "A map of manifests as policies change them",
		MarkdownDescription: "Returns every manifest of a map as the mutating policies of a cluster change it, as JSON: sorted and compact. " +
			"The manifests are context for each other: policies see labels of Namespaces and params among them.\n\n" +
			"Keys stay known, and so do the results of known manifests. If a result depends on context that may be an unknown manifest, the result is unknown, too. " +
			"Give policies and CustomResourceDefinitions that are created during apply with the argument `policies` and the option `context`, not among the manifests. " +
			"Keys are known even if policies or options are not known yet.\n\n" +
			onceInLocal + cannotMark + "If one manifest is sensitive, Terraform marks all results as sensitive; then use `mutate` in a `for` expression.",
		Parameters: []function.Parameter{
			manifestsParameter,
			policiesParameter(true),
		},
		VariadicParameter: optionsParameter(true),
		Return:            function.MapReturn{ElementType: types.StringType},
	}
}

func (f *mutateAllFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	found := f.find(ctx, request)
	switch response.Error = found.failure; {
	case response.Error != nil:
	case found.results == nil:
		response.Error = response.Result.Set(ctx, types.MapUnknown(types.StringType))
	default:
		response.Error = response.Result.Set(ctx, found.results)
	}
}

// allResults are the results for a map of manifests.
type allResults struct {
	// results is nil if the keys are not known.
	results map[string]types.String
	// changed and warnings are nil if a manifest, policies or options are not known.
	changed, warnings textList
	failure           *function.FuncError
}

// find runs the policies on the manifests of a call.
func (f *mutateAllFunction) find(ctx context.Context, request function.RunRequest) (found allResults) {
	var manifests types.Map
	var policies types.Dynamic
	var given []types.Dynamic
	if found.failure = request.Arguments.Get(ctx, &manifests, &policies, &given); found.failure != nil || manifests.IsUnknown() {
		return found
	}
	var c config
	known, failure := c.take(ctx, policies, given)
	if failure != nil {
		return allResults{failure: failure}
	}
	keys, unknown, failure := c.takeManifests(manifests)
	if failure != nil {
		return allResults{failure: failure}
	}
	if !known {
		unknown = append(unknown, keys...)
	}
	found.results = map[string]types.String{}
	for _, key := range unknown {
		found.results[key] = types.StringUnknown()
	}
	if known {
		found.failure = f.admit(ctx, &c, keys, &found)
	}
	return found
}

// admit adds the results of the known manifests, whose keys are given, to those of the others.
func (f *mutateAllFunction) admit(ctx context.Context, c *config, keys []string, found *allResults) *function.FuncError {
	a := admit(ctx, f.sets, c)
	a.requireOne()
	isPart := len(found.results) > 0
	if !isPart { // the unknown manifest may be a policy
		a.requirePolicies()
	}
	failure := funcError(a.problems)
	if failure != nil && !(isPart && a.mayRecover()) {
		return failure
	}
	if !isPart {
		found.changed, found.warnings = textList{}, append(textList{}, a.warnings()...)
	}
	for i, key := range keys {
		if isPart && (failure != nil || a.documents[i].dependsOnOthers()) {
			found.results[key] = types.StringUnknown()
			continue
		}
		found.results[key] = types.StringValue(a.documents[i].json)
		if !isPart && a.documents[i].written.Changed() {
			found.changed = append(found.changed, key)
		}
	}
	return nil
}

// dependsOnOthers reports whether other documents could change the result of this one.
func (d *document) dependsOnOthers() bool { return d.manifest != nil && d.manifest.DependsOnOthers }

// mayRecover reports whether more manifests could resolve the errors, because they may be missing
// context.
func (a *admission) mayRecover() bool {
	if a.outcome == nil || slices.ContainsFunc(a.streams, func(s *manifest.Stream) bool { return len(s.Documents()) != 1 }) {
		return false
	}
	return a.outcome.Invalid || slices.ContainsFunc(a.documents, func(d document) bool { return d.dependsOnOthers() })
}
