package tfprovider

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

var _ datasource.DataSourceWithValidateConfig = (*manifestsDataSource)(nil)

// manifestsDataSource is the data source preadmit_manifests.
type manifestsDataSource struct {
	sets *cache
	// defaults are those of the provider; none before it is configured, when only the attributes
	// are validated.
	defaults defaults
}

func (s *manifestsDataSource) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_manifests"
}

func (s *manifestsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	response.Schema = schema.Schema{
		MarkdownDescription: "Manifests as the mutating policies of a cluster change them, with a report of what changed.\n\n" +
			"If any part of the configuration is not known until apply, Terraform reads the data source during apply. Then no result and no key is known in the plan, " +
			"and `for_each` fails. Use the functions `mutate` and `mutate_all` instead: keys stay known, and only values that depend on unknown ones are unknown.\n\n" +
			"Use a map of results completely, `for_each = data.preadmit_manifests.x.results` with `each.value`. With `results[each.key]`, " +
			"Terraform evaluates the whole map for every instance.",
		Attributes: inputs(""),
	}
	maps.Copy(response.Schema.Attributes, outputs)
}

// outputs are the attributes that the data source computes.
var outputs = map[string]schema.Attribute{
	"ids": schema.ListAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "The keys of all manifests in the order of the input, `group/Kind/namespace/name` with `_` for an empty part. A generated name ends in `*`.",
	},
	"results": schema.MapAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "The manifests as JSON, without Secrets and sensitive manifests.",
	},
	"sensitive_results": schema.MapAttribute{
		Computed: true, Sensitive: true, ElementType: types.StringType,
		MarkdownDescription: "The Secrets and sensitive manifests, as JSON.",
	},
	"changed": schema.ListAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "The keys of the manifests that policies changed.",
	},
	"diffs": schema.MapAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "Unified diffs of the manifests that policies changed, without sensitive ones.",
	},
	"warnings": schema.ListAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "The warnings, which Terraform also shows.",
	},
	"yaml": schema.StringAttribute{
		Computed: true, Sensitive: true,
		MarkdownDescription: "All manifests in their original text with the changes of policies, including Secrets. Only with `outputs = [\"yaml\"]`.",
	},
}

// read converts the configuration to a config.
func (s *manifestsDataSource) read(raw tftypes.Value, diagnostics *diag.Diagnostics) *config {
	r := optionReader{scope: settings.DataSource, config: &config{}}
	value, err := decode(raw)
	if err != nil {
		errorf(path.Empty(), "internal", "%v", err).report(diagnostics)
		return r.config
	}
	object, _ := value.(map[string]any)
	problems := s.defaults.complete(object)
	r.read(object)
	r.problems = append(problems, r.problems...)
	if object["manifests"] == nil && object["manifest_files"] == nil && object["sensitive_manifests"] == nil {
		r.problems = append(r.problems, errorf(path.Empty(), "empty-stream", "expected manifests, manifest_files or sensitive_manifests"))
	}
	for _, problem := range r.problems {
		problem.report(diagnostics)
	}
	return r.config
}

func (s *manifestsDataSource) ValidateConfig(_ context.Context, request datasource.ValidateConfigRequest, response *datasource.ValidateConfigResponse) {
	c := s.read(request.Config.Raw, &response.Diagnostics)
	if response.Diagnostics.HasError() {
		return
	}
	a := &admission{config: c, reported: map[string]bool{}}
	_, diagnostics := c.readStreams(slices.Concat(c.texts[settings.Policies], c.sensitive[settings.Policies]))
	a.add(diagnostics...)
	if _, diagnostics := engine.Compile(nil, nil, c.options.Engine); source.HasErrors(diagnostics) {
		a.add(diagnostics...)
	} else if c.isConstant(request.Config.Raw) {
		a.add(s.sets.compile(c).diagnostics...)
	}
	for _, problem := range a.problems {
		isVersion := problem.code == "policy-version-unknown" && c.options.Engine.KubernetesVersion == "" // the provider may set it
		if problem.severity == source.Error && !isVersion {
			problem.report(&response.Diagnostics)
		}
	}
}

// isConstant reports whether all policies and their context are in the configuration and known.
func (c *config) isConstant(raw tftypes.Value) bool {
	for _, patterns := range c.files {
		if len(patterns) > 0 {
			return false
		}
	}
	return raw.IsFullyKnown()
}

func (s *manifestsDataSource) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	c := s.read(request.Config.Raw, &response.Diagnostics)
	inState := len(c.texts[settings.Manifests])
	for _, problem := range c.readFiles() {
		problem.report(&response.Diagnostics)
	}
	if response.Diagnostics.HasError() {
		return
	}
	a := admit(ctx, s.sets, c)
	keys := a.keys()
	if len(a.documents) == 0 && !a.failed() {
		a.problems = append(a.problems, errorf(path.Empty(), "empty-stream", "there are no manifests in the input\n\ncheck where the manifests come from; if there may be none, use count or for_each"))
	}
	a.warnOfSecrets(inState)
	a.report(&response.Diagnostics)
	if a.failed() {
		return
	}
	response.State.Raw = request.Config.Raw
	for name, value := range a.outputs(keys) {
		response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root(name), value)...)
	}
}

// readFiles reads the files of the options.
func (c *config) readFiles() []message {
	dir, err := os.Getwd()
	if err != nil {
		return []message{errorf(path.Empty(), "path-unreadable", "the working directory: %v", err)}
	}
	var problems []message
	reader := &input.Reader{Dir: dir, Limit: limit.Input{Bytes: int(c.options.InputLimit)}}
	for role, patterns := range c.files {
		texts, found := readFiles(patterns, settings.Role(role), reader)
		c.texts[role] = append(c.texts[role], texts...)
		problems = append(problems, found...)
	}
	if c.options.AllowNoPolicies {
		problems = slices.DeleteFunc(problems, func(m message) bool { return m.code == codeVacant })
	}
	return problems
}

// warnOfSecrets warns of Secrets among the first manifests, which come from the configuration:
// Terraform stores them in clear text.
func (a *admission) warnOfSecrets(inState int) {
	warned := map[string]bool{}
	for i := range a.documents {
		d := &a.documents[i]
		if d.secret && !warned[d.text.name] && slices.ContainsFunc(a.config.texts[settings.Manifests][:inState], func(t text) bool { return t.name == d.text.name }) {
			warned[d.text.name] = true
			a.problems = append(a.problems, message{
				source.Warning, d.text.at, "secret-exposed", titles["secret-exposed"],
				a.where(d.written.At(nil)) + ": Terraform stores manifests in its state and does not mark them as sensitive\n\ngive Secrets with sensitive_manifests or manifest_files",
			})
		}
	}
}

// outputs returns the values of the computed attributes.
func (a *admission) outputs(keys []string) map[string]any {
	results, sensitive, diffs := map[string]string{}, map[string]string{}, map[string]string{}
	changed := []string{}
	for i, key := range keys {
		d := &a.documents[i]
		if d.written.Changed() {
			changed = append(changed, key)
		}
		if d.sensitive {
			sensitive[key] = d.json
			continue
		}
		results[key] = d.json
		if d.written.Changed() {
			diffs[key] = d.diff(key)
		}
	}
	outputs := map[string]any{
		"ids": keys, "results": results, "sensitive_results": sensitive,
		"changed": changed, "diffs": diffs, "warnings": a.warnings(),
	}
	if slices.Contains(a.config.options.Outputs, "yaml") {
		outputs["yaml"] = string(manifest.Join(a.streams))
	}
	return outputs
}
