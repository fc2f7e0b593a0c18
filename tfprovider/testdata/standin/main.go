// Command standin stands in for the providers that the examples use with ours: it has
// the attributes that the examples set, and does nothing. Which provider it is follows
// from the name of its binary. As "echo" it has a data source that copies strings and
// a function that copies an object, which is what any data source and any function costs.
package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	text = schema.StringAttribute{Required: true}

	resources = map[string]map[string]schema.Attribute{
		"kubernetes_manifest": {
			"manifest": schema.DynamicAttribute{Required: true},
			"stored":   schema.StringAttribute{Optional: true},
			"object":   schema.DynamicAttribute{Computed: true},

			"computed_fields": schema.ListAttribute{Optional: true, ElementType: types.StringType},
		},
		"kubectl_manifest": {"yaml_body": schema.StringAttribute{Required: true, Sensitive: true}},
		"local_file":       {"filename": text, "content": text},
	}
	dataSources = map[string]map[string]dataschema.Attribute{
		"helm_template": {
			"name": dataschema.StringAttribute{Required: true}, "namespace": dataschema.StringAttribute{Optional: true},
			"chart": dataschema.StringAttribute{Required: true}, "manifest": dataschema.StringAttribute{Computed: true},
		},
		"echo_manifests": {
			"manifests": dataschema.ListAttribute{Required: true, ElementType: types.StringType},
			"results":   dataschema.ListAttribute{Computed: true, ElementType: types.StringType},
		},
	}
)

func main() {
	name := strings.TrimPrefix(filepath.Base(os.Args[0]), "terraform-provider-")
	err := providerserver.Serve(context.Background(), func() provider.Provider { return &standIn{name} }, providerserver.ServeOpts{
		Address: "registry.terraform.io/example/" + name,
	})
	if err != nil {
		log.Fatal(err)
	}
}

type standIn struct{ name string }

func (p *standIn) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName = p.name
}

func (p *standIn) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (p *standIn) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (p *standIn) Resources(context.Context) []func() resource.Resource {
	var found []func() resource.Resource
	for name := range resources {
		if strings.HasPrefix(name, p.name+"_") {
			found = append(found, func() resource.Resource { return &standInResource{name} })
		}
	}
	return found
}

func (p *standIn) DataSources(context.Context) []func() datasource.DataSource {
	var found []func() datasource.DataSource
	for name := range dataSources {
		if strings.HasPrefix(name, p.name+"_") {
			found = append(found, func() datasource.DataSource { return &standInData{name} })
		}
	}
	return found
}

func (p *standIn) Functions(context.Context) []func() function.Function {
	if p.name != "echo" {
		return nil
	}
	return []func() function.Function{func() function.Function { return copyFunction{} }}
}

type standInResource struct{ name string }

func (r *standInResource) Metadata(_ context.Context, _ resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = r.name
}

func (r *standInResource) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{Attributes: resources[r.name]}
	if r.name == "kubernetes_manifest" {
		response.Schema.Blocks = map[string]schema.Block{"field_manager": schema.SingleNestedBlock{
			Attributes: map[string]schema.Attribute{"force_conflicts": schema.BoolAttribute{Optional: true}},
		}}
	}
}

// ModifyPlan plans an object as the provider of Kubernetes does: what the manifest sets is
// known, and all else that the server stores is not.
func (r *standInResource) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if r.name != "kubernetes_manifest" || request.Plan.Raw.IsNull() {
		return
	}
	if planned, same := unchanged(ctx, request); same {
		response.Diagnostics.Append(response.Plan.SetAttribute(ctx, path.Root("object"), planned)...)
	} else {
		response.Diagnostics.Append(setObject(ctx, request.Plan, &response.Plan, true)...)
	}
}

func (r *standInResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	response.State.Raw = request.Plan.Raw
	if r.name == "kubernetes_manifest" {
		response.Diagnostics.Append(setObject(ctx, request.Plan, &response.State, false)...)
	}
}

func (r *standInResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r *standInResource) Update(_ context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	response.State.Raw = request.Plan.Raw
}

func (r *standInResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

type standInData struct{ name string }

func (d *standInData) Metadata(_ context.Context, _ datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = d.name
}

func (d *standInData) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	response.Schema = dataschema.Schema{Attributes: dataSources[d.name]}
}

// Read copies manifests to results.
func (d *standInData) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	response.State.Raw = request.Config.Raw
	if d.name != "echo_manifests" {
		return
	}
	var manifests types.List
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("manifests"), &manifests)...)
	response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("results"), manifests)...)
}
