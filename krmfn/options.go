package krmfn

import (
	"errors"
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// config has the values of all options of one run.
type config struct {
	engine engine.Options
	// observers collect the details of the run that reports need.
	observers []engine.Observer
	// partial says that the run continues with the other manifests if some cannot be read or
	// admitted.
	partial                bool
	policies, context, old inputs
	trees                  []path
	values, userInfo       inputs
	openAPI                []path
	inputLimit             size
	allowEmpty             bool
	output                 string
	// Options of some commands.
	filter                    report.Filter
	statsFile, transcriptFile string
	showSecrets, update       bool
	stats, verbose            bool
	ignore                    []string
	color                     string
	stat, quiet, nameOnly     bool
	full                      bool
	against                   []path
	build                     bool
	shard                     string
	// pods says that objects that controllers create from the manifests are admitted, too.
	pods      bool
	inPlace   bool
	outputDir string
	// filtering says that no operand names the manifests, so that they come from standard input.
	filtering bool
	// unlisted says that a List is printed as its separate items.
	unlisted bool
	// Parameters of an Argo CD application.
	valueFiles  []path
	releaseName string
	// chartParameters and chartValues are values of a chart in addition to valueFiles.
	chartParameters map[string]string
	chartValues     string
	recurse         bool
	// to is the kind that policies are converted to, verify the manifests to verify it with.
	to     string
	verify []path
}

// inputs are the documents of an option: paths, or documents in the functionConfig.
type inputs struct {
	paths  []path
	inline []*manifest.Stream
}

// size is a number of bytes; zero means the default.
type size int

// path is a file or directory that an option or an argument names.
type path struct {
	name string
	// base is the directory that the name is relative to; the working directory if empty.
	base string
	// within are the directories that the path must not leave; nil allows any path.
	within *bounds
	// shallow says that subdirectories of a directory are not read.
	shallow bool
	// at, subject and label say which option names the path.
	at             source.Position
	subject, label string
}

// bounds are directories that paths must not lead out of.
type bounds struct {
	dirs []string
	// names describes the directories in messages, advice is for paths that leave them.
	names, advice string
}

// option is one option with its names in all frontends. An empty name means that the option
// does not exist there.
type option struct {
	// flag and short are the names of the flag, arg is the placeholder of its value in help.
	flag, short, arg string
	// field is the path below spec in a functionConfig of kind Preadmit, key the key
	// of a ConfigMap.
	field, key string
	// values are the allowed values; nil allows any value.
	values []string
	help   string
	// target returns a pointer to the value in a config. Its type decides how values are
	// parsed: *string, *bool, *size, *[]string, *[]path, *[]*manifest.Stream,
	// *map[string]string or *map[string][]string.
	target func(c *config) any
	// stream options are not for functions; view options change the admission view.
	stream, view bool
	// separated says that a value may be a list, separated by commas.
	separated bool
	// needs is a flag without which the flag has no effect, so it is an error then.
	needs string
	// commands are the commands that have the flag; nil means all commands with flags.
	commands []string
}

// options is the table of options. Flags, functionConfig, ConfigMap, help and suggestions for
// unknown names come from it.
var options = []option{
	{
		flag: "policy", short: "p", arg: "PATH", field: "policyPaths", key: "policyPaths",
		help:   "policies and their bindings, in addition to those among the manifests",
		target: func(c *config) any { return &c.policies.paths },
	},
	{
		field:  "policies",
		help:   "policies and their bindings: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.policies.inline },
	},
	{
		flag: "tree", arg: "PATH", field: "treePaths", key: "treePaths",
		help:   "mutation trees, one per document; they change every manifest before admission",
		target: func(c *config) any { return &c.trees },
	},
	{
		flag: "context", short: "c", arg: "PATH", field: "contextPaths", key: "contextPaths",
		help:   "other objects of the cluster: params, Namespaces, CustomResourceDefinitions",
		target: func(c *config) any { return &c.context.paths }, view: true,
	},
	{
		field:  "context",
		help:   "other objects of the cluster: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.context.inline },
	},
	shared("kubernetes-version", option{view: true}),
	shared("kyverno-version", option{}),
	{
		flag: "openapi", arg: "PATH", field: "openapiPaths", key: "openapiPaths",
		help:   "OpenAPI v3 documents of the cluster (default: built in)",
		target: func(c *config) any { return &c.openAPI }, view: true,
	},
	shared("namespace", option{view: true}),
	shared("operation", option{}),
	{
		flag: "old", arg: "PATH", field: "oldPaths", key: "oldPaths",
		help:   "the old objects of an UPDATE",
		target: func(c *config) any { return &c.old.paths },
	},
	{
		field:  "old",
		help:   "the old objects of an UPDATE: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.old.inline },
	},
	shared("dry-run", option{}),
	shared("as", option{}),
	shared("as-uid", option{}),
	shared("as-group", option{}),
	shared("request.userInfo.extra", option{}),
	shared("authorizer", option{}),
	shared("defaulting", option{}),
	shared("admission-plugins", option{}),
	shared("non-idempotent", option{}),
	shared("validation", option{}),
	shared("strict", option{}),
	shared("per-directory", option{stream: true}),
	shared("normalize", option{}),
	shared("write-namespace", option{}),
	shared("plain", option{stream: true}),
	{
		flag: "values", arg: "PATH", field: "valuesPaths", key: "valuesPaths",
		help:   "values of variables and answers of API calls for Kyverno's rules: Values files, as for the kyverno command",
		target: func(c *config) any { return &c.values.paths },
	},
	{
		field:  "values",
		help:   "values for Kyverno's rules: objects, or strings that hold YAML",
		target: func(c *config) any { return &c.values.inline },
	},
	{
		flag: "user-info", arg: "PATH", field: "userInfoPaths", key: "userInfoPaths",
		help:   "user and roles: UserInfo files, as for the kyverno command; --as, --as-uid and --as-group win over them",
		target: func(c *config) any { return &c.userInfo.paths },
	},
	{
		field:  "userInfo",
		help:   "user and roles: an object, or a string that holds YAML",
		target: func(c *config) any { return &c.userInfo.inline },
	},
	{
		flag: "input-limit", arg: "SIZE", field: "inputLimit", key: "inputLimit",
		help: "maximum size of all input files together (default 64Mi); a file may hold 100,000 documents for every 64Mi; " +
			"in a functionConfig, it applies to the files that the functionConfig names",
		target: func(c *config) any { return &c.inputLimit }, view: true,
	},
	{
		flag: "allow-empty", values: []string{"true", "false"}, stream: true,
		help:   "accept input without manifests, which is an error otherwise",
		target: func(c *config) any { return &c.allowEmpty }, view: true,
	},
	{
		flag: "ignore", arg: "GLOB", stream: true,
		help:   "files not to read in directories, a pattern as in .gitignore; files named " + input.IgnoreFile + " hold such patterns, too",
		target: func(c *config) any { return &c.ignore }, view: true,
	},
	{
		flag: "verbose", short: "v", values: []string{"true", "false"}, stream: true,
		help:   "list the files in directories that hold no manifests",
		target: func(c *config) any { return &c.verbose }, view: true,
	},
	{
		flag: "stats", values: []string{"true", "false"}, stream: true,
		help:   "print to standard error how often policies, bindings and rules were evaluated and how long it took; reinvocations count, and evaluated is the sum of applied, skipped and errors",
		target: func(c *config) any { return &c.stats },
	},
	{
		flag: "stats-file", arg: "PATH", stream: true,
		help:   "write these counts to a file, in the text format of Prometheus",
		target: func(c *config) any { return &c.statsFile },
	},
	{
		flag: "report", arg: "FILE", stream: true, commands: []string{"render", "exec", "cmp"},
		help:   "also write messages to a file, because Helm 4 does not show standard error",
		target: func(c *config) any { return &c.transcriptFile },
	},
	{
		flag: "output", short: "o", arg: "FORMAT", values: []string{"yaml", "json"}, stream: true,
		help:   "yaml (default), or json: sorted, compact, one object per line",
		target: func(c *config) any { return &c.output }, view: true,
	},
}

// shared returns an option of the engine. o has what only the command line knows.
func shared(name string, o option) option {
	e := settings.Named(name)
	o.flag, o.short, o.arg, o.field, o.key = e.Flag, e.Short, e.Arg, e.Field, e.Key
	o.values, o.separated, o.help = e.Values, e.Separated, e.Help
	o.target = func(c *config) any { return e.Target(&c.engine) }
	return o
}

// reportOptions are the options for the output of some commands. They exist only as flags.
var reportOptions = []option{
	{
		flag: "in-place", values: []string{"true", "false"}, commands: []string{"render"},
		help:   "write the manifests back into their files instead of printing them",
		target: func(c *config) any { return &c.inPlace },
	},
	{
		flag: "output-dir", arg: "DIR", commands: []string{"render"},
		help:   "write the manifests to files with the same names below this directory instead of printing them",
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
		help:   "render every kustomization and chart in the directories with kustomize or helm, except those that others use, and evaluate each separately",
		target: func(c *config) any { return &c.build },
	},
	{
		flag: "shard", arg: "I/N", needs: "build", commands: []string{"diff", "explain", "check"},
		help:   "with --build: render only every Nth kustomization or chart, beginning with the Ith",
		target: func(c *config) any { return &c.shard },
	},
	{
		flag: "against", arg: "PATH", commands: []string{"diff"},
		help:   "other policies: compare the output of these with the output of -p",
		target: func(c *config) any { return &c.against },
	},
	{
		flag: "stat", values: []string{"true", "false"}, commands: []string{"diff"},
		help:   "print how many lines change in each file, instead of the lines",
		target: func(c *config) any { return &c.stat },
	},
	{
		flag: "name-only", values: []string{"true", "false"}, commands: []string{"diff"},
		help:   "print only the names of the files that change",
		target: func(c *config) any { return &c.nameOnly },
	},
	{
		flag: "quiet", short: "q", values: []string{"true", "false"}, commands: []string{"diff"},
		help:   "print only messages; the exit status says whether there is a difference",
		target: func(c *config) any { return &c.quiet },
	},
	{
		flag: "color", arg: "WHEN", values: []string{"auto", "always", "never"}, commands: []string{"explain", "diff"},
		help:   "colours: auto (default: on a terminal), always or never",
		target: func(c *config) any { return &c.color },
	},
	{
		flag: "full", values: []string{"true", "false"}, commands: []string{"explain", "diff"},
		help:   "show what does not change, too: whole values, and all lines of the files that change",
		target: func(c *config) any { return &c.full },
	},
	{
		flag: "field", arg: "PATH", commands: []string{"explain"},
		help:   "only this field and the fields in it, such as spec.template.spec.containers[0].image",
		target: func(c *config) any { return &c.filter.Field },
	},
	{
		flag: "pods", values: []string{"true", "false"}, commands: []string{"explain", "diff", "check"},
		help:   "include the objects that Kubernetes' controllers create from the manifests, down to the Pods",
		target: func(c *config) any { return &c.pods },
	},
	{
		flag: "object", arg: "KIND/NAME", commands: []string{"explain"},
		help:   "only objects with this name, which may contain the wildcards * and ?",
		target: func(c *config) any { return &c.filter.Object },
	},
	{
		flag: "by", arg: "NAME", commands: []string{"explain"},
		help:   "only policies with this name, which may contain the wildcards * and ?",
		target: func(c *config) any { return &c.filter.Policy },
	},
	{
		flag: "changed", values: []string{"true", "false"}, commands: []string{"explain"},
		help:   "only manifests that change",
		target: func(c *config) any { return &c.filter.Changed },
	},
	{
		flag: "show-secrets", values: []string{"true", "false"}, commands: []string{"explain", "diff", "check", "test"},
		help:   "show the values of Secrets, which are masked otherwise",
		target: func(c *config) any { return &c.showSecrets },
	},
	{
		flag: "to", arg: "KIND", values: convertKinds, commands: []string{"convert"},
		help:   "kind to convert to: " + source.Alternatives(convertKinds),
		target: func(c *config) any { return &c.to },
	},
	{
		flag: "verify", arg: "PATH", needs: "to", commands: []string{"convert"},
		help:   "with --to: manifests to run both forms on; the results must be the same; unordered ignores the order of items",
		target: func(c *config) any { return &c.verify },
	},
	{
		flag: "update", values: []string{"true", "false"}, commands: []string{"test"},
		help:   "write the output of the policies to the expected files",
		target: func(c *config) any { return &c.update },
	},
}

// optionsOf lists the options that are flags of a command.
func optionsOf(c *command) []*option {
	var found []*option
	for i := range options {
		if o := &options[i]; c.flags(o) && (len(o.commands) == 0 || slices.Contains(o.commands, c.name)) {
			found = append(found, o)
		}
	}
	for i := range reportOptions {
		if slices.Contains(reportOptions[i].commands, c.name) {
			found = append(found, &reportOptions[i])
		}
	}
	return found
}

// ranFlags returns which flags a command has that reports on a run: the flags of render with a
// different --output. test has no stream flags.
func ranFlags(name string) func(o *option) bool {
	return func(o *option) bool {
		return o.isRenderFlag() && o.flag != "output" && !(name == "test" && o.stream)
	}
}

func (o *option) isRenderFlag() bool   { return o.flag != "" }
func (o *option) isFunctionFlag() bool { return o.flag != "" && !o.stream }
func (o *option) isViewFlag() bool     { return o.flag != "" && o.view }

// isConvertFlag reports whether a flag describes the cluster or the request.
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

// isMap reports whether the option takes a map of values.
func (o *option) isMap() bool {
	_, ok := o.target(new(config)).(*map[string]string)
	return ok
}

// set sets the option to a value, or adds the value to a list. A path gets the base and the
// bounds of from.
func (o *option) set(c *config, text string, from path) error {
	if err := settings.Check(o.values, text); err != nil {
		return err
	}
	if text == "" && (o.arg == "PATH" || o.arg == "DIR") {
		return errors.New("the path is empty")
	}
	switch target := o.target(c).(type) {
	case *size:
		bytes, err := limit.ParseInput(text)
		*target = size(bytes)
		return err
	case *[]path:
		from.name = text
		*target = append(*target, from)
	default:
		settings.Set(target, text, o.separated)
	}
	return nil
}
