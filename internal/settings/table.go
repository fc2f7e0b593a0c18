package settings

import (
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

var switches = []string{"true", "false"}

// The commands that have a flag.
var (
	render    = []string{"render"}
	explain   = []string{"explain"}
	diff      = []string{"diff"}
	convert   = []string{"convert"}
	verify    = []string{"verify"}
	printing  = []string{"render", "exec", "cmp", "pods"}
	reporting = []string{"explain", "report", "diff", "check"}
	deciding  = []string{"diff", "check"}
	streaming = slices.Concat(printing, reporting)
	reading   = slices.Concat(streaming, []string{"view"}, verify)
	calling   = []string{"render", "pods", "explain", "report", "diff", "check"}
	running   = slices.Concat(streaming, []string{"fn", "test"})
	preparing = slices.Concat(running, convert)
	viewing   = slices.Concat(preparing, []string{"view"})
	// configured are the commands that read a configuration file. Clients call the others, and have
	// their own.
	configured = slices.DeleteFunc(slices.Concat(viewing, asking), func(name string) bool { return name == "cmp" || name == "fn" })
	// asking are the commands that ask a cluster.
	snapshot = []string{"snapshot"}
	asking   = slices.Concat(snapshot, verify)
)

// changesFiles and the others say why a file cannot set an option.
const (
	changesFiles = "it overwrites files"
	deletesFiles = "it deletes files"
	showsSecrets = "it shows the values of Secrets"
	runsProgram  = "it runs a program"
	ofOneCall    = "it is for one call"
	ofOneChart   = "it is for one chart"
	// callsPrograms is also for what opens connections: a repository must not decide that.
	callsPrograms = "it starts programs or opens connections"
)

const (
	// versionNote describes the effects of the version of Kubernetes.
	versionNote = "; it decides which kinds, fields and defaults exist, which versions of the policy API are served, " +
		"which CEL functions expressions may call, and how lists with several keys merge"
	paths       = "Files, directories and patterns with `*`, `?`, `[…]` and `**`. A directory means all `*.yaml`, `*.yml` and `*.json` files in it and its subdirectories, without those that a file `.preadmitignore` excludes and those that clearly hold no manifests. Relative paths are relative to the root module: use `${path.module}/…`."
	yamlStrings = "Strings with YAML or JSON, each with any number of documents."
	openAPINote = "OpenAPI v3 documents of the cluster, as `kubectl get --raw /openapi/v3/apis/apps/v1` prints them; by default the built-in ones."
)

// forms are the kinds that policies can be converted to.
var forms = []string{string(engine.MutatingPolicies), string(engine.MutatingAdmissionPolicies)}

// Table is the table of options, in the order in which help lists them.
var Table = []Option{
	{
		Flag: "policy", Short: "p", Arg: "PATH", Field: "policyPaths", Key: "policyPaths", Attribute: "policy_files", Only: DataSource,
		Commands: slices.Concat(running, verify), Default: "policies among the manifests", Files: Policies,
		Help:          "policies and their bindings, in addition to those among the manifests",
		AttributeHelp: "Files with policies and their bindings. " + paths,
	},
	{
		Field: "policies", Attribute: "policies", Only: DataSource, Texts: Policies,
		Help:          "policies and their bindings: objects, or strings that hold YAML",
		AttributeHelp: "Policies and their bindings, in addition to those among the manifests. " + yamlStrings,
	},
	{
		Flag: "tree", Arg: "PATH", Field: "treePaths", Key: "treePaths", Commands: running, Files: Trees,
		Help: "mutation trees, one per document; they change every manifest before admission",
	},
	{
		Flag: "context", Short: "c", Arg: "PATH", Field: "contextPaths", Key: "contextPaths", Attribute: "context_files", Only: DataSource,
		Commands: viewing, Default: "the manifests", Files: Context,
		Help:          "other objects of the cluster: params, Namespaces, CustomResourceDefinitions",
		AttributeHelp: "Files with context. " + paths,
	},
	{
		Field: "context", Attribute: "context", Texts: Context,
		Help:          "other objects of the cluster: objects, or strings that hold YAML",
		AttributeHelp: "Other objects of the cluster: params, Namespaces, CustomResourceDefinitions. " + yamlStrings,
	},
	{
		Flag: "kubernetes-version", Arg: "VERSION", Field: "kubernetesVersion", Key: "kubernetesVersion", Attribute: "kubernetes_version",
		Commands: slices.Concat(viewing, asking), Playground: true, Default: engine.DefaultKubernetesVersion,
		Help:          "version of the cluster (default " + engine.DefaultKubernetesVersion + ")" + versionNote,
		AttributeHelp: "Version of the cluster, default `" + engine.DefaultKubernetesVersion + "`.",
		Target:        func(c *Config) any { return &c.Engine.KubernetesVersion },
	},
	{
		Flag: "kyverno-version", Arg: "VERSION", Field: "kyvernoVersion", Key: "kyvernoVersion", Attribute: "kyverno_version",
		Commands: slices.Concat(preparing, verify), Playground: true, Default: engine.DefaultKyvernoVersion, Values: []string{engine.DefaultKyvernoVersion},
		Help:          "version of Kyverno in the cluster: " + engine.DefaultKyvernoVersion + ", the only known one",
		AttributeHelp: "Version of Kyverno in the cluster: `" + engine.DefaultKyvernoVersion + "`, the only known one.",
		Target:        func(c *Config) any { return &c.Engine.KyvernoVersion },
	},
	{
		Flag: "openapi", Arg: "PATH", Field: "openapiPaths", Key: "openapiPaths", Attribute: "openapi_files", Only: DataSource,
		Commands: slices.Concat(viewing, verify), Default: "built in", Files: OpenAPI,
		Help:          "OpenAPI v3 documents of the cluster (default: built in)",
		AttributeHelp: "Files with " + openAPINote + " " + paths,
	},
	{
		Flag: "namespace", Short: "n", Arg: "NAME", Field: "namespace", Key: "namespace", Attribute: "namespace", Commands: slices.Concat(viewing, verify), Playground: true, Default: "default",
		Help:          "namespace of manifests without a namespace (default \"default\")",
		AttributeHelp: "Namespace of manifests without a namespace, default `default`. It is written into them only with `write_namespace`.",
		Target:        func(c *Config) any { return &c.Engine.Namespace },
	},
	{
		Flag: "operation", Arg: "OPERATION", Field: "request.operation", Key: "operation", Attribute: "request.operation",
		Commands: preparing, Playground: true, Default: "CREATE", Values: []string{"CREATE", "UPDATE"},
		Help:          "operation of the admission requests: CREATE (default) or UPDATE",
		AttributeHelp: "Operation of the admission requests: `CREATE` (default) or `UPDATE`.",
		Target:        func(c *Config) any { return (*string)(&c.Engine.Operation) },
	},
	{
		Flag: "old", Arg: "PATH", Field: "oldPaths", Key: "oldPaths", Commands: preparing, Files: Old,
		Help: "the old objects of an UPDATE",
	},
	{
		Field: "old", Attribute: "old", Texts: Old,
		Help:          "the old objects of an UPDATE: objects, or strings that hold YAML",
		AttributeHelp: "The old objects of an `UPDATE`, which policies see as `oldObject`. " + yamlStrings,
	},
	{
		Flag: "dry-run", Field: "request.dryRun", Key: "dryRun", Attribute: "request.dry_run", Values: switches, Commands: preparing, Playground: true,
		Help:          "set request.dryRun to true; this changes nothing else",
		AttributeHelp: "Value of `request.dryRun` in policies, default `false`.",
		Target:        func(c *Config) any { return &c.Engine.DryRun },
	},
	{
		Flag: "as", Arg: "USER", Field: "request.userInfo.username", Key: "as", Attribute: "request.user.username", Commands: slices.Concat(preparing, verify), Playground: true,
		Help:          "name of the user who makes the request",
		AttributeHelp: "Name of the user who makes the request.",
		Target:        func(c *Config) any { return &c.Engine.User.Name },
	},
	{
		Flag: "as-uid", Arg: "UID", Field: "request.userInfo.uid", Key: "asUid", Attribute: "request.user.uid", Commands: slices.Concat(preparing, verify), Playground: true,
		Help:          "uid of the user",
		AttributeHelp: "UID of the user.",
		Target:        func(c *Config) any { return &c.Engine.User.UID },
	},
	{
		Flag: "as-group", Arg: "GROUP", Field: "request.userInfo.groups", Key: "asGroup", Attribute: "request.user.groups", Commands: slices.Concat(preparing, verify), Playground: true,
		Help:          "group of the user",
		AttributeHelp: "Groups of the user.",
		Target:        func(c *Config) any { return &c.Engine.User.Groups },
	},
	{
		Field: "request.userInfo.extra", Attribute: "request.user.extra",
		Help:          "further attributes of the user: a map of lists",
		AttributeHelp: "Other attributes of the user, lists of strings.",
		Target:        func(c *Config) any { return &c.Engine.User.Extra },
	},
	{
		Flag: "authorizer", Arg: "ANSWER", Field: "request.authorizer", Key: "authorizer", Attribute: "request.authorizer",
		Commands: slices.Concat(preparing, verify), Playground: true, Default: "asking is an error", Values: []string{"allow", "deny"},
		Help:          "answer of the authorizer in expressions: allow or deny (default: an error)",
		AttributeHelp: "Answer of the authorizer in expressions: `allow` or `deny`. By default, asking it is an error.",
		Target:        func(c *Config) any { return (*string)(&c.Engine.Authorizer) },
	},
	{
		Flag: "defaulting", Arg: "on|off", Field: "defaulting", Key: "defaulting", Attribute: "defaulting", Values: []string{"on", "off"},
		Commands: slices.Concat(preparing, verify), Playground: true, Default: "on",
		Help:          "whether policies see API defaults, as on a server (default on)",
		AttributeHelp: "Whether policies see API defaults, as on a server: `on` (default) or `off`.",
		Target:        func(c *Config) any { return (*string)(&c.Engine.Defaulting) },
	},
	{
		Flag: "admission-plugins", Arg: "NAME,...", Field: "admissionPlugins", Key: "admissionPlugins", Attribute: "admission_plugins", Separated: true,
		Commands: slices.Concat(preparing, asking), Playground: true, Default: "none; for pods, default",
		Help:          "built-in admission plug-ins of the API server to run, too: none, default (those of a stock server), or names, such as LimitRanger (default none)",
		AttributeHelp: "Built-in admission plug-ins of the API server to run, too: `none`, `default` (those of a stock server), or names, such as `LimitRanger`; default `none`. Objects that they look up, such as LimitRanges, come from the manifests and the context.",
		Target:        func(c *Config) any { return &c.Engine.AdmissionPlugins },
	},
	{
		Flag: "non-idempotent", Arg: "ACTION", Field: "nonIdempotent", Key: "nonIdempotent", Attribute: "non_idempotent", Commands: running, Playground: true, Default: "warn",
		Values:        []string{"fail", "warn", "skip"},
		Help:          "what to do if policies would change their own output again: fail, warn (default), or skip the check",
		AttributeHelp: "What to do if policies would change their own output again: `fail`, `warn` (default), or `skip` the check.",
		Target:        func(c *Config) any { return (*string)(&c.Engine.NonIdempotent) },
	},
	{
		Flag: "validation", Arg: "ACTION", Field: "validation", Key: "validation", Attribute: "validation",
		Commands: slices.Concat(preparing, verify), Playground: true, Default: "deny", Values: []string{"deny", "warn", "off"},
		Help:          "what to do if a cluster would refuse a manifest after the mutations: deny (default) it, warn, or turn the validation off",
		AttributeHelp: "What to do if a cluster would refuse a manifest after the mutations: `deny` it (default), `warn`, or turn the validation `off`.",
		Target:        func(c *Config) any { return (*string)(&c.Engine.Validation) },
	},
	{
		Flag: "field-validation", Arg: "ACTION", Field: "fieldValidation", Key: "fieldValidation", Attribute: "field_validation",
		Commands: preparing, Playground: true, Default: "warn; for check and with strict, strict", Values: []string{"strict", "warn", "ignore"},
		Help:          "what to do about fields that a kind does not have: refuse the manifest (strict, as kubectl asks for; default with --strict and for check), warn (default), or ignore them",
		AttributeHelp: "What to do about fields that a kind does not have: refuse the manifest (`strict`, as kubectl asks for; default with `strict`), `warn` (default), or `ignore` them.",
		Target:        func(c *Config) any { return (*string)(&c.Engine.FieldValidation) },
	},
	{
		Flag: "strict", Field: "strict", Key: "strict", Attribute: "strict", Values: switches, Commands: slices.Concat(running, verify), Playground: true,
		Help:          "fail if preadmit cannot know what a cluster would do; for CI",
		AttributeHelp: "Whether to fail if preadmit cannot know what a cluster would do, default `false`. Otherwise this is a warning. Functions cannot warn; `explain` and `report` return the warnings.",
		Target:        func(c *Config) any { return &c.Engine.Strict },
	},
	{
		Flag: "per-directory", Values: switches, Commands: streaming,
		Help:   "evaluate each directory of manifests separately, such as staging and production",
		Target: func(c *Config) any { return &c.Engine.PerDirectory },
	},
	{
		Flag: "normalize", Field: "normalize", Key: "normalize", Attribute: "normalize", Values: switches, Commands: running, Playground: true,
		Help:          "also write the values of the manifests in the form in which a server stores them: omit empty values, write canonical quantities, and data for stringData",
		AttributeHelp: "Whether to also write the values of the manifests in the form in which a server stores them, default `false`: empty values are omitted, quantities are canonical, `stringData` becomes `data`. `for` sets it.",
		Target:        func(c *Config) any { return &c.Engine.Normalize },
	},
	{
		Flag: "write-namespace", Field: "writeNamespace", Key: "writeNamespace", Attribute: "write_namespace", Values: switches, Commands: running, Playground: true,
		Help:          "write the namespace into manifests of namespaced kinds that do not have one",
		AttributeHelp: "Whether to write the namespace into manifests of namespaced kinds that do not have one, default `false`.",
		Target:        func(c *Config) any { return &c.Engine.WriteNamespace },
	},
	{
		Flag: "plain", Values: switches, Commands: streaming, Playground: true,
		Help:   "accept any JSON or YAML objects as input; only mutation trees change them",
		Target: func(c *Config) any { return &c.Engine.Plain },
	},
	{
		Flag: "values", Arg: "PATH", Field: "valuesPaths", Key: "valuesPaths", Commands: slices.Concat(preparing, verify), Files: Values,
		Help: "values of variables and answers of API calls for Kyverno's rules: Values files, as for the kyverno command",
	},
	{
		Field: "values", Attribute: "values", Texts: Values,
		Help:          "values for Kyverno's rules: objects, or strings that hold YAML",
		AttributeHelp: "Values of variables and answers of API calls for Kyverno's rules: Values files, as for the kyverno command. " + yamlStrings,
	},
	{
		Flag: "user-info", Arg: "PATH", Field: "userInfoPaths", Key: "userInfoPaths", Commands: slices.Concat(preparing, verify), Files: UserInfo,
		Help: "user and roles: UserInfo files, as for the kyverno command; --as, --as-uid and --as-group win over them",
	},
	{
		Field: "userInfo", Attribute: "user_info", Texts: UserInfo,
		Help:          "user and roles: an object, or a string that holds YAML",
		AttributeHelp: "User and roles: UserInfo files, as for the kyverno command; `request.user` wins over them. " + yamlStrings,
	},
	{
		Flag: "webhook", Arg: "NAME=URL|exec:PROGRAM", Commands: calling, Once: callsPrograms,
		Help:   "who answers for a mutating webhook, or for all of a configuration: NAME=URL (http or https), or NAME=exec:PROGRAM ARGS, a program that reads AdmissionReviews and prints the answers; quotes in ARGS are those of a shell",
		Target: func(c *Config) any { return &c.Webhooks },
	},
	{
		Flag: "webhook-ca", Arg: "FILE", Needs: "webhook", Commands: calling, Once: callsPrograms,
		Help:   "with --webhook: certificates in PEM of the authorities that https servers may have (default: those of the system)",
		Target: func(c *Config) any { return &c.WebhookCA },
	},
	{
		Flag: "record-webhooks", Arg: "FILE", Needs: "webhook", Commands: calling, Once: changesFiles,
		Help:   "with --webhook: write requests and answers to a file for --webhook-answers",
		Target: func(c *Config) any { return &c.RecordWebhooks },
	},
	{
		Flag: "record-secrets", Values: switches, Needs: "record-webhooks", Commands: calling, Once: showsSecrets,
		Help:   "with --record-webhooks: record the values of Secrets, which are masked otherwise",
		Target: func(c *Config) any { return &c.RecordSecrets },
	},
	{
		Flag: "webhook-answers", Arg: "PATH", Field: "webhookAnswersPaths", Key: "webhookAnswersPaths", Commands: slices.Concat(running, verify), Files: WebhookAnswers,
		Help: "recorded answers of the cluster's mutating webhooks, whose configurations are among the manifests, the policies or the context",
	},
	{
		Field: "webhookAnswers", Attribute: "webhook_answers", Texts: WebhookAnswers,
		Help:          "recorded answers of mutating webhooks: objects, or strings that hold YAML",
		AttributeHelp: "Recorded answers of the cluster's mutating webhooks, whose configurations are among the policies, the context or the manifests. " + yamlStrings,
	},
	{
		Flag: "input-limit", Arg: "SIZE", Field: "inputLimit", Key: "inputLimit", Attribute: "input_limit", Only: DataSource, Commands: slices.Concat(viewing, asking), Default: "64Mi",
		Help: "maximum size of all input files together (default 64Mi); a file may hold 100,000 documents for every 64Mi; " +
			"in a functionConfig, it applies to the files that the functionConfig names",
		AttributeHelp: "Maximum size of all files together, default `64Mi`; a file may hold 100,000 documents for every 64Mi.",
		Target:        func(c *Config) any { return &c.InputLimit },
	},
	{
		Flag: "config", Arg: "FILE", Commands: slices.Concat(configured, []string{"options"}), Default: "the nearest " + FileName, Once: ofOneCall,
		Help:   "configuration file with the defaults of options, or none (default: " + FileName + " in the working directory or above, up to the root of the repository)",
		Target: func(c *Config) any { return &c.Configuration },
	},
	{
		Flag: "allow-empty", Values: switches, Commands: reading,
		Help:   "accept input without manifests, which is an error otherwise",
		Target: func(c *Config) any { return &c.AllowEmpty },
	},
	{
		Flag: "allow-no-policies", Field: "allowNoPolicies", Key: "allowNoPolicies", Attribute: "allow_no_policies", Values: switches,
		Commands: slices.Concat(running, asking),
		Help:     "accept paths of policies that hold no policy, which is an error otherwise: policies may have moved",
		AttributeHelp: "Whether to accept files and directories of policies that hold no policy and, for functions, no policies or a policy without a binding, default `false`. " +
			"Otherwise this is an error, because policies may have moved, and `fileset` of a wrong directory is empty.",
		Target: func(c *Config) any { return &c.AllowNoPolicies },
	},
	{
		Flag: "ignore", Arg: "GLOB", Commands: reading, Valid: input.CheckIgnored,
		Help:   "files not to read in directories, a pattern as in .gitignore; files named .preadmitignore hold such patterns, too",
		Target: func(c *Config) any { return &c.Ignore },
	},
	{
		Flag: "verbose", Short: "v", Values: switches, Commands: reading,
		Help:   "list the files in directories that hold no manifests, and all places of a message that is about many",
		Target: func(c *Config) any { return &c.Verbose },
	},
	{
		Flag: "stats", Values: switches, Commands: streaming,
		Help:   "print to standard error how often policies, bindings and rules were evaluated and how long it took; reinvocations count, and evaluated is the sum of applied, skipped and errors",
		Target: func(c *Config) any { return &c.Stats },
	},
	{
		Flag: "stats-file", Arg: "PATH", Commands: streaming,
		Help:   "write these counts to a file, in the text format of Prometheus",
		Target: func(c *Config) any { return &c.StatsFile },
	},
	{
		Flag: "report", Arg: "FILE", Commands: []string{"render", "exec", "cmp"},
		Help:   "also write messages to a file, because Helm 4 does not show standard error",
		Target: func(c *Config) any { return &c.Report },
	},
	{
		Flag: "output", Short: "o", Arg: "FORMAT", Values: []string{"yaml", "json"}, Commands: slices.Concat(printing, []string{"view"}), Default: "yaml",
		Help:   "yaml (default), or json: sorted, compact, one object per line",
		Target: func(c *Config) any { return &c.Output },
	},
	{
		Flag: "in-place", Once: changesFiles, Values: switches, Commands: render,
		Help:   "write the manifests back into their files instead of printing them",
		Target: func(c *Config) any { return &c.InPlace },
	},
	{
		Flag: "output-dir", Arg: "DIR", Commands: render,
		Help:   "write the manifests to files with the same names below this directory instead of printing them",
		Target: func(c *Config) any { return &c.OutputDir },
	},
	{
		Flag: "copy-others", Values: switches, Needs: "output-dir", Commands: render,
		Help:   "with --output-dir: copy also the files of directories that hold no manifests, such as kustomizations, with their modes; not hidden and ignored ones",
		Target: func(c *Config) any { return &c.CopyOthers },
	},
	{
		Flag: "prune", Values: switches, Needs: "output-dir", Commands: render, Once: deletesFiles,
		Help:   "with --output-dir: remove files there that an earlier run with --prune wrote, that have not changed since and that this run does not write",
		Target: func(c *Config) any { return &c.Prune },
	},
	{
		Flag: "output", Short: "o", Arg: "FORMAT", Values: []string{"text", "json", "html"}, Commands: explain, Default: "text",
		Help:   "text (default), json, or html: one page with manifests and policies side by side",
		Target: func(c *Config) any { return &c.Output },
	},
	{
		Flag: "output", Short: "o", Arg: "FORMAT", Values: []string{"text", "json", "sarif", "junit", "github"}, Commands: []string{"check", "test", "verify"}, Default: "text",
		Help:   "text (default), json, sarif, junit, or github: annotations of GitHub Actions",
		Target: func(c *Config) any { return &c.Output },
	},
	{
		Flag: "output", Short: "o", Arg: "FORMAT", Values: []string{"text", "json", "sarif", "junit", "github", "markdown"}, Commands: diff, Default: "text",
		Help:   "text (default), json, sarif, junit, github: annotations of GitHub Actions, or markdown: a comment for a pull request",
		Target: func(c *Config) any { return &c.Output },
	},
	{
		Flag: "output", Short: "o", Arg: "PATH", Once: changesFiles, Commands: snapshot,
		Help:   "directory, or file with the extension .yaml, to write the snapshot to",
		Target: func(c *Config) any { return &c.Output },
	},
	{
		Flag: "context", Arg: "NAME", Once: ofOneCall, Commands: asking, Default: "the current one",
		Help:   "context of the kubeconfig (default: the current one)",
		Target: func(c *Config) any { return &c.KubeContext },
	},
	{
		Flag: "kubectl", Arg: "PATH", Once: runsProgram, Commands: asking, Default: "kubectl in PATH",
		Help:   "the program that asks the cluster (default: kubectl in PATH)",
		Target: func(c *Config) any { return &c.Kubectl },
	},
	{
		Flag: "snapshot", Arg: "PATH", Commands: verify,
		Help:   "snapshot of the cluster: its policies, as with -p; also say what has changed in the cluster since",
		Target: func(c *Config) any { return &c.Snapshot },
	},
	{
		Flag: "from", Arg: "PATH", Once: ofOneCall, Commands: snapshot, Files: Dump,
		Help: "instead of asking a cluster, read the objects in files, such as a must-gather or the output of kubectl get -o yaml",
	},
	{
		Flag: "secrets", Values: switches, Commands: snapshot, Once: showsSecrets,
		Help:   "also write the Secrets that policies look up, into files that only you can read; other Secrets have marks in place of their values",
		Target: func(c *Config) any { return &c.Secrets },
	},
	{
		Flag: "all-crds", Values: switches, Commands: snapshot,
		Help:   "write all CustomResourceDefinitions, not only those of kinds that policies name",
		Target: func(c *Config) any { return &c.Definitions },
	},
	{
		Flag: "resource", Arg: "NAME", Commands: snapshot,
		Help:   "also write the objects of a resource, such as configmaps or widgets.example.com",
		Target: func(c *Config) any { return &c.Resources },
	},
	{
		Flag: "print-role", Values: switches, Commands: snapshot, Once: ofOneCall,
		Help:   "print a ClusterRole that allows what the snapshot needs, and write nothing",
		Target: func(c *Config) any { return &c.PrintRole },
	},
	{
		Flag: "output", Short: "o", Arg: "FORMAT", Values: []string{"text", "json"}, Commands: []string{"version"}, Default: "text",
		Help:   "text (default) or json",
		Target: func(c *Config) any { return &c.Output },
	},
	{
		Flag: "output", Short: "o", Arg: "FORMAT", Values: []string{"text", "json", "csv", "markdown", "html"}, Commands: []string{"report"}, Default: "text",
		Help:   "text (default), json, csv, markdown: a comment for a pull request, or html: a page with a table that can be filtered",
		Target: func(c *Config) any { return &c.Output },
	},
	{
		Flag: "build", Values: switches, Commands: reporting,
		Help:   "render every kustomization and chart in the directories with kustomize or helm, except those that others use, and evaluate each separately",
		Target: func(c *Config) any { return &c.Build },
	},
	{
		Flag: "chart-values", Arg: "FILE", Needs: "build", Commands: reporting, Once: ofOneChart,
		Help:   "with --build: values for the only chart in the directories; a configuration file names the values of several",
		Target: func(c *Config) any { return &c.ChartValues },
	},
	{
		Flag: "release", Arg: "NAME", Needs: "build", Commands: reporting, Default: "the name of the directory", Once: ofOneChart,
		Help:   "with --build: name of the release of the only chart in the directories (default: the name of its directory)",
		Target: func(c *Config) any { return &c.Release },
	},
	{
		Flag: "shard", Arg: "I/N", Needs: "build", Commands: reporting,
		Help:   "with --build: render only every Nth kustomization or chart, beginning with the Ith",
		Target: func(c *Config) any { return &c.Shard },
	},
	{
		Flag: "base", Arg: "COMMIT|DIR", Commands: diff,
		Help:   "compare the objects that the cluster holds with those of a commit, or of another directory, each with its own policies; COMMIT... is the merge base with HEAD",
		Target: func(c *Config) any { return &c.Base },
	},
	{
		Flag: "against", Arg: "PATH", Commands: diff, Files: Against,
		Help: "other policies: compare the output of these with the output of -p",
	},
	{
		Flag: "stat", Values: switches, Commands: diff,
		Help:   "print how many lines change in each file, instead of the lines",
		Target: func(c *Config) any { return &c.Stat },
	},
	{
		Flag: "name-only", Values: switches, Commands: diff,
		Help:   "print only the names of the files that change",
		Target: func(c *Config) any { return &c.NameOnly },
	},
	{
		Flag: "quiet", Short: "q", Values: switches, Commands: diff,
		Help:   "print only messages; the exit status says whether there is a difference",
		Target: func(c *Config) any { return &c.Quiet },
	},
	{
		Flag: "color", Arg: "WHEN", Values: []string{"auto", "always", "never"}, Commands: []string{"explain", "diff"}, Default: "auto",
		Help:   "colours: auto (default: on a terminal), always or never",
		Target: func(c *Config) any { return &c.Color },
	},
	{
		Flag: "full", Values: switches, Commands: []string{"explain", "diff"},
		Help:   "show what does not change, too: whole values, and all lines of the files that change",
		Target: func(c *Config) any { return &c.Full },
	},
	{
		Flag: "field", Arg: "PATH", Commands: explain,
		Help:   "only this field and the fields in it, such as spec.template.spec.containers[0].image",
		Target: func(c *Config) any { return &c.Filter.Field },
	},
	{
		Flag: "pods", Values: switches, Commands: reporting,
		Help:   "include the objects that Kubernetes' controllers create from the manifests, down to the Pods",
		Target: func(c *Config) any { return &c.Pods },
	},
	{
		Flag: "object", Arg: "KIND/NAME", Commands: explain,
		Help:   "only objects with this name, which may contain the wildcards * and ?",
		Target: func(c *Config) any { return &c.Filter.Object },
	},
	{
		Flag: "by", Arg: "NAME", Commands: explain,
		Help:   "only policies with this name, which may contain the wildcards * and ?",
		Target: func(c *Config) any { return &c.Filter.Policy },
	},
	{
		Flag: "changed", Values: switches, Commands: explain,
		Help:   "only manifests that change",
		Target: func(c *Config) any { return &c.Filter.Changed },
	},
	{
		Flag: "baseline", Arg: "FILE", Commands: deciding,
		Help:   "findings of the past, which do not count",
		Target: func(c *Config) any { return &c.Baseline },
	},
	{
		Flag: "write-baseline", Values: switches, Needs: "baseline", Commands: deciding, Once: changesFiles,
		Help:   "with --baseline: write the findings of this run to the file",
		Target: func(c *Config) any { return &c.WriteBaseline },
	},
	{
		Flag: "show-secrets", Once: showsSecrets, Values: switches, Commands: slices.Concat(reporting, []string{"test"}),
		Help:   "show the values of Secrets, which are masked otherwise",
		Target: func(c *Config) any { return &c.ShowSecrets },
	},
	{
		Flag: "to", Once: ofOneCall, Arg: "KIND", Values: forms, Commands: convert,
		Help:   "kind to convert to: " + source.Alternatives(forms),
		Target: func(c *Config) any { return &c.To },
	},
	{
		Flag: "verify", Once: ofOneCall, Arg: "PATH", Needs: "to", Commands: convert, Files: Verify,
		Help: "with --to: manifests to run both forms on; the results must be the same; unordered ignores the order of items",
	},
	{
		Flag: "update", Once: changesFiles, Values: switches, Commands: []string{"test"},
		Help:   "write the output of the policies to the expected files",
		Target: func(c *Config) any { return &c.Update },
	},
	{
		Attribute: "manifests", Only: DataSource, Texts: Manifests,
		AttributeHelp: "Manifests. " + yamlStrings + " Terraform stores them in the state in clear text, so give Secrets with `sensitive_manifests` or `manifest_files`.",
	},
	{
		Attribute: "manifest_files", Only: DataSource, Files: Manifests,
		AttributeHelp: "Files with manifests. " + paths,
	},
	{
		Attribute: "sensitive_manifests", Only: DataSource, Sensitive: true, Texts: Manifests,
		AttributeHelp: "Manifests of any kind whose results are sensitive. " + yamlStrings,
	},
	{
		Attribute: "sensitive_policies", Only: DataSource, Sensitive: true, Texts: Policies,
		AttributeHelp: "Policies that must stay secret: results that they change are sensitive, and messages do not quote them. " + yamlStrings,
	},
	{
		Attribute: "sensitive_context", Only: DataSource, Sensitive: true, Texts: Context,
		AttributeHelp: "Context that must stay secret: results that contain its values are sensitive. " + yamlStrings,
	},
	{
		Attribute: "for", Values: []string{"kubernetes_manifest", "kubectl_manifest"},
		AttributeHelp: "The resource that applies the results. It sets other options as the resource needs them, unless they are given, too: `normalize` for both; " +
			"for `kubernetes_manifest` also `write_namespace`, and nulls are omitted before policies see the manifest, because the resource does not send them. " +
			"In the options of functions, write `\"for\"` in quotes: without them, an object that begins with it is a `for` expression.",
		Target: func(c *Config) any { return &c.For },
		Implies: func(c *Config, resource string) {
			c.Engine.Normalize = true
			if resource == "kubernetes_manifest" {
				c.Engine.WriteNamespace, c.Engine.OmitNulls = true, true
			}
		},
	},
	{
		Attribute: "openapi", Only: Functions, Texts: OpenAPI,
		AttributeHelp: openAPINote,
	},
	{
		Attribute: "outputs", Only: DataSource, Values: []string{"yaml"},
		AttributeHelp: "Additional outputs: `yaml`.",
		Target:        func(c *Config) any { return &c.Outputs },
	},
}
