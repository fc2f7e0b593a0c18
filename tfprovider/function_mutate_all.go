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
	var manifests types.Map
	var policies types.Dynamic
	var given []types.Dynamic
	if response.Error = request.Arguments.Get(ctx, &manifests, &policies, &given); response.Error != nil {
		return
	}
	if manifests.IsUnknown() {
		response.Error = response.Result.Set(ctx, types.MapUnknown(types.StringType))
		return
	}
	var c config
	known, failure := c.take(ctx, policies, given)
	if response.Error = failure; failure != nil {
		return
	}
	keys, unknown, failure := c.takeManifests(manifests)
	if response.Error = failure; failure != nil {
		return
	}
	if !known {
		unknown = append(unknown, keys...)
	}
	results := map[string]types.String{}
	for _, key := range unknown {
		results[key] = types.StringUnknown()
	}
	if !known {
		response.Error = response.Result.Set(ctx, results)
		return
	}
	response.Error = f.admit(ctx, &c, keys, results)
	if response.Error == nil {
		response.Error = response.Result.Set(ctx, results)
	}
}

// admit adds the results of the known manifests, whose keys are given, to those of the others.
func (f *mutateAllFunction) admit(ctx context.Context, c *config, keys []string, results map[string]types.String) *function.FuncError {
	a := admit(ctx, f.sets, c)
	a.requireOne()
	isPart := len(results) > 0
	if !isPart { // the unknown manifest may be a policy
		a.requirePolicies()
	}
	failure := funcError(a.problems)
	if failure != nil && !(isPart && a.mayRecover()) {
		return failure
	}
	for i, key := range keys {
		if isPart && (failure != nil || a.documents[i].dependsOnOthers()) {
			results[key] = types.StringUnknown()
		} else {
			results[key] = types.StringValue(a.documents[i].json)
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
