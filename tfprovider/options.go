package tfprovider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/internal/settings"
)

// config has the values of all options of one call.
type config struct {
	options settings.Config
	// texts are the documents by their role, sensitive those that must stay secret.
	texts, sensitive [settings.Roles][]text
	files            [settings.Roles][]pattern
	// private means that the texts may contain sensitive values anywhere: a function does not know.
	private bool
}

// text is a string or a file with YAML or JSON.
type text struct {
	// at is the attribute or argument that contains it, name its name for messages.
	at   path.Path
	name string
	data string
}

// pattern names files.
type pattern struct {
	at   path.Path
	text string
}

// groups describe the objects that contain options.
var groups = map[string]string{
	"request":      "The admission request.",
	"request.user": "The user who makes the request, `request.userInfo` in policies.",
}

// nameIn returns a function that returns the name of an option in a part of the provider.
func nameIn(scope settings.Scope) func(o *settings.Option) string {
	return func(o *settings.Option) string {
		if o.Only != 0 && o.Only != scope {
			return ""
		}
		return o.Attribute
	}
}

// inputs returns the schema of the options below a prefix, which is empty or ends in ".".
func inputs(prefix string) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for i := range settings.Table {
		o := &settings.Table[i]
		rest, ok := strings.CutPrefix(nameIn(settings.DataSource)(o), prefix)
		if !ok || rest == "" {
			continue
		}
		name, _, nested := strings.Cut(rest, ".")
		if nested {
			attributes[name] = schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: groups[prefix+name], Attributes: inputs(prefix + name + "."),
			}
			continue
		}
		attributes[name] = attribute(o)
	}
	return attributes
}

func attribute(o *settings.Option) schema.Attribute {
	switch o.Type() {
	case "bool":
		return schema.BoolAttribute{Optional: true, MarkdownDescription: o.AttributeHelp}
	case "list(string)":
		return schema.ListAttribute{Optional: true, MarkdownDescription: o.AttributeHelp, ElementType: types.StringType, Sensitive: o.Sensitive}
	case "map(list(string))":
		return schema.MapAttribute{Optional: true, MarkdownDescription: o.AttributeHelp, ElementType: types.ListType{ElemType: types.StringType}}
	}
	return schema.StringAttribute{Optional: true, MarkdownDescription: o.AttributeHelp}
}
