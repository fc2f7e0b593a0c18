package tfprovider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/engine"
)

// config is what the configuration of one call says.
type config struct {
	engine                                             engine.Options
	manifests, sensitive, policies, context, old       []text
	sensitivePolicies, sensitiveContext                []text
	openAPI, values, userInfo                          []text
	manifestFiles, policyFiles, contextFiles, apiFiles []pattern
	outputs                                            []string
	allowNoPolicies                                    bool
	inputLimit                                         size
}

// size is a number of bytes; zero stands for the default.
type size int

// text is a string, or a file, that holds manifests.
type text struct {
	// at is the attribute or argument that gives it, name how people know it.
	at   path.Path
	name string
	data string
}

// pattern names files.
type pattern struct {
	at   path.Path
	text string
}

// scope says where an option exists.
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
	// values are the values that the option may have; any if there are none.
	values    []string
	sensitive bool
	help      string
	// target is where the value goes. Its type says how a value is written: *string,
	// *bool, *[]string, *[]text, *[]pattern or *map[string][]string.
	target func(c *config) any
}

const (
	paths       = "Files, directories and patterns with `*`, `?`, `[…]` and `**`. A directory means its `*.yaml`, `*.yml` and `*.json` files and those in directories below it. Relative paths are relative to the root module: use `${path.module}/…`."
	yamlStrings = "Strings with YAML or JSON, of any number of documents."
)

// options is the table of options. Schema, the options of functions, documentation and
// the suggestions for unknown names are all made from it.
var options = []option{
	{
		name: "manifests", scope: inDataSource,
		help:   "Manifests. " + yamlStrings + " They are kept in the state in clear text, so give Secrets with `sensitive_manifests` or `manifest_files`.",
		target: func(c *config) any { return &c.manifests },
	},
	{
		name: "manifest_files", scope: inDataSource,
		help:   "Files with manifests. " + paths,
		target: func(c *config) any { return &c.manifestFiles },
	},
	{
		name: "sensitive_manifests", scope: inDataSource, sensitive: true,
		help:   "Manifests whose results are sensitive, whatever their kind. " + yamlStrings,
		target: func(c *config) any { return &c.sensitive },
	},
	{
		name: "policies", scope: inDataSource,
		help:   "Policies and their bindings; those among the manifests always count. " + yamlStrings,
		target: func(c *config) any { return &c.policies },
	},
	{
		name: "policy_files", scope: inDataSource,
		help:   "Files with policies and their bindings. " + paths,
		target: func(c *config) any { return &c.policyFiles },
	},
	{
		name: "sensitive_policies", scope: inDataSource, sensitive: true,
		help:   "Policies that must stay secret: what they write is sensitive, and messages about them leave it out. " + yamlStrings,
		target: func(c *config) any { return &c.sensitivePolicies },
	},
	{
		name: "context", scope: inDataSource | inFunctions,
		help:   "What else the cluster holds: params, Namespaces, CustomResourceDefinitions. " + yamlStrings,
		target: func(c *config) any { return &c.context },
	},
	{
		name: "sensitive_context", scope: inDataSource, sensitive: true,
		help:   "Context that must stay secret: what policies make of it is sensitive. " + yamlStrings,
		target: func(c *config) any { return &c.sensitiveContext },
	},
	{
		name: "context_files", scope: inDataSource,
		help:   "Files with context. " + paths,
		target: func(c *config) any { return &c.contextFiles },
	},
	{
		name: "kubernetes_version", scope: inDataSource | inFunctions,
		help:   "Version of the cluster, default `" + engine.DefaultKubernetesVersion + "`.",
		target: func(c *config) any { return &c.engine.KubernetesVersion },
	},
	{
		name: "openapi_files", scope: inDataSource,
		help:   "Files with OpenAPI v3 documents of the cluster, as `kubectl get --raw /openapi/v3/apis/apps/v1` prints them; default: those built in. " + paths,
		target: func(c *config) any { return &c.apiFiles },
	},
	{
		name: "openapi", scope: inFunctions,
		help:   "OpenAPI v3 documents of the cluster, as `kubectl get --raw /openapi/v3/apis/apps/v1` prints them; default: those built in.",
		target: func(c *config) any { return &c.openAPI },
	},
	{
		name: "namespace", scope: inDataSource | inFunctions,
		help:   "Namespace of manifests that name none, default `default`. It is written into them only with `write_namespace`.",
		target: func(c *config) any { return &c.engine.Namespace },
	},
	{
		name: "write_namespace", scope: inDataSource | inFunctions,
		help:   "Whether to write the namespace into manifests that belong in one and name none, default `false`.",
		target: func(c *config) any { return &c.engine.WriteNamespace },
	},
	{
		name: "normalize", scope: inDataSource | inFunctions,
		help:   "Whether to bring the manifests' own values into the form in which a server stores them, too, default `false`: what is empty is left out, quantities are canonical, `stringData` is in `data`. With `kubernetes_manifest` it should be `true`.",
		target: func(c *config) any { return &c.engine.Normalize },
	},
	{
		name: "request.operation", scope: inDataSource | inFunctions, values: []string{"CREATE", "UPDATE"},
		help:   "What the request does to the objects: `CREATE` (default) or `UPDATE`.",
		target: func(c *config) any { return (*string)(&c.engine.Operation) },
	},
	{
		name: "request.dry_run", scope: inDataSource | inFunctions,
		help:   "What `request.dryRun` says in policies, default `false`.",
		target: func(c *config) any { return &c.engine.DryRun },
	},
	{
		name: "request.user.username", scope: inDataSource | inFunctions,
		help:   "Name of the user who makes the request.",
		target: func(c *config) any { return &c.engine.User.Name },
	},
	{
		name: "request.user.uid", scope: inDataSource | inFunctions,
		help:   "UID of the user.",
		target: func(c *config) any { return &c.engine.User.UID },
	},
	{
		name: "request.user.groups", scope: inDataSource | inFunctions,
		help:   "Groups of the user.",
		target: func(c *config) any { return &c.engine.User.Groups },
	},
	{
		name: "request.user.extra", scope: inDataSource | inFunctions,
		help:   "Further attributes of the user, lists of strings.",
		target: func(c *config) any { return &c.engine.User.Extra },
	},
	{
		name: "request.authorizer", scope: inDataSource | inFunctions, values: []string{"allow", "deny"},
		help:   "What expressions hear from the authorizer: `allow` or `deny`. By default asking is an error.",
		target: func(c *config) any { return (*string)(&c.engine.Authorizer) },
	},
	{
		name: "old", scope: inDataSource | inFunctions,
		help:   "The objects as they are in the cluster, before an `UPDATE`: what `oldObject` is in policies. " + yamlStrings,
		target: func(c *config) any { return &c.old },
	},
	{
		name: "defaulting", scope: inDataSource | inFunctions, values: []string{"on", "off"},
		help:   "Whether policies see the defaults of the API, as on a server: `on` (default) or `off`.",
		target: func(c *config) any { return (*string)(&c.engine.Defaulting) },
	},
	{
		name: "admission_plugins", scope: inDataSource | inFunctions,
		help:   "Admission plug-ins that are part of the server and act as well: `none`, `default` (those of a stock server), or names, such as `LimitRanger`; default none. What they look up, as LimitRanges, comes from the manifests and the context.",
		target: func(c *config) any { return &c.engine.AdmissionPlugins },
	},
	{
		name: "non_idempotent", scope: inDataSource | inFunctions, values: []string{"fail", "warn", "skip"},
		help:   "What to do about policies that would change their own output again: `fail`, `warn` (default), or `skip` the check.",
		target: func(c *config) any { return (*string)(&c.engine.NonIdempotent) },
	},
	{
		name: "strict", scope: inDataSource | inFunctions,
		help:   "Whether it is an error if there is no telling what a cluster would do, default `false`. Functions cannot warn, so without it they say nothing then; `explain` does.",
		target: func(c *config) any { return &c.engine.Strict },
	},
	{
		name: "allow_no_policies", scope: inFunctions,
		help:   "Whether there may be no policy at all, or one without a binding, default `false`: then it is an error, as `fileset` of a wrong directory is empty.",
		target: func(c *config) any { return &c.allowNoPolicies },
	},
	{
		name: "values", scope: inDataSource | inFunctions,
		help:   "What Kyverno's rules cannot know without a cluster, as in the Values file of its own command. " + yamlStrings,
		target: func(c *config) any { return &c.values },
	},
	{
		name: "user_info", scope: inDataSource | inFunctions,
		help:   "User and roles, as in the UserInfo file of Kyverno's command; `request.user` wins over it. " + yamlStrings,
		target: func(c *config) any { return &c.userInfo },
	},
	{
		name: "input_limit", scope: inDataSource,
		help:   "How large the files may be, all together, default `64Mi`, with 100,000 documents in each for every 64Mi.",
		target: func(c *config) any { return &c.inputLimit },
	},
	{
		name: "outputs", scope: inDataSource, values: []string{"yaml"},
		help:   "Outputs to make besides those that are always there: `yaml`.",
		target: func(c *config) any { return &c.outputs },
	},
}

// groups describe the objects that hold options.
var groups = map[string]string{
	"request":      "The request that brings the objects to the cluster.",
	"request.user": "The user who makes the request, as `request.userInfo` says in policies.",
}

// inputs is the schema of the options below a prefix, which is empty or ends in ".".
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
