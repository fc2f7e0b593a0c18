// Package settings is the table of the options of the engine that are not documents. Flags, the
// functionConfig, the keys of a ConfigMap, Terraform and the playground take their names, values
// and texts from it, so that all of them have the same options.
package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/source"
)

// Option is one option with its names in all frontends. An empty name means that the option does
// not exist there.
type Option struct {
	// Flag and Short are the names of the flag, Arg is the placeholder of its value in help.
	Flag, Short, Arg string
	// Field is the path below spec in a functionConfig, Key the key of a ConfigMap, and Attribute
	// the path in Terraform.
	Field, Key, Attribute string
	// Values are the allowed values; nil allows any value.
	Values []string
	// Separated says that a flag may have a list of values, separated by commas.
	Separated bool
	// Help is the text for flags and fields, AttributeHelp that for Terraform, in Markdown.
	Help, AttributeHelp string
	// Target returns a pointer to the value. Its type decides how values are parsed: *string,
	// *bool, *[]string or *map[string][]string.
	Target func(o *engine.Options) any
}

var switches = []string{"true", "false"}

// versionNote describes the effects of the version of Kubernetes.
const versionNote = "; it decides which kinds, fields and defaults exist, which versions of the policy API are served, " +
	"which CEL functions expressions may call, and how lists with several keys merge"

// Table is the table of options.
var Table = []Option{
	{
		Flag: "kubernetes-version", Arg: "VERSION", Field: "kubernetesVersion", Key: "kubernetesVersion", Attribute: "kubernetes_version",
		Help:          "version of the cluster (default " + engine.DefaultKubernetesVersion + ")" + versionNote,
		AttributeHelp: "Version of the cluster, default `" + engine.DefaultKubernetesVersion + "`.",
		Target:        func(o *engine.Options) any { return &o.KubernetesVersion },
	},
	{
		Flag: "kyverno-version", Arg: "VERSION", Field: "kyvernoVersion", Key: "kyvernoVersion", Attribute: "kyverno_version",
		Values:        []string{engine.DefaultKyvernoVersion},
		Help:          "version of Kyverno in the cluster: " + engine.DefaultKyvernoVersion + ", the only known one",
		AttributeHelp: "Version of Kyverno in the cluster: `" + engine.DefaultKyvernoVersion + "`, the only known one.",
		Target:        func(o *engine.Options) any { return &o.KyvernoVersion },
	},
	{
		Flag: "namespace", Short: "n", Arg: "NAME", Field: "namespace", Key: "namespace", Attribute: "namespace",
		Help:          "namespace of manifests without a namespace (default \"default\")",
		AttributeHelp: "Namespace of manifests without a namespace, default `default`. It is written into them only with `write_namespace`.",
		Target:        func(o *engine.Options) any { return &o.Namespace },
	},
	{
		Flag: "operation", Arg: "OPERATION", Field: "request.operation", Key: "operation", Attribute: "request.operation",
		Values:        []string{"CREATE", "UPDATE"},
		Help:          "operation of the admission requests: CREATE (default) or UPDATE",
		AttributeHelp: "Operation of the admission requests: `CREATE` (default) or `UPDATE`.",
		Target:        func(o *engine.Options) any { return (*string)(&o.Operation) },
	},
	{
		Flag: "dry-run", Field: "request.dryRun", Key: "dryRun", Attribute: "request.dry_run", Values: switches,
		Help:          "set request.dryRun to true; this changes nothing else",
		AttributeHelp: "Value of `request.dryRun` in policies, default `false`.",
		Target:        func(o *engine.Options) any { return &o.DryRun },
	},
	{
		Flag: "as", Arg: "USER", Field: "request.userInfo.username", Key: "as", Attribute: "request.user.username",
		Help:          "name of the user who makes the request",
		AttributeHelp: "Name of the user who makes the request.",
		Target:        func(o *engine.Options) any { return &o.User.Name },
	},
	{
		Flag: "as-uid", Arg: "UID", Field: "request.userInfo.uid", Key: "asUid", Attribute: "request.user.uid",
		Help:          "uid of the user",
		AttributeHelp: "UID of the user.",
		Target:        func(o *engine.Options) any { return &o.User.UID },
	},
	{
		Flag: "as-group", Arg: "GROUP", Field: "request.userInfo.groups", Key: "asGroup", Attribute: "request.user.groups",
		Help:          "group of the user",
		AttributeHelp: "Groups of the user.",
		Target:        func(o *engine.Options) any { return &o.User.Groups },
	},
	{
		Field: "request.userInfo.extra", Attribute: "request.user.extra",
		Help:          "further attributes of the user: a map of lists",
		AttributeHelp: "Other attributes of the user, lists of strings.",
		Target:        func(o *engine.Options) any { return &o.User.Extra },
	},
	{
		Flag: "authorizer", Arg: "ANSWER", Field: "request.authorizer", Key: "authorizer", Attribute: "request.authorizer",
		Values:        []string{"allow", "deny"},
		Help:          "answer of the authorizer in expressions: allow or deny (default: an error)",
		AttributeHelp: "Answer of the authorizer in expressions: `allow` or `deny`. By default, asking it is an error.",
		Target:        func(o *engine.Options) any { return (*string)(&o.Authorizer) },
	},
	{
		Flag: "defaulting", Arg: "on|off", Field: "defaulting", Key: "defaulting", Attribute: "defaulting", Values: []string{"on", "off"},
		Help:          "whether policies see API defaults, as on a server (default on)",
		AttributeHelp: "Whether policies see API defaults, as on a server: `on` (default) or `off`.",
		Target:        func(o *engine.Options) any { return (*string)(&o.Defaulting) },
	},
	{
		Flag: "admission-plugins", Arg: "NAME,...", Field: "admissionPlugins", Key: "admissionPlugins", Attribute: "admission_plugins", Separated: true,
		Help:          "built-in admission plug-ins of the API server to run, too: none, default (those of a stock server), or names, such as LimitRanger (default none)",
		AttributeHelp: "Built-in admission plug-ins of the API server to run, too: `none`, `default` (those of a stock server), or names, such as `LimitRanger`; default `none`. Objects that they look up, such as LimitRanges, come from the manifests and the context.",
		Target:        func(o *engine.Options) any { return &o.AdmissionPlugins },
	},
	{
		Flag: "non-idempotent", Arg: "ACTION", Field: "nonIdempotent", Key: "nonIdempotent", Attribute: "non_idempotent",
		Values:        []string{"fail", "warn", "skip"},
		Help:          "what to do if policies would change their own output again: fail, warn (default), or skip the check",
		AttributeHelp: "What to do if policies would change their own output again: `fail`, `warn` (default), or `skip` the check.",
		Target:        func(o *engine.Options) any { return (*string)(&o.NonIdempotent) },
	},
	{
		Flag: "validation", Arg: "ACTION", Field: "validation", Key: "validation", Attribute: "validation",
		Values:        []string{"deny", "warn", "off"},
		Help:          "what to do if a cluster would refuse a manifest after the mutations: deny (default) it, warn, or turn the validation off",
		AttributeHelp: "What to do if a cluster would refuse a manifest after the mutations: `deny` it (default), `warn`, or turn the validation `off`.",
		Target:        func(o *engine.Options) any { return (*string)(&o.Validation) },
	},
	{
		Flag: "strict", Field: "strict", Key: "strict", Attribute: "strict", Values: switches,
		Help:          "fail if preadmit cannot know what a cluster would do; for CI",
		AttributeHelp: "Whether to fail if preadmit cannot know what a cluster would do, default `false`. Otherwise this is a warning. Functions cannot warn, except that `explain` returns warnings.",
		Target:        func(o *engine.Options) any { return &o.Strict },
	},
	{
		Flag: "per-directory", Values: switches,
		Help:   "evaluate each directory of manifests separately, such as staging and production",
		Target: func(o *engine.Options) any { return &o.PerDirectory },
	},
	{
		Flag: "normalize", Field: "normalize", Key: "normalize", Attribute: "normalize", Values: switches,
		Help:          "also write the values of the manifests in the form in which a server stores them: omit empty values, write canonical quantities, and data for stringData",
		AttributeHelp: "Whether to also write the values of the manifests in the form in which a server stores them, default `false`: empty values are omitted, quantities are canonical, `stringData` becomes `data`. Use `true` with `kubernetes_manifest`.",
		Target:        func(o *engine.Options) any { return &o.Normalize },
	},
	{
		Flag: "write-namespace", Field: "writeNamespace", Key: "writeNamespace", Attribute: "write_namespace", Values: switches,
		Help:          "write the namespace into manifests of namespaced kinds that do not have one",
		AttributeHelp: "Whether to write the namespace into manifests of namespaced kinds that do not have one, default `false`.",
		Target:        func(o *engine.Options) any { return &o.WriteNamespace },
	},
	{
		Flag: "plain", Values: switches,
		Help:   "accept any JSON or YAML objects as input; only mutation trees change them",
		Target: func(o *engine.Options) any { return &o.Plain },
	},
}

// Named returns the option with a name in any frontend. It panics if no option has the
// name, because the tables of the frontends name only options of this table.
func Named(name string) *Option {
	i := slices.IndexFunc(Table, func(o Option) bool { return o.Flag == name || o.Attribute == name || o.Field == name })
	if i < 0 {
		panic("no option " + name)
	}
	return &Table[i]
}

// Check returns an error if a text is not one of the values of an option.
func Check(values []string, text string) error {
	if len(values) == 0 || slices.Contains(values, text) {
		return nil
	}
	return fmt.Errorf("%q is not a valid value; expected %s", text, source.Alternatives(values))
}

// Set sets a target to a value, or adds the value to a list. It returns false for a target of
// another type.
func Set(target any, text string, separated bool) bool {
	switch target := target.(type) {
	case *string:
		*target = text
	case *bool:
		*target = text == "true"
	case *[]string:
		if separated {
			*target = append(*target, strings.Split(text, ",")...)
		} else {
			*target = append(*target, text)
		}
	default:
		return false
	}
	return true
}
