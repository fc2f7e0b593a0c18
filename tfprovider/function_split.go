package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/internal/settings"
)

// splitFunction is the function split.
type splitFunction struct{ sets *cache }

func (f *splitFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "split"
}

func (f *splitFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "The objects of a stream of manifests by key",
		MarkdownDescription: "Returns the objects of a YAML or JSON stream as JSON. The keys are the same as in `preadmit_manifests`: " +
			"`group/Kind/namespace/name` with `_` for an empty part. The key of an object does not depend on other objects. " +
			"Without a namespace, the key has `default` for a built-in kind and `_` for a custom resource. " +
			"Lists are split into their items, and empty documents are skipped. Two objects with the same key are an error.",
		Parameters: []function.Parameter{function.StringParameter{
			Name:                "yaml",
			MarkdownDescription: "A stream, for example the attribute `manifest` of `helm_template`.",
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
	c := config{private: true}
	c.texts[settings.Manifests] = []text{{at, at.String(), stream}}
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
