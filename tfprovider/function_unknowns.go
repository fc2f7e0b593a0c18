package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// unknownsFunction is the function unknowns.
type unknownsFunction struct{ sets *cache }

func (f *unknownsFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "unknowns"
}

// unknownUse is an item of the result of unknowns.
type unknownUse struct {
	Policy string `tfsdk:"policy"`
	Value  string `tfsdk:"value"`
}

var unknownUseType = types.ObjectType{AttrTypes: objectOf("policy", "value")}

func (f *unknownsFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "Why the result of admit is unknown",
		MarkdownDescription: "Returns why the whole result of `admit` with the same arguments is not known until apply: a list of objects with the name of a `policy`, " +
			"and the path of the unknown `value` that it uses. `policy` is empty, and `value` may be a reason in words, if the cause is no policy. " +
			"The list is empty if parts of the result are known.\n\n" +
			"The list is known at plan although parts of the object are not, so it can be an output or a condition of a `check` block.",
		Parameters: []function.Parameter{objectParameter, policiesParameter(true)}, VariadicParameter: optionsParameter(true),
		Return: function.ListReturn{ElementType: unknownUseType},
	}
}

func (f *unknownsFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	call := takeObject(ctx, request)
	if response.Error = call.failure; response.Error != nil {
		return
	}
	uses := []unknownUse{}
	switch {
	case !call.known:
		uses = append(uses, unknownUse{Value: "policies or options"})
	case holdsUnknown(call.object):
		found, err := newPartly(call.object).admit(ctx, f.sets, call.config)
		if response.Error = call.failed(found.problems, err); response.Error != nil {
			return
		}
		for _, use := range found.reasons {
			uses = append(uses, unknownUse{use.Policy, use.Name})
		}
	}
	response.Error = response.Result.Set(ctx, uses)
}
