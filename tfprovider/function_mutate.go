package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
)

// mutateFunction is the function mutate.
type mutateFunction struct{ sets *cache }

func (f *mutateFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "mutate"
}

func (f *mutateFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "One manifest as policies change it",
		MarkdownDescription: "Returns a manifest as the mutating policies of a cluster change it, as JSON: sorted and compact.\n\n" +
			"In a `for` expression, keys stay known, and each value is known or sensitive independently of the others. " +
			"Give objects that policies look up, such as Namespaces with their labels, with the option `context`.\n\n" +
			onceInLocal + cannotMark + "Functions cannot warn. `explain` and `report` return the warnings, and the option `strict` turns warnings about uncertain results into errors.",
		Parameters:        []function.Parameter{manifestParameter, policiesParameter(false)},
		VariadicParameter: optionsParameter(false),
		Return:            function.StringReturn{},
	}
}

func (f *mutateFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	_, d, err := admitOne(ctx, f.sets, request)
	if err != nil {
		response.Error = err
		return
	}
	response.Error = response.Result.Set(ctx, d.json)
}
