package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// splitFunction is the function split.
type splitFunction struct{ sets *cache }

func (f *splitFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "split"
}

func (f *splitFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "The objects of a stream of manifests by key",
		MarkdownDescription: "Returns the objects of a YAML or JSON stream as JSON, under the keys that `preadmit_manifests` gives them: " +
			"`group/Kind/namespace/name` with `_` for a part that is empty. An object has the same key whatever it is read with. " +
			"The namespace is `default` where a manifest of a built-in kind names none, and `_` where a custom resource does. " +
			"Lists are taken apart, empty documents are left out, and two objects with the same key are an error.",
		Parameters: []function.Parameter{function.StringParameter{
			Name:                "yaml",
			MarkdownDescription: "A stream, for instance what `helm_template` returns as `manifest`.",
		}},
		Return: function.MapReturn{ElementType: types.StringType},
	}
}

func (f *splitFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var stream string
	if response.Error = request.Arguments.Get(ctx, &stream); response.Error != nil {
		return
	}
	at := path.Root("yaml")
	c := config{manifests: []text{{at, at.String(), stream}}}
	a := admit(ctx, f.sets, &c)
	keys := a.keys()
	if response.Error = funcError(a.problems); response.Error != nil {
		return
	}
	results := make(map[string]string, len(keys))
	for i, key := range keys {
		results[key] = a.documents[i].json
	}
	response.Error = response.Result.Set(ctx, results)
}
