package tfprovider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	data "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// The configuration of the provider has defaults for the attributes of the data source. An attribute of
// the data source replaces the default as a whole.

var (
	_ provider.ProviderWithValidateConfig = (*preadmit)(nil)
	_ datasource.DataSourceWithConfigure  = (*manifestsDataSource)(nil)
)

// defaults are the values of the provider's configuration by attribute.
type defaults map[string]any

// ownAttributes are the attributes that only the data source has.
var ownAttributes = []string{"manifests", "manifest_files", "sensitive_manifests", "outputs"}

// defaultAttributes returns the schema of the provider's configuration.
func defaultAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for name, attribute := range inputs("") {
		if !slices.Contains(ownAttributes, name) {
			attributes[name] = defaultAttribute(attribute)
		}
	}
	return attributes
}

// defaultAttribute returns an attribute of the provider like one of the data source.
func defaultAttribute(of data.Attribute) schema.Attribute {
	help := of.GetMarkdownDescription()
	switch a := of.(type) {
	case data.BoolAttribute:
		return schema.BoolAttribute{Optional: true, MarkdownDescription: help}
	case data.ListAttribute:
		return schema.ListAttribute{Optional: true, MarkdownDescription: help, ElementType: a.ElementType, Sensitive: a.Sensitive}
	case data.MapAttribute:
		return schema.MapAttribute{Optional: true, MarkdownDescription: help, ElementType: a.ElementType}
	case data.SingleNestedAttribute:
		inner := map[string]schema.Attribute{}
		for name, attribute := range a.Attributes {
			inner[name] = defaultAttribute(attribute)
		}
		return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: help, Attributes: inner}
	}
	return schema.StringAttribute{Optional: true, MarkdownDescription: help}
}

// ValidateConfig checks the configuration of the provider.
func (p *preadmit) ValidateConfig(_ context.Context, request provider.ValidateConfigRequest, response *provider.ValidateConfigResponse) {
	object := readDefaults(request.Config.Raw, &response.Diagnostics)
	r := optionReader{scope: settings.DataSource, config: &config{}}
	r.read(object)
	a := &admission{config: r.config, reported: map[string]bool{}, problems: r.problems}
	if _, problems := engine.Compile(nil, nil, r.config.options.Engine); source.HasErrors(problems) {
		a.add(problems...)
	}
	for _, problem := range a.problems {
		if problem.severity == source.Error {
			problem.report(&response.Diagnostics)
		}
	}
}

// Configure hands the defaults to the data source.
func (p *preadmit) Configure(_ context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	response.DataSourceData = readDefaults(request.Config.Raw, &response.Diagnostics)
}

func readDefaults(raw tftypes.Value, diagnostics *diag.Diagnostics) defaults {
	value, err := decode(raw)
	if err != nil {
		errorf(path.Empty(), "internal", "%v", err).report(diagnostics)
	}
	object, _ := value.(map[string]any)
	return object
}

// Configure implements datasource.DataSourceWithConfigure.
func (s *manifestsDataSource) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	s.defaults, _ = request.ProviderData.(defaults)
}

// complete adds the defaults to the attributes of a data source. A default that is not known yet is an
// error where it is needed.
func (d defaults) complete(object map[string]any) (problems []message) {
	for _, name := range slices.Sorted(maps.Keys(d)) {
		switch {
		case d[name] == nil || object[name] != nil:
		case holdsUnknown(d[name]):
			problems = append(problems, errorf(path.Root(name), "option-value", "%s: the value in the configuration of the provider is not known until apply; set it here, or give the provider a value that is known", name))
		default:
			object[name] = d[name]
		}
	}
	return problems
}
