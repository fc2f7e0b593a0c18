package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// copyFunction returns its argument, as "echo": what any function with an object costs.
type copyFunction struct{}

func (copyFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "copy"
}

func (copyFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Parameters: []function.Parameter{function.DynamicParameter{Name: "object"}},
		Return:     function.DynamicReturn{},
	}
}

func (copyFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var object types.Dynamic
	if response.Error = request.Arguments.Get(ctx, &object); response.Error == nil {
		response.Error = response.Result.Set(ctx, object)
	}
}
