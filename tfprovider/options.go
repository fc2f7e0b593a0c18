package tfprovider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/internal/settings"
)

// config has the values of all options of one call.
type config struct {
	engine                                             engine.Options
	manifests, sensitive, policies, context, old       []text
	sensitivePolicies, sensitiveContext                []text
	openAPI, values, userInfo                          []text
	manifestFiles, policyFiles, contextFiles, apiFiles []pattern
	outputs                                            []string
	allowNoPolicies                                    bool
	// private means that the texts may contain sensitive values anywhere: a function does not know.
	private    bool
	inputLimit size
}

// size is a number of bytes; zero means the default.
type size int

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

// scope is where an option exists.
type scope int

const (
	inDataSource scope = 1 << iota
	inFunctions
)

// option is one option.
type option struct {
	// name is its path; "request.user.uid" is uid in user in request.
	name  string
	scope scope
	// values are the allowed values; nil allows any value.
	values    []string
	sensitive bool
	help      string
	// target returns a pointer to the value in a config. Its type decides how values are parsed:
	// *string, *bool, *size, *[]string, *[]text, *[]pattern or *map[string][]string.
	target func(c *config) any
}

const (
	paths       = "Files, directories and patterns with `*`, `?`, `[…]` and `**`. A directory means all `*.yaml`, `*.yml` and `*.json` files in it and its subdirectories, without those that a file `.preadmitignore` excludes and those that clearly hold no manifests. Relative paths are relative to the root module: use `${path.module}/…`."
	yamlStrings = "Strings with YAML or JSON, each with any number of documents."
)

// options is the table of options. The schema, the options of functions, the documentation and
// suggestions for unknown names come from it.
var options = []option{
	{
		name: "manifests", scope: inDataSource,
		help:   "Manifests. " + yamlStrings + " Terraform stores them in the state in clear text, so give Secrets with `sensitive_manifests` or `manifest_files`.",
		target: func(c *config) any { return &c.manifests },
	},
	{
		name: "manifest_files", scope: inDataSource,
		help:   "Files with manifests. " + paths,
		target: func(c *config) any { return &c.manifestFiles },
	},
	{
		name: "sensitive_manifests", scope: inDataSource, sensitive: true,
		help:   "Manifests of any kind whose results are sensitive. " + yamlStrings,
		target: func(c *config) any { return &c.sensitive },
	},
	{
		name: "policies", scope: inDataSource,
		help:   "Policies and their bindings, in addition to those among the manifests. " + yamlStrings,
		target: func(c *config) any { return &c.policies },
	},
	{
		name: "policy_files", scope: inDataSource,
		help:   "Files with policies and their bindings. " + paths,
		target: func(c *config) any { return &c.policyFiles },
	},
	{
		name: "sensitive_policies", scope: inDataSource, sensitive: true,
		help:   "Policies that must stay secret: results that they change are sensitive, and messages do not quote them. " + yamlStrings,
		target: func(c *config) any { return &c.sensitivePolicies },
	},
	{
		name: "context", scope: inDataSource | inFunctions,
		help:   "Other objects of the cluster: params, Namespaces, CustomResourceDefinitions. " + yamlStrings,
		target: func(c *config) any { return &c.context },
	},
	{
		name: "sensitive_context", scope: inDataSource, sensitive: true,
		help:   "Context that must stay secret: results that contain its values are sensitive. " + yamlStrings,
		target: func(c *config) any { return &c.sensitiveContext },
	},
	{
		name: "context_files", scope: inDataSource,
		help:   "Files with context. " + paths,
		target: func(c *config) any { return &c.contextFiles },
	},
	shared("kubernetes_version"),
	shared("kyverno_version"),
	{
		name: "openapi_files", scope: inDataSource,
		help:   "Files with OpenAPI v3 documents of the cluster, as `kubectl get --raw /openapi/v3/apis/apps/v1` prints them; by default the built-in ones. " + paths,
		target: func(c *config) any { return &c.apiFiles },
	},
	{
		name: "openapi", scope: inFunctions,
		help:   "OpenAPI v3 documents of the cluster, as `kubectl get --raw /openapi/v3/apis/apps/v1` prints them; by default the built-in ones.",
		target: func(c *config) any { return &c.openAPI },
	},
	shared("namespace"),
	shared("write_namespace"),
	shared("normalize"),
	shared("request.operation"),
	shared("request.dry_run"),
	shared("request.user.username"),
	shared("request.user.uid"),
	shared("request.user.groups"),
	shared("request.user.extra"),
	shared("request.authorizer"),
	{
		name: "old", scope: inDataSource | inFunctions,
		help:   "The old objects of an `UPDATE`, which policies see as `oldObject`. " + yamlStrings,
		target: func(c *config) any { return &c.old },
	},
	shared("defaulting"),
	shared("admission_plugins"),
	shared("non_idempotent"),
	shared("validation"),
	shared("strict"),
	{
		name: "allow_no_policies", scope: inFunctions,
		help:   "Whether to accept no policies, or a policy without a binding, default `false`. Otherwise this is an error, because `fileset` of a wrong directory is empty.",
		target: func(c *config) any { return &c.allowNoPolicies },
	},
	{
		name: "values", scope: inDataSource | inFunctions,
		help:   "Values of variables and answers of API calls for Kyverno's rules: Values files, as for the kyverno command. " + yamlStrings,
		target: func(c *config) any { return &c.values },
	},
	{
		name: "user_info", scope: inDataSource | inFunctions,
		help:   "User and roles: UserInfo files, as for the kyverno command; `request.user` wins over them. " + yamlStrings,
		target: func(c *config) any { return &c.userInfo },
	},
	{
		name: "input_limit", scope: inDataSource,
		help:   "Maximum size of all files together, default `64Mi`; a file may hold 100,000 documents for every 64Mi.",
		target: func(c *config) any { return &c.inputLimit },
	},
	{
		name: "outputs", scope: inDataSource, values: []string{"yaml"},
		help:   "Additional outputs: `yaml`.",
		target: func(c *config) any { return &c.outputs },
	},
}

// shared returns an option of the engine, which the data source and the functions have.
func shared(name string) option {
	e := settings.Named(name)
	return option{
		name: e.Attribute, scope: inDataSource | inFunctions, values: e.Values, help: e.AttributeHelp,
		target: func(c *config) any { return e.Target(&c.engine) },
	}
}

// groups describe the objects that contain options.
var groups = map[string]string{
	"request":      "The admission request.",
	"request.user": "The user who makes the request, `request.userInfo` in policies.",
}

// inputs returns the schema of the options below a prefix, which is empty or ends in ".".
func inputs(prefix string) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for i := range options {
		o := &options[i]
		rest, ok := strings.CutPrefix(o.name, prefix)
		if !ok || o.scope&inDataSource == 0 {
			continue
		}
		name, _, nested := strings.Cut(rest, ".")
		if nested {
			attributes[name] = schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: groups[prefix+name], Attributes: inputs(prefix + name + "."),
			}
			continue
		}
		attributes[name] = o.attribute()
	}
	return attributes
}

func (o *option) attribute() schema.Attribute {
	switch o.target(new(config)).(type) {
	case *string, *size:
		return schema.StringAttribute{Optional: true, MarkdownDescription: o.help}
	case *bool:
		return schema.BoolAttribute{Optional: true, MarkdownDescription: o.help}
	case *map[string][]string:
		return schema.MapAttribute{Optional: true, MarkdownDescription: o.help, ElementType: types.ListType{ElemType: types.StringType}}
	}
	return schema.ListAttribute{Optional: true, MarkdownDescription: o.help, ElementType: types.StringType, Sensitive: o.sensitive}
}
