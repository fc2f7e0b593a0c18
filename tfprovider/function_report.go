package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// reportFunction is the function report.
type reportFunction struct{ all mutateAllFunction }

func (f *reportFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "report"
}

// textList is a list of strings; its zero value is not known yet.
type textList []string

func (l textList) value(ctx context.Context) attr.Value {
	if l == nil {
		return types.ListUnknown(textType)
	}
	value, _ := types.ListValueFrom(ctx, textType, l)
	return value
}

func (f *reportFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "Manifests as policies change them, with the warnings",
		MarkdownDescription: "Returns what `mutate_all` returns, with the messages that a function cannot show:\n\n" +
			"- `results` (map of strings) what `mutate_all` returns\n" +
			"- `changed` (list of strings) the keys of the manifests that policies changed\n" +
			"- `warnings` (list of strings) the warnings about policies and manifests\n\n" +
			"Use it in a `check` block, or in a precondition of the resource that applies the results. " +
			"While a manifest, the policies or the options are not known, `changed` and `warnings` are not known either.\n\n" + onceInLocal + cannotMark,
		Parameters: []function.Parameter{manifestsParameter, policiesParameter(true)}, VariadicParameter: optionsParameter(true),
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"results": types.MapType{ElemType: textType}, "changed": types.ListType{ElemType: textType}, "warnings": types.ListType{ElemType: textType},
		}},
	}
}

func (f *reportFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	found := f.all.find(ctx, request)
	if response.Error = found.failure; response.Error != nil {
		return
	}
	results := types.MapUnknown(textType)
	if found.results != nil {
		results, _ = types.MapValueFrom(ctx, textType, found.results)
	}
	response.Error = response.Result.Set(ctx, struct {
		Results  types.Map  `tfsdk:"results"`
		Changed  attr.Value `tfsdk:"changed"`
		Warnings attr.Value `tfsdk:"warnings"`
	}{results, found.changed.value(ctx), found.warnings.value(ctx)})
}
