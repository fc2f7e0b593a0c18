package krmfn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// config is what the options of one run say.
type config struct {
	engine engine.Options
	// observers learn more of the run than its result.
	observers []engine.Observer
	// partial says that manifests that can be read and admitted count although others
	// cannot.
	partial                bool
	policies, context, old inputs
	trees                  []path
	values, userInfo       inputs
	openAPI                []path
	inputLimit             size
	allowEmpty             bool
	output                 string
	// What only some commands know.
	filter                    report.Filter
	statsFile, transcriptFile string
	showSecrets, update       bool
	stats, verbose            bool
	ignore                    []string
	color                     string
	stat, quiet, nameOnly     bool
	against                   []path
	build                     bool
	shard                     string
	// pods says that what controllers make of the manifests is admitted, too.
	pods      bool
	inPlace   bool
	outputDir string
	// unlisted says that lists are printed as the objects that they hold.
	unlisted bool
	// What an application of Argo CD says besides.
	valueFiles  []path
	releaseName string
	// chartParameters and chartValues are values of a chart besides those in files.
	chartParameters map[string]string
	chartValues     string
	recurse         bool
	// What policies are converted to, and the manifests that show whether it is the same.
	to     string
	verify []path
}

// inputs are documents that an option gives, by path or in the functionConfig itself.
type inputs struct {
	paths  []path
	inline []*manifest.Stream
}

// size is a number of bytes; zero stands for the default.
type size int

// path is a file or directory that an option or an argument names.
type path struct {
	name string
	// base is the directory that the name is relative to; the working directory if
	// empty.
	base string
	// within is where it must not lead out of; anywhere if nil.
	within *bounds
	// shallow says that of a directory only the files directly in it count.
	shallow bool
	// at, subject and label say which option names the path.
	at             source.Position
	subject, label string
}

// bounds are directories that paths must not lead out of.
type bounds struct {
	dirs []string
	// names are what the user calls them, advice is for who leads out of them.
	names, advice string
}

// option is one option, under all its names. A name that is empty does not exist.
type option struct {
	// flag and short are the names of the flag, with which arg stands for the value.
	flag, short, arg string
	// field is the path below spec in a functionConfig of kind Preadmit, key the key
	// of a ConfigMap.
	field, key string
	// values are the values that the option may have; any if there are none.
	values []string
	help   string
	// target is where the value goes. Its type says how a value is written: *string,
	// *bool, *[]string, *[]path, *[]*manifest.Stream or *map[string][]string.
	target func(c *config) any
	// stream says that the option is about streams, and not for functions; view that
	// the admission view depends on it.
	stream, view bool
	// separated says that a value may be several, separated by commas.
	separated bool
	// commands are the only commands that have the flag; all that have flags if empty.
	commands []string
}

// options is the table of options. Flags, functionConfig, ConfigMap, help and the
// suggestions for unknown names are all made from it.
var options = []option{
	{
		flag: "policy", short: "p", arg: "PATH", field: "policyPaths", key: "policyPaths",
		help:   "policies and their bindings; those among the manifests always count",
		target: func(c *config) any { return &c.policies.paths },
	},
	{
		field:  "policies",
		help:   "policies and their bindings: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.policies.inline },
	},
	{
		flag: "tree", arg: "PATH", field: "treePaths", key: "treePaths",
		help:   "mutation trees, one per document, that change every manifest as it is written",
		target: func(c *config) any { return &c.trees },
	},
	{
		flag: "context", short: "c", arg: "PATH", field: "contextPaths", key: "contextPaths",
		help:   "what else the cluster holds: params, Namespaces, CustomResourceDefinitions",
		target: func(c *config) any { return &c.context.paths }, view: true,
	},
	{
		field:  "context",
		help:   "what else the cluster holds: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.context.inline },
	},
	{
		flag: "kubernetes-version", arg: "VERSION", field: "kubernetesVersion", key: "kubernetesVersion",
		help:   "version of the cluster (default " + engine.DefaultKubernetesVersion + ")" + versionNote,
		target: func(c *config) any { return &c.engine.KubernetesVersion }, view: true,
	},
	{
		flag: "openapi", arg: "PATH", field: "openapiPaths", key: "openapiPaths",
		help:   "OpenAPI v3 documents of the cluster (default: built in)",
		target: func(c *config) any { return &c.openAPI }, view: true,
	},
	{
		flag: "namespace", short: "n", arg: "NAME", field: "namespace", key: "namespace",
		help:   "namespace of manifests that name none (default default)",
		target: func(c *config) any { return &c.engine.Namespace }, view: true,
	},
	{
		flag: "operation", arg: "OPERATION", field: "request.operation", key: "operation", values: []string{"CREATE", "UPDATE"},
		help:   "what the request does to the objects: CREATE (default) or UPDATE",
		target: func(c *config) any { return (*string)(&c.engine.Operation) },
	},
	{
		flag: "old", arg: "PATH", field: "oldPaths", key: "oldPaths",
		help:   "the objects before an UPDATE",
		target: func(c *config) any { return &c.old.paths },
	},
	{
		field:  "old",
		help:   "the objects before an UPDATE: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.old.inline },
	},
	{
		flag: "dry-run", field: "request.dryRun", key: "dryRun", values: []string{"true", "false"},
		help:   "the request is a dry run (what request.dryRun says, nothing else)",
		target: func(c *config) any { return &c.engine.DryRun },
	},
	{
		flag: "as", arg: "USER", field: "request.userInfo.username", key: "as",
		help:   "name of the user who makes the request",
		target: func(c *config) any { return &c.engine.User.Name },
	},
	{
		flag: "as-uid", arg: "UID", field: "request.userInfo.uid", key: "asUid",
		help:   "uid of the user",
		target: func(c *config) any { return &c.engine.User.UID },
	},
	{
		flag: "as-group", arg: "GROUP", field: "request.userInfo.groups", key: "asGroup",
		help:   "group of the user",
		target: func(c *config) any { return &c.engine.User.Groups },
	},
	{
		field:  "request.userInfo.extra",
		help:   "further attributes of the user: a map of lists",
		target: func(c *config) any { return &c.engine.User.Extra },
	},
	{
		flag: "authorizer", arg: "ANSWER", field: "request.authorizer", key: "authorizer", values: []string{"allow", "deny"},
		help:   "what expressions hear from the authorizer: allow or deny (default: an error)",
		target: func(c *config) any { return (*string)(&c.engine.Authorizer) },
	},
	{
		flag: "defaulting", arg: "on|off", field: "defaulting", key: "defaulting", values: []string{"on", "off"},
		help:   "whether policies see the defaults of the API, as on a server (default on)",
		target: func(c *config) any { return (*string)(&c.engine.Defaulting) },
	},
	{
		flag: "admission-plugins", arg: "NAME,...", field: "admissionPlugins", key: "admissionPlugins", separated: true,
		help:   "admission plug-ins that are part of the server and act as well: none, default (those of a stock server), or names, such as LimitRanger (default none)",
		target: func(c *config) any { return &c.engine.AdmissionPlugins },
	},
	{
		flag: "non-idempotent", arg: "ACTION", field: "nonIdempotent", key: "nonIdempotent", values: []string{"fail", "warn", "skip"},
		help:   "what to do about policies that would change their own output again: fail, warn (default), or skip the check",
		target: func(c *config) any { return (*string)(&c.engine.NonIdempotent) },
	},
	{
		flag: "strict", field: "strict", key: "strict", values: []string{"true", "false"},
		help:   "fail where preadmit could not tell what a cluster would do: CI should",
		target: func(c *config) any { return &c.engine.Strict },
	},
	{
		flag: "per-directory", values: []string{"true", "false"}, stream: true,
		help:   "evaluate each directory of manifests by itself, as staging and production",
		target: func(c *config) any { return &c.engine.PerDirectory },
	},
	{
		flag: "normalize", field: "normalize", key: "normalize", values: []string{"true", "false"},
		help:   "bring the manifests' own values into the form in which a server stores them, too: leave out what is empty, canonical quantities, data for stringData",
		target: func(c *config) any { return &c.engine.Normalize },
	},
	{
		flag: "write-namespace", field: "writeNamespace", key: "writeNamespace", values: []string{"true", "false"},
		help:   "write the namespace into manifests that belong in one and name none",
		target: func(c *config) any { return &c.engine.WriteNamespace },
	},
	{
		flag: "plain", values: []string{"true", "false"}, stream: true,
		help:   "take the input for any JSON or YAML objects; only mutation trees change them",
		target: func(c *config) any { return &c.engine.Plain },
	},
	{
		flag: "values", arg: "PATH", field: "valuesPaths", key: "valuesPaths",
		help:   "what Kyverno's rules cannot know without a cluster, as in the Values file of its own command",
		target: func(c *config) any { return &c.values.paths },
	},
	{
		field:  "values",
		help:   "what Kyverno's rules cannot know: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.values.inline },
	},
	{
		flag: "user-info", arg: "PATH", field: "userInfoPaths", key: "userInfoPaths",
		help:   "user and roles, as in the UserInfo file of Kyverno's command; --as and the like win over it",
		target: func(c *config) any { return &c.userInfo.paths },
	},
	{
		field:  "userInfo",
		help:   "user and roles: an object, or a string that holds YAML",
		target: func(c *config) any { return &c.userInfo.inline },
	},
	{
		flag: "input-limit", arg: "SIZE", field: "inputLimit", key: "inputLimit",
		help: "how large the input may be, all files together (default 64Mi), with 100,000 documents a file for every 64Mi; " +
			"what a functionConfig holds counts for the files that it names",
		target: func(c *config) any { return &c.inputLimit }, view: true,
	},
	{
		flag: "allow-empty", values: []string{"true", "false"}, stream: true,
		help:   "accept a stream without manifests, which is an error otherwise",
		target: func(c *config) any { return &c.allowEmpty }, view: true,
	},
	{
		flag: "ignore", arg: "GLOB", stream: true,
		help:   "what not to read in directories, as in a .gitignore; so do lines of a file " + ignoreFile + " there",
		target: func(c *config) any { return &c.ignore }, view: true,
	},
	{
		flag: "verbose", short: "v", values: []string{"true", "false"}, stream: true,
		help:   "list the files in directories that hold no manifests",
		target: func(c *config) any { return &c.verbose }, view: true,
	},
	{
		flag: "stats", values: []string{"true", "false"}, stream: true,
		help:   "count on standard error what policies, bindings and rules did, reinvocations included, and how long it took; evaluated are the applied, the skipped and the errors",
		target: func(c *config) any { return &c.stats },
	},
	{
		flag: "stats-file", arg: "PATH", stream: true,
		help:   "write these counts into a file, in the text format of Prometheus",
		target: func(c *config) any { return &c.statsFile },
	},
	{
		flag: "report", arg: "FILE", stream: true, commands: []string{"render", "exec", "cmp"},
		help:   "also write the messages on standard error to a file: Helm 4 does not show them",
		target: func(c *config) any { return &c.transcriptFile },
	},
	{
		flag: "output", short: "o", arg: "FORMAT", values: []string{"yaml", "json"}, stream: true,
		help:   "yaml (default), or json: sorted, compact, one object per line",
		target: func(c *config) any { return &c.output }, view: true,
	},
}

// versionNote says what the version of the cluster decides.
const versionNote = "; it decides which kinds and fields there are and what their defaults are, which versions of the policy API are served, " +
	"what expressions may use, and how lists with several keys merge"

// reportOptions are the options about what becomes of the result of a run. They are flags
// only.
var reportOptions = []option{
	{
		flag: "in-place", values: []string{"true", "false"}, commands: []string{"render"},
		help:   "write the manifests back into their files instead of printing them",
		target: func(c *config) any { return &c.inPlace },
	},
	{
		flag: "output-dir", arg: "DIR", commands: []string{"render"},
		help:   "write the manifests into files of the same names below this directory instead of printing them",
		target: func(c *config) any { return &c.outputDir },
	},
	{
		flag: "output", short: "o", arg: "FORMAT", values: []string{"text", "json", "html"}, commands: []string{"explain"},
		help:   "text (default), json, or html: one page with manifests and policies side by side",
		target: func(c *config) any { return &c.output },
	},
	{
		flag: "output", short: "o", arg: "FORMAT", values: []string{"text", "json", "sarif", "junit", "github"}, commands: []string{"check", "test"},
		help:   "text (default), json, sarif, junit, or github: annotations of GitHub Actions",
		target: func(c *config) any { return &c.output },
	},
	{
		flag: "output", short: "o", arg: "FORMAT", values: []string{"text", "json", "sarif", "junit", "github", "markdown"}, commands: []string{"diff"},
		help:   "text (default), json, sarif, junit, github: annotations of GitHub Actions, or markdown: a comment for a pull request",
		target: func(c *config) any { return &c.output },
	},
	{
		flag: "output", short: "o", arg: "FORMAT", values: []string{"text", "json"}, commands: []string{"version"},
		help:   "text (default) or json",
		target: func(c *config) any { return &c.output },
	},
	{
		flag: "build", values: []string{"true", "false"}, commands: []string{"diff", "explain", "check"},
		help:   "find the kustomizations and charts in the directories, render each with kustomize or helm, and evaluate each by itself; those that are part of others are not rendered by themselves",
		target: func(c *config) any { return &c.build },
	},
	{
		flag: "shard", arg: "I/N", commands: []string{"diff", "explain", "check"},
		help:   "render only every Nth of them, beginning with the Ith",
		target: func(c *config) any { return &c.shard },
	},
	{
		flag: "against", arg: "PATH", commands: []string{"diff"},
		help:   "policies to compare those of -p with: what changes in the output",
		target: func(c *config) any { return &c.against },
	},
	{
		flag: "stat", values: []string{"true", "false"}, commands: []string{"diff"},
		help:   "how many lines change in which files, instead of the lines",
		target: func(c *config) any { return &c.stat },
	},
	{
		flag: "name-only", values: []string{"true", "false"}, commands: []string{"diff"},
		help:   "the names of the files that change, and nothing else",
		target: func(c *config) any { return &c.nameOnly },
	},
	{
		flag: "quiet", short: "q", values: []string{"true", "false"}, commands: []string{"diff"},
		help:   "no output but messages: the exit status says whether there is a difference",
		target: func(c *config) any { return &c.quiet },
	},
	{
		flag: "color", arg: "WHEN", values: []string{"auto", "always", "never"}, commands: []string{"explain", "diff"},
		help:   "colours: auto (default: on a terminal), always or never",
		target: func(c *config) any { return &c.color },
	},
	{
		flag: "field", arg: "PATH", commands: []string{"explain"},
		help:   "tell of this field only, as in spec.template.spec.containers[0].image, and of what is in it",
		target: func(c *config) any { return &c.filter.Field },
	},
	{
		flag: "pods", values: []string{"true", "false"}, commands: []string{"explain", "diff", "check"},
		help:   "tell of what Kubernetes' controllers make of the manifests, too, down to the Pods",
		target: func(c *config) any { return &c.pods },
	},
	{
		flag: "object", arg: "KIND/NAME", commands: []string{"explain"},
		help:   "tell of these objects only, with * and ? for parts of names",
		target: func(c *config) any { return &c.filter.Object },
	},
	{
		flag: "by", arg: "NAME", commands: []string{"explain"},
		help:   "tell of what the policies of this name do, or do not, with * and ?",
		target: func(c *config) any { return &c.filter.Policy },
	},
	{
		flag: "changed", values: []string{"true", "false"}, commands: []string{"explain"},
		help:   "tell of manifests that change only",
		target: func(c *config) any { return &c.filter.Changed },
	},
	{
		flag: "show-secrets", values: []string{"true", "false"}, commands: []string{"explain", "diff", "check", "test"},
		help:   "show the values of Secrets, which are masked otherwise",
		target: func(c *config) any { return &c.showSecrets },
	},
	{
		flag: "to", arg: "KIND", values: convertKinds, commands: []string{"convert"},
		help:   "the kind of policies to make of those of Kyverno: " + source.Alternatives(convertKinds),
		target: func(c *config) any { return &c.to },
	},
	{
		flag: "verify", arg: "PATH", commands: []string{"convert"},
		help:   "with --to: manifests to run both forms on, which must be the same for all",
		target: func(c *config) any { return &c.verify },
	},
	{
		flag: "update", values: []string{"true", "false"}, commands: []string{"test"},
		help:   "write what the policies make of the manifests into the expected files",
		target: func(c *config) any { return &c.update },
	},
}

// optionsOf lists the options that are flags of a command.
func optionsOf(c *command) []*option {
	var own []*option
	for i := range options {
		if o := &options[i]; c.flags(o) && (len(o.commands) == 0 || slices.Contains(o.commands, c.name)) {
			own = append(own, o)
		}
	}
	for i := range reportOptions {
		if slices.Contains(reportOptions[i].commands, c.name) {
			own = append(own, &reportOptions[i])
		}
	}
	return own
}

// ranFlags are the flags of a command that reports on a run: those of render, but with
// an output of its own.
func ranFlags(name string) func(o *option) bool {
	return func(o *option) bool {
		return o.isRenderFlag() && o.flag != "output" && !(name == "test" && o.stream)
	}
}

func (o *option) isRenderFlag() bool   { return o.flag != "" }
func (o *option) isFunctionFlag() bool { return o.flag != "" && !o.stream }
func (o *option) isViewFlag() bool     { return o.flag != "" && o.view }

// isConvertFlag reports whether a flag says what the cluster and the request are like.
func (o *option) isConvertFlag() bool {
	return o.isFunctionFlag() && !slices.Contains([]string{"policy", "tree", "non-idempotent", "strict", "normalize", "write-namespace"}, o.flag)
}

// isSwitch reports whether the option is on or off.
func (o *option) isSwitch() bool {
	_, ok := o.target(new(config)).(*bool)
	return ok
}

// isList reports whether the option takes any number of values.
func (o *option) isList() bool {
	switch o.target(new(config)).(type) {
	case *[]string, *[]path:
		return true
	}
	return false
}

// isMap reports whether the option takes values by name.
func (o *option) isMap() bool {
	_, ok := o.target(new(config)).(*map[string]string)
	return ok
}

// set gives the option a value, a list a further one. from says where a path comes
// from.
func (o *option) set(c *config, text string, from path) error {
	if len(o.values) > 0 && !slices.Contains(o.values, text) {
		return fmt.Errorf("%q is not a value; expected %s", text, source.Alternatives(o.values))
	}
	if text == "" && (o.arg == "PATH" || o.arg == "DIR") {
		return errors.New("the path is empty")
	}
	switch target := o.target(c).(type) {
	case *string:
		*target = text
	case *bool:
		*target = text == "true"
	case *size:
		bytes, err := limit.ParseInput(text)
		*target = size(bytes)
		return err
	case *[]string:
		if values := strings.Split(text, ","); o.separated {
			*target = append(*target, values...)
		} else {
			*target = append(*target, text)
		}
	case *[]path:
		from.name = text
		*target = append(*target, from)
	}
	return nil
}
