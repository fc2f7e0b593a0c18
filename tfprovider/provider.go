// Package tfprovider is preadmit as a provider of Terraform and OpenTofu: the data source
// preadmit_manifests and the functions admit, unknowns, mutate, mutate_all, report, pods, split and
// explain. It turns configuration into engine.Options, and an engine.Outcome into state, results and diagnostics. It
// needs no configuration, no cluster and no network.
//
// Laws:
//
//	results are the same as on the command line, byte by byte
//	the same arguments give the same result, at plan and at apply; functions read no files
//	known values of a map at plan do not change when other values become known
//	known parts of an object with unknown parts stay the same, whatever these become (unknown.go)
//	values of Secrets and sensitive inputs are only in sensitive attributes
//
// The files in order: provider.go, options.go (the table of options), defaults.go (the configuration of the
// provider), config.go (from configuration to options), files.go (paths to files), cache.go (compiled policies),
// admit.go (the run), messages.go (diagnostics for users), data_manifests.go (the data source), function.go
// (common code of functions), function_mutate.go, function_mutate_all.go, function_report.go, function_admit.go
// (objects instead of texts) with value.go and unknown.go, function_unknowns.go, function_pods.go,
// function_split.go, function_explain.go, answers.go (the cache of results).
package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

var _ provider.ProviderWithFunctions = (*preadmit)(nil)

// preadmit is the provider. Its only state is the cache.
type preadmit struct {
	version string
	sets    *cache
}

// New returns a function that creates providers with the given version.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &preadmit{version: version, sets: newCache(cacheSize)} }
}

func (p *preadmit) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName, response.Version = "preadmit", p.version
}

// Schema has defaults for the data source. Functions do not see the configuration of their provider.
func (p *preadmit) Schema(_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse) {
	response.Schema = schema.Schema{
		MarkdownDescription: "Runs the mutating policies of a Kubernetes cluster on manifests at plan time, as the API server would. " +
			"It needs no configuration, no cluster and no network.\n\n" +
			"The configuration has defaults for the data source. An attribute of a data source replaces its default as a whole: lists and objects are not merged. " +
			"Terraform does not hand the configuration to functions: put their policies and options into a `local`.",
		Attributes: defaultAttributes(),
	}
}

func (p *preadmit) Resources(context.Context) []func() resource.Resource { return nil }

func (p *preadmit) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return &manifestsDataSource{sets: p.sets} },
	}
}

func (p *preadmit) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		func() function.Function { return &admitFunction{p.sets} },
		func() function.Function { return &unknownsFunction{p.sets} },
		func() function.Function { return &mutateFunction{p.sets} },
		func() function.Function { return &mutateAllFunction{p.sets} },
		func() function.Function { return &reportFunction{mutateAllFunction{p.sets}} },
		func() function.Function { return &podsFunction{p.sets} },
		func() function.Function { return &splitFunction{p.sets} },
		func() function.Function { return &explainFunction{p.sets} },
	}
}
