package source

// Entry explains one code of diagnostics.
type Entry struct {
	Code string
	// Severities are the severities that the code occurs with, the usual one first. The errors that
	// the option strict makes of warnings are not listed.
	Severities []Severity
	// Title names the problem in a few words, for lists of rules.
	Title string
	// Cause says in whole sentences what is wrong. Advice says what to do about it.
	Cause, Advice string
	// Unsure means that preadmit cannot tell what a cluster would do. With the option
	// strict, such a warning is an error.
	Unsure bool
	// Unseen says why no input of a test can produce the code. It is empty for
	// all other codes.
	Unseen string
}

// Section is a titled group of entries of the catalogue.
type Section struct {
	Title   string
	Entries []Entry
}

var (
	errors           = []Severity{Error}
	warnings         = []Severity{Warning}
	infos            = []Severity{Info}
	infosOrWarnings  = []Severity{Info, Warning}
	warningsOrErrors = []Severity{Warning, Error}
	errorsOrInfos    = []Severity{Error, Info}
	errorsOrWarnings = []Severity{Error, Warning}
	errorsToInfos    = []Severity{Error, Warning, Info}
)

// Catalogue lists every code of the program. The reference page for users is generated from it,
// and a test compares it with the codes in the source, both ways.
var Catalogue = []Section{
	{"Reading YAML and JSON", reading},
	{"Objects and schemas", objects},
	{"Policies", policies},
	{"Running policies", running},
	{"Checking policies", checking},
	{"Files and streams", streams},
	{"Options and the command line", options},
	{"Asking a cluster", asking},
	{"Tests of policies", tests},
	{"Limits", limits},
	{"Faults of preadmit", faults},
}

// Lookup returns the entry of a code, and whether the catalogue has it.
func Lookup(code string) (Entry, bool) {
	for _, section := range Catalogue {
		for _, e := range section.Entries {
			if e.Code == code {
				return e, true
			}
		}
	}
	return Entry{}, false
}

var reading = []Entry{
	{
		Code: "malformed-yaml", Severities: errors, Title: "The text is not valid YAML or JSON",
		Cause:  "The text cannot be read as YAML or JSON; the message names the mistake.",
		Advice: "Correct the text at the position, or just before it.",
	},
	{
		Code: "template", Severities: errors, Title: "The document is a template, not a manifest",
		Cause:  "The document is not valid YAML and contains actions of a Go template, like the templates of Helm charts: `{{ … }}` where a line, an item or a value begins.",
		Advice: "Render the template first and pass the output to preadmit: `preadmit exec -- helm template CHART`.",
	},
	{
		Code: "merge-conflict", Severities: errors, Title: "Git has left a merge conflict",
		Cause:  "The file has both sides of a merge, between lines that begin with `<<<<<<<` and `>>>>>>>`.",
		Advice: "Keep one of the sides and remove these lines.",
	},
	{
		Code: "lfs-pointer", Severities: errors, Title: "Git has only a pointer to the file",
		Cause:  "The repository keeps the file in Git LFS, and it was not fetched.",
		Advice: "Fetch it: `git lfs pull`; in GitHub Actions, `lfs: true` for actions/checkout. If it holds no manifests, name it in a file `.preadmitignore`.",
	},
	{
		Code: "tab-indentation", Severities: errors, Title: "A tab is used as indentation",
		Cause:  "YAML does not allow tabs in indentation.",
		Advice: "Indent with spaces.",
	},
	{
		Code: "duplicate-key", Severities: errors, Title: "A key is repeated",
		Cause:  "A map has the same key twice. Which of the two values counts depends on the YAML parser.",
		Advice: "Remove one of the two.",
	},
	{
		Code: "null-key", Severities: errors, Title: "A key is null",
		Cause:  "The key of an entry is null or missing.",
		Advice: "Quote the key if it is meant as text.",
	},
	{
		Code: "bad-key", Severities: errors, Title: "A key is not text",
		Cause:  "The key cannot be a key in JSON; it is, for instance, a list or an infinite number.",
		Advice: "Quote the key.",
	},
	{
		Code: "boolean-key", Severities: warnings, Title: "A key is read as a boolean",
		Cause:  "In YAML 1.1, which kubectl reads, words like y, yes, on and off are booleans, even as keys.",
		Advice: "Quote the key if it is meant as text.",
	},
	{
		Code: "not-finite", Severities: errors, Title: "A number is not finite",
		Cause:  "Objects are sent to API servers as JSON, which has no infinity and no NaN.",
		Advice: "Quote the value if it is meant as text.",
	},
	{
		Code: "bad-tag", Severities: errors, Title: "A value does not fit its tag",
		Cause:  "A YAML tag such as !!int precedes a value of another type.",
		Advice: "Correct the value, or remove the tag.",
	},
	{
		Code: "unknown-anchor", Severities: errors, Title: "An alias has no anchor",
		Cause:  "An alias refers to an anchor that is not defined earlier in its document. An anchor of one document is not visible in the next.",
		Advice: "Define the anchor earlier in the same document.",
	},
	{
		Code: "alias-cycle", Severities: errors, Title: "An alias contains itself",
		Cause:  "An alias refers to a value that contains the alias.",
		Advice: "Remove the alias.",
	},
	{
		Code: "alias-bomb", Severities: errors, Title: "Aliases expand to too much",
		Cause:  "Aliases of aliases expand to more values than a real manifest has.",
		Advice: "Write the values out, or use fewer aliases.",
	},
	{
		Code: "bad-merge", Severities: errors, Title: "The value of a merge key is not a map",
		Cause:  "The value of a merge key (<<) is neither a map nor a list of maps.",
		Advice: "Merge a map, or a list of maps.",
	},
	{
		Code: "written-anew", Severities: warnings, Title: "A document could not be edited in place",
		Cause:  "A policy changes a document with rare YAML, such as keys without values in braces, so the whole document is written anew. The values are right, but comments may be moved or lost, and the layout differs.",
		Advice: "Write the maps, lists and scalars at the position in their usual forms, without merge keys and tags. Anchors, aliases and comments can stay.",
	},
	{
		Code: "yaml-directive", Severities: errors, Title: "The document has a YAML directive",
		Cause:  "Lines that start with % at the beginning of a document are directives; kubectl does not accept them.",
		Advice: "Remove the line.",
	},
	{
		Code: "separator-content", Severities: errors, Title: "Content follows ---",
		Cause:  "Only a comment may follow --- on the same line; kubectl accepts nothing else.",
		Advice: "Put the content on the next line.",
	},
	{
		Code: "after-document-end", Severities: errors, Title: "Text follows the end of a document",
		Cause:  "Text follows the ... that ends a document, without a --- between them. Other YAML parsers would drop the text.",
		Advice: "Put --- before the next document, or remove the dots.",
	},
	{
		Code: "not-an-object", Severities: errors, Title: "A document is not an object",
		Cause:  "The document, or an item of a List, is a list or a single value.",
		Advice: "Write a map with apiVersion and kind.",
	},
	{
		Code: "bad-items", Severities: errors, Title: "The items of a List are not a list",
		Cause:  "The field items of a List or ResourceList is not a list.",
		Advice: "Write the items as a list of objects.",
	},
	{
		Code: "not-utf8", Severities: errors, Title: "The text is not UTF-8",
		Cause:  "The file has bytes that are not valid UTF-8.",
		Advice: "Convert the file to UTF-8.",
	},
	{
		Code: "utf-16", Severities: errors, Title: "The text is UTF-16 or UTF-32",
		Cause:  "The file is encoded as UTF-16 without a byte order mark, or as UTF-32, which kubectl does not read, either.",
		Advice: "Convert the file to UTF-8.",
	},
	{
		Code: "control-character", Severities: errors, Title: "The text contains a control character",
		Cause:  "The text contains a control character, which YAML does not allow.",
		Advice: "Remove it, or write it as an escape in a double-quoted string.",
	},
	{
		Code: "too-deep", Severities: errors, Title: "Maps and lists nest too deeply",
		Cause:  "Maps and lists nest more deeply than in any object of Kubernetes.",
		Advice: "Flatten the object.",
	},
	{
		Code: "too-large", Severities: errors, Title: "The input is too large",
		Cause:  "The input is larger than 2 GiB.",
		Advice: "Split it into several files.",
		Unseen: "a test would need 2 GiB of memory",
	},
	{
		Code: "unsupported-yaml", Severities: errors, Title: "The YAML cannot be rewritten",
		Cause:  "Policies change the document, but the result cannot be written into its text without loss.",
		Advice: "Write the document without anchors, aliases, tags and keys over several lines.",
		Unseen: "no document is known that causes it; fuzzing searches for one",
	},
}

var objects = []Entry{
	{
		Code: "manifest-invalid", Severities: errors, Title: "The manifest is not a valid object",
		Cause:  "An API server could not read the object: apiVersion, kind or name is missing, or a field has a value of the wrong type.",
		Advice: "Correct the field that the message names.",
	},
	{
		Code: "manifest-defined-twice", Severities: errors, Title: "Two manifests are the same object",
		Cause:  "Two manifests have the same kind, namespace and name, so their results would have the same key.",
		Advice: "Remove one of the two.",
	},
	{
		Code: "document-count", Severities: errors, Title: "The text is not exactly one document",
		Cause:  "A function of the Terraform provider takes exactly one manifest, and the text has zero or several documents.",
		Advice: "Use the function split, which returns one manifest for each document.",
	},
	{
		Code: "schema-missing", Severities: warningsOrErrors, Unsure: true, Title: "The schema of the kind is not known",
		Cause:  "Preadmit has no schema of the kind, so policies see fewer fields than in a cluster. It is an error if a policy merges into anything but metadata.",
		Advice: "Give the CustomResourceDefinition of the kind as context, or the cluster's OpenAPI document.",
	},
	{
		Code: "webhook-not-deterministic", Severities: warnings, Unsure: true, Title: "A webhook gave two answers to the same request",
		Cause:  "A webhook of --webhook is asked twice. Its answers differ, so the output would differ from run to run, and from what a cluster holds.",
		Advice: "Record the answers with --record-webhooks, and use them with --webhook-answers.",
	},
	{
		Code: "webhook-unknown", Severities: infosOrWarnings, Title: "Answers are given for a webhook that is not there",
		Cause:  "The option webhook, or a recorded answer (then it is a note), names a webhook or a MutatingWebhookConfiguration, but the policies, the context and the manifests have none of this name. So nothing is called, and no answer is used.",
		Advice: "Correct the name, or give the MutatingWebhookConfiguration as context.",
	},
	{
		Code: "webhook-not-recorded", Severities: warnings, Title: "Answers with values of Secrets were not recorded",
		Cause:  "The answer of a webhook contains a value of a Secret, or two requests that differ only in such values have different answers. --record-webhooks masks the values of Secrets, so nothing could replay these answers, and they are left out.",
		Advice: "Record it with --record-secrets, to a file that stays secret.",
	},
	{
		Code: "webhook-answer-missing", Severities: errorsOrInfos, Title: "The answer of a webhook is not known",
		Cause:  "A server would call a mutating webhook whose answers are recorded, but this request is not among them. The message says what has changed since the nearest recorded request. It is a note if only the check whether policies change their own output again lacks the answer.",
		Advice: "Record the answers again.",
	},
	{
		Code: "value-not-stored", Severities: infos, Title: "A value is not stored as it is written",
		Cause:  "A server drops the value or stores it in another form: an empty list or map, false, 0 or \"\" where that equals a missing field, a quantity such as 1000m, stringData. A cluster accepts such a value. Terraform's kubernetes_manifest fails if the server returns another value than planned.",
		Advice: "Do nothing, unless you use kubernetes_manifest: then remove the value, write what the server stores, or set the option normalize.",
	},
	{
		Code: "refusal-averted", Severities: infos, Title: "Policies repair an object that a server would refuse",
		Cause:  "A server accepts the object because of what a policy changes in it. Without the policies, it would refuse the object with this text. `check`, `diff`, `explain` and `report` say so, with the values that the rule reads of the changed object.",
		Advice: "Do nothing, unless the manifest must be right for clusters without the policies: then write the value into it.",
	},
	{
		Code: "value-not-written", Severities: warnings, Unsure: true, Title: "No manifest can have a value of a policy",
		Cause:  "A server keeps metadata.deletionTimestamp and metadata.deletionGracePeriodSeconds if a policy sets them, but drops them from manifests. So the cluster's object would differ from the output.",
		Advice: "Remove the field from the policy.",
	},
	{
		Code: "not-viewed", Severities: infos, Title: "Policies never see the manifest",
		Cause:  "Servers run no policies on objects of this kind, so there is no view to show.",
		Advice: "No action is needed.",
	},
	{
		Code: "crd-invalid", Severities: errors, Title: "The CustomResourceDefinition is not valid",
		Cause:  "A mistake in the CustomResourceDefinition makes its schema unusable.",
		Advice: "Correct the field that the message names.",
	},
	{
		Code: "openapi-invalid", Severities: errors, Title: "The OpenAPI document is not valid",
		Cause:  "A document given as OpenAPI is not an OpenAPI v3 document in JSON.",
		Advice: "Give what `kubectl get --raw /openapi/v3/apis/apps/v1` prints.",
	},
}

var policies = []Entry{
	{
		Code: "policy-invalid", Severities: errors, Title: "The policy is not valid",
		Cause:  "A field of the policy or binding is missing or has a value that a cluster would refuse. For the API server's own policies the text is the server's.",
		Advice: "Correct the field that the message names.",
	},
	{
		Code: "policy-field-unknown", Severities: errorsOrWarnings, Title: "The policy has an unknown field",
		Cause:  "The policy has a field that its kind does not have in this version. For mutators of Gatekeeper it is a warning, because an API server drops the field.",
		Advice: "Correct the name of the field, or remove it.",
	},
	{
		Code: "policy-kind-unknown", Severities: errorsOrWarnings, Unsure: true, Title: "The kind is not a policy",
		Cause:  "A document that was given as a policy has a kind that belongs to no policy language.",
		Advice: "Correct apiVersion and kind, or give the document as context.",
	},
	{
		Code: "policy-version-unknown", Severities: errors, Title: "The version of the policy is not served",
		Cause:  "The given version of Kubernetes or Kyverno does not serve the apiVersion of the policy.",
		Advice: "Use a version that is served, or set the version of the cluster with --kubernetes-version.",
	},
	{
		Code: "policy-defined-twice", Severities: errors, Title: "Two policies have the same name",
		Cause:  "Two different policies or bindings have the same name. A cluster can hold only one of them.",
		Advice: "Remove one of the two.",
	},
	{
		Code: "expression-invalid", Severities: errors, Title: "An expression does not compile",
		Cause:  "An expression has a syntax error (CEL or JMESPath) or a type error (CEL).",
		Advice: "Correct the expression; the caret shows the position.",
	},
	{
		Code: "policy-without-binding", Severities: warnings, Title: "The policy has no binding",
		Cause:  "A MutatingAdmissionPolicy does nothing without a binding. For functions of the Terraform provider it is an error.",
		Advice: "Give a MutatingAdmissionPolicyBinding that names the policy in spec.policyName.",
	},
	{
		Code: "binding-without-policy", Severities: warnings, Title: "The binding has no policy",
		Cause:  "A MutatingAdmissionPolicyBinding names a policy that was not given.",
		Advice: "Give the policy as well, or correct spec.policyName.",
	},
	{
		Code: "policy-bound", Severities: infos, Title: "The only policy is applied without a binding",
		Cause:  "The functionConfig is a policy without a binding, so the policy applies to all resources that it matches.",
		Advice: "Nothing to do here. In a cluster, the policy needs a binding.",
	},
	{
		Code: "policy-not-mutating", Severities: infosOrWarnings, Title: "The policy does not mutate",
		Cause:  "The policy only validates, generates or verifies, or does not run at admission. It changes no manifest, so preadmit ignores it. It is a warning if the kind of the policy is made for mutations.",
		Advice: "Leave the policy out to avoid the message.",
	},
	{
		Code: "rule-not-mutating", Severities: infos, Title: "The rule does not mutate",
		Cause:  "A rule of a Kyverno policy validates, generates or verifies, so preadmit does not run it.",
		Advice: "No action is needed.",
	},
	{
		Code: "path-without-policy", Severities: errors, Title: "The path holds no policy",
		Cause:  "A directory or pattern that an option names for policies, or all files that it names, hold objects, but no policy or binding, nor any other object of a policy language. Policies may have moved, and a check without them would pass. A snapshot of a cluster may have no policies; `preadmit snapshot --from` must find some.",
		Advice: "Correct the path. Give params, Namespaces and CustomResourceDefinitions as context. If there may be no policy, set --allow-no-policies, allowNoPolicies or allow_no_policies.",
	},
	{
		Code: "no-policies", Severities: warningsOrErrors, Unsure: true, Title: "No policy was given",
		Cause:  "Neither the options nor the manifests contain a policy, so nothing changes. It is an error for preadmit render without files, because Helm does not show the warnings of post-renderers, for preadmit cmp generate, because Argo CD does not show those of plugins, and for functions of the Terraform provider, unless the option allow_no_policies is set.",
		Advice: "Give policies with -p, in PREADMIT_POLICIES, or among the manifests. For preadmit render, - names standard input.",
	},
	{
		Code: "no-objects", Severities: warnings, Title: "The input has no objects for a cluster",
		Cause:  "All documents of the input are for client programs, such as kustomizations and objects with the annotation config.kubernetes.io/local-config. So nothing changes. kustomize passes no resources to functions under generators.",
		Advice: "In a kustomization, name preadmit under transformers. Otherwise check the program that should print the manifests.",
	},
	{
		Code: "policy-for-plain", Severities: errors, Title: "The policy needs Kubernetes objects",
		Cause:  "With --plain the input is any JSON or YAML, but the policy works only on objects of Kubernetes.",
		Advice: "Remove --plain, or use a mutation tree.",
	},
	{
		Code: "policy-draft", Severities: warnings, Title: "The policy is a draft",
		Cause:  "The policy has the form of a proposal, which no API server accepts. Preadmit runs it anyway.",
		Advice: "Rewrite it with `preadmit convert`.",
	},
	{
		Code: "policy-field-lost", Severities: warnings, Title: "A field is lost in the conversion",
		Cause:  "The policy language that the policy is converted to has no equivalent of the field.",
		Advice: "If the field matters, express it in another way.",
	},
	{
		Code: "policy-nested-maps", Severities: warnings, Title: "API servers refuse the result",
		Cause:  "The converted expression has map literals inside lists or maps. API servers convert only the first level of them.",
		Advice: "Write Object literals instead of maps.",
	},
	{
		Code: "policy-not-convertible", Severities: errors, Title: "The policy cannot be converted",
		Cause:  "A part of the policy has no equivalent in the policy language that it is converted to.",
		Advice: "Change that part as the message says, or keep the policy as it is.",
	},
	{
		Code: "policy-converted-almost", Severities: infosOrWarnings, Title: "The converted policy may differ",
		Cause:  "A part of the policy is converted to something that is equivalent only under the condition in the message.",
		Advice: "Check the condition, and run the conversion with --verify.",
	},
	{
		Code: "conversion-differs", Severities: errors, Title: "The converted policies behave differently",
		Cause:  "The original and the converted policies were run on the object, and the results differ in the field that the message names.",
		Advice: "Write that part of the policy by hand, and please report the difference.",
	},
	{
		Code: "policy-needs-flag", Severities: warnings, Title: "Kyverno accepts the policy only with a flag",
		Cause:  "Kyverno refuses the policy unless its admission controller has the flag that the message names.",
		Advice: "Set the flag in the cluster, or remove the part of the policy that needs it.",
	},
	{
		Code: "values-without-policy", Severities: warnings, Title: "Values are given for a missing policy",
		Cause:  "A document given with --values has values for a policy or a rule that was not given, so they have no effect.",
		Advice: "Correct the name, or give the policy as well.",
	},
	{
		Code: "exception-without-policy", Severities: warnings, Title: "An exception names a missing policy",
		Cause:  "A PolicyException names a policy or a rule that was not given, so the exception has no effect.",
		Advice: "Correct the name, or give the policy as well.",
	},
	{
		Code: "values-invalid", Severities: errors, Title: "The values for policies are not valid",
		Cause:  "A document given with --values or --user-info, or a ProviderResponse, has an unknown field or a value of the wrong type.",
		Advice: "Write values in the form of Kyverno's command line, and a ProviderResponse as a provider sends it to Gatekeeper.",
	},
	{
		Code: "mutators-conflict", Severities: warnings, Title: "Gatekeeper disables mutators that are in conflict",
		Cause:  "The locations of two mutators disagree about a field: one treats it as a map and the other as a list, as lists with different keys, or one as a scalar and the other as a parent. Gatekeeper disables both mutators for all their kinds.",
		Advice: "Correct the location that is wrong, or merge the mutators.",
	},
	{
		Code: "mutator-fails", Severities: warnings, Title: "A mutator blocks every request that it matches",
		Cause:  "Gatekeeper accepts the mutator. Gatekeeper or the API server then refuses every request that the mutator matches.",
		Advice: "Correct the field that the message names.",
	},
	{
		Code: "criterion-ignored", Severities: warnings, Title: "A criterion does not mean what it seems to",
		Cause:  "Gatekeeper reads a criterion differently from how it looks: an unknown scope matches everything, and * in applyTo or a pattern in match.kinds is taken as a literal name.",
		Advice: "Write the criterion as the message says.",
	},
	{
		Code: "number-rounded", Severities: warnings, Title: "A number is rounded",
		Cause:  "Gatekeeper converts the numbers that a mutator writes to floating point, which cannot represent this integer.",
		Advice: "Write the number as a string if the field accepts strings.",
	},
}

var streams = []Entry{
	{
		Code: "no-manifest", Severities: infos, Title: "A file in a directory has no manifest",
		Cause:  "A directory contains files without Kubernetes objects: templates and values of charts, kustomizations and their patches, configuration of other programs. Preadmit skips them. It does not skip a file that looks like an object, or a file that is named directly.",
		Advice: "List the files with `-v`. Render charts and kustomizations with `--build` or `preadmit exec`.",
	},
	{
		Code: "not-rendered", Severities: infos, Title: "Charts and kustomizations are not rendered",
		Cause:  "A directory contains charts or kustomizations. Preadmit starts the programs that render them only on request, so it reads the files in the directory as they are. With `--build`, the note is about what no program renders: a component that no kustomization uses (the note names the Kustomizations of Flux and Applications of Argo CD that do), a chart by itself that is a dependency of another chart, and a manifest in a chart that is neither in `templates` nor in `crds`, such as an example. It is also about the objects that Helm creates only for `helm test`: installing a release does not create them.",
		Advice: "Render all of them with `--build`, or one of them with `preadmit exec`. If a dependency is also installed by itself, write its releases into `.preadmit.yaml`. To evaluate manifests that nothing renders, name them in a run without `--build`. To evaluate the tests of a chart, too, use `preadmit exec -- helm template CHART`.",
	},
	{
		Code: "rendering-not-deterministic", Severities: infos, Title: "A value is not the same in two renderings",
		Cause:  "A template of Helm uses a function such as `randAlphaNum`, `genSelfSignedCert` or `now`. `diff --base --build` renders charts that differ a second time, and does not compare the values, and the names of objects, that vary in both states. Of a text with several lines, it does not compare the lines that vary.",
		Advice: "Give the chart a fixed value in the values of the release.",
	},
	{
		Code: "made-in-cluster", Severities: infos, Title: "The cluster creates more objects",
		Cause:  "Controllers in the cluster create objects from Flux's Kustomizations and HelmReleases, and from Argo CD's Applications and ApplicationSets. Policies change these objects in the cluster, but the input does not contain them. The message names fields such as `patches` and `postBuild`, which change what a directory has and are not applied, with the number of objects that have each of them. The directories themselves are evaluated if `--build` renders them.",
		Advice: "Render them and pass the output to preadmit, as in `preadmit exec -- helm template CHART`.",
	},
	{
		Code: "path-unreadable", Severities: errors, Title: "A file cannot be read",
		Cause:  "A file or directory does not exist, cannot be read, or contains no manifests.",
		Advice: "Correct the path. The message names the directory that the path is relative to.",
	},
	{
		Code: "path-outside", Severities: errors, Title: "A path leads out of the allowed directories",
		Cause:  "A path in a functionConfig leads out of both the working directory and the package.",
		Advice: "Move the file into one of these directories, or name it with the flag -p or in PREADMIT_POLICIES.",
	},
	{
		Code: "link-outside", Severities: []Severity{Error, Warning}, Title: "A link leads out of its directory",
		Cause:  "A directory contains a symbolic link to a directory outside of it. Preadmit does not follow the link, because it may lead anywhere. For manifests it is a warning, for policies an error.",
		Advice: "If the files there matter, name the target directory as well.",
	},
	{
		Code: "path-unwritable", Severities: errors, Title: "A file cannot be written",
		Cause:  "A file that an option names cannot be written, or must not be: the run has read it, it has changed since, another output goes to it, or it is outside the named directory.",
		Advice: "Name another file, or check that its directory exists and is writable. If the file has changed during the run, run preadmit again.",
	},
	{
		Code: "file-kept", Severities: warnings, Title: "A file in the output directory is not removed",
		Cause:  "The file `.preadmit-sums` in the directory of `--output-dir` says that an earlier run wrote the file, and this run does not write it. `--prune` does not remove it, because it has changed since, is a link, or is input of the run.",
		Advice: "Remove the file yourself. To keep it, take its line out of `.preadmit-sums`.",
	},
	{
		Code: "file-not-copied", Severities: warnings, Title: "A file is not copied to the output directory",
		Cause:  "A directory has a symbolic link that leads out of it, that is absolute or that leads nowhere, or a file that is no regular one, such as a pipe. `--copy-others` copies only files and relative links in the directory.",
		Advice: "Copy the file yourself, or replace the link by a file or by a relative link in the directory.",
	},
	{
		Code: "hidden-copied", Severities: infos, Title: "A hidden file is copied to the output directory",
		Cause:  "`--copy-others` copies hidden files only if a kustomization in the directory uses them, such as the file `.env` of a `secretGenerator`. Such files often have secrets. Their modes are kept.",
		Advice: "If the file has secrets, keep the output directory as secret as the input, or exclude the file with `.preadmitignore`.",
	},
	{
		Code: "sums-malformed", Severities: errors, Title: "The sums of an output directory cannot be read",
		Cause:  "The file `.preadmit-sums` in the directory of `--output-dir` has a line that is not a sum of `sha256sum` with a path in the directory. Nothing is written, because `--prune` would not know which files earlier runs wrote.",
		Advice: "Restore the file. Without it, `--prune` removes nothing that earlier runs wrote.",
	},
	{
		Code: "output-unwritable", Severities: errors, Title: "The output cannot be written",
		Cause:  "Standard output is closed, the disk is full, or the output goes into a file that the same run has read.",
		Advice: "Check the program that reads the output, or redirect the output into a file that is not among the manifests.",
	},
	{
		Code: "empty-stream", Severities: errors, Title: "The input has no manifests",
		Cause:  "The input has no manifests. It is an error because some clients delete everything when the output is empty.",
		Advice: "Check the program that should print the manifests. With --allow-empty, empty input is allowed.",
	},
	{
		Code: "list-missing", Severities: errors, Title: "The input is not a ResourceList",
		Cause:  "As a KRM function, preadmit expects a ResourceList on standard input, but the input is empty or something else.",
		Advice: "Use `preadmit render` for manifests.",
	},
	{
		Code: "command-failed", Severities: errors, Title: "A renderer fails",
		Cause:  "The program that should print the manifests could not be started, or its exit status was not 0. Its own messages come first.",
		Advice: "Correct the mistake that the program reports. Run it alone to see more.",
	},
	{
		Code: "release-unnamed", Severities: errors, Title: "The release of a chart has no name",
		Cause:  "Helm needs a name for the release, but neither Argo CD nor a parameter sets it.",
		Advice: "Set ARGOCD_APP_NAME, as Argo CD does, or the parameter release-name.",
	},
}

var options = []Entry{
	{
		Code: "version-nearest", Severities: warnings, Title: "The version of the cluster is unknown", Unsure: true,
		Cause:  "The environment variable KUBE_VERSION of Argo CD, or a document of kind Cluster, has a version of Kubernetes that preadmit does not know, and preadmit uses the nearest version that it knows. Or the cluster has another version of Kyverno or of Gatekeeper than the one whose behaviour preadmit has.",
		Advice: "Update preadmit, or set a version with `--kubernetes-version`.",
	},
	{
		Code: "option-value", Severities: errors, Title: "An option has a wrong value",
		Cause:  "The option does not accept this value.",
		Advice: "Use one of the values that the message names.",
	},
	{
		Code: "option-unknown", Severities: errors, Title: "The option does not exist",
		Cause:  "A configuration file, a functionConfig, or an object with options has a field that is not an option.",
		Advice: "Correct the name; the message suggests the nearest one.",
	},
	{
		Code: "baseline-invalid", Severities: errors, Title: "A baseline cannot be used",
		Cause:  "A file with findings of the past has another form than preadmit writes.",
		Advice: "Write it anew with `--write-baseline`, and read the difference.",
	},
	{
		Code: "function-config-kind", Severities: errors, Title: "The functionConfig is of another kind",
		Cause:  "The functionConfig is not a Preadmit, a ConfigMap or a policy.",
		Advice: "Use one of these.",
	},
	{
		Code: "parameter-unknown", Severities: errors, Title: "The parameter does not exist",
		Cause:  "An application of Argo CD sets a parameter that the plugin does not have.",
		Advice: "Correct the name; `preadmit cmp parameters` lists them.",
	},
	{
		Code: "parameter-unused", Severities: errors, Title: "A parameter has no use here",
		Cause:  "An application of Argo CD sets a parameter that does not fit its directory, such as a parameter for charts where there is no chart.",
		Advice: "Remove the parameter, or check the directory of the application.",
	},
	{
		Code: "parameter-value", Severities: errors, Title: "A parameter has a wrong value",
		Cause:  "A parameter of an application of Argo CD does not accept its value.",
		Advice: "Use a value of the kind that the message names.",
	},
	{
		Code: "command-unknown", Severities: errors, Title: "The command does not exist",
		Cause:  "The first argument is not the name of a command.",
		Advice: "See `preadmit --help`.",
	},
	{
		Code: "flag-unknown", Severities: errors, Title: "The flag does not exist",
		Cause:  "The command does not have the flag.",
		Advice: "See the command's --help.",
	},
	{
		Code: "argument-invalid", Severities: errors, Title: "An argument is not possible here",
		Cause:  "The command or function does not take such an argument.",
		Advice: "See the command's --help.",
	},
	{
		Code: "usage", Severities: errors, Title: "The command line is not valid",
		Cause:  "The command line cannot be understood, for instance because a flag has no value.",
		Advice: "See the command's --help.",
	},
}

var tests = []Entry{
	{
		Code: "test-failed", Severities: errors, Title: "A test fails",
		Cause:  "The policies do not do what a test expects; the message shows the difference.",
		Advice: "Correct the policies, or write their current results into the test with `preadmit test --update`.",
	},
	{
		Code: "no-tests", Severities: errors, Title: "No tests were found",
		Cause:  "No preadmit-test.yaml and no kyverno-test.yaml was found.",
		Advice: "Write a test, or name the directory of the tests.",
	},
	{
		Code: "test-kind", Severities: errors, Title: "The document is not a test",
		Cause:  "A document in a preadmit-test.yaml is not a PreadmitTest.",
		Advice: "Correct apiVersion and kind.",
	},
	{
		Code: "test-field", Severities: warningsOrErrors, Title: "A field of a test cannot be used",
		Cause:  "A kyverno-test.yaml has a field that preadmit does not support. It is an error if the value of the field is invalid.",
		Advice: "Check that the test does not depend on the field, or correct the value.",
	},
	{
		Code: "test-other-results", Severities: infos, Title: "A test expects results that are not mutations",
		Cause:  "A kyverno-test.yaml expects results of policies or rules that change nothing, such as rules that validate. Preadmit does not run them.",
		Advice: "Run them with `kyverno test`.",
	},
}

// tooMuch says why no golden shows a limit on the size of the input.
const tooMuch = "the input of a golden would have to be that large; the tests with hostile input reach the limit"

var limits = []Entry{
	{
		Code: "limit-input-size", Severities: errors, Title: "The input is too large",
		Cause:  "The files of a run are together larger than 64 MiB, or than the option input-limit.",
		Advice: "Run preadmit on parts of the input, or raise the limit with the option input-limit.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-documents", Severities: errors, Title: "Too many documents",
		Cause:  "A file has more than 100,000 documents. The limit grows in proportion to the option input-limit.",
		Advice: "Run preadmit on parts of the input, or raise the limit with the option input-limit.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-yaml-size", Severities: errors, Title: "A document with rare YAML is too large",
		Cause:  "A document with rare YAML, such as a list as a key, is larger than 8 MiB. Reading such a document takes many times as much memory.",
		Advice: "Write the document with maps, lists and scalars in their usual forms, or split it.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-messages", Severities: errors, Title: "Too many mistakes",
		Cause:  "A file has more than 500 mistakes, so preadmit does not read the rest of it.",
		Advice: "Correct the reported mistakes, and run preadmit again.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-object-size", Severities: errors, Title: "Policies make an object too large",
		Cause:  "Policies add more than 16 MiB to an object, five times what an API server accepts.",
		Advice: "Correct the policy. A policy that copies parts of an object into themselves makes it grow with every step.",
	},
	{
		Code: "limit-expression", Severities: errors, Title: "An expression does too much",
		Cause:  "An expression reads or creates more values than preadmit allows. For CEL the cost limits of an API server apply as well.",
		Advice: "Correct the expression: do not double a value repeatedly, and do not iterate over a list for every item of a list.",
	},
	{
		Code: "limit-patch", Severities: errors, Title: "A JSON Patch does too much",
		Cause:  "A JSON Patch has more than 100,000 operations, copies more than 3 MiB, which an API server would not accept, or pads lists with more nulls than a real object has.",
		Advice: "Split the patch, or write the values out instead of copying them.",
	},
	{
		Code: "limit-foreach", Severities: errors, Title: "A foreach does too much",
		Cause:  "The foreach of a rule patches a large object for too many elements of a list.",
		Advice: "Select fewer elements, or patch them in one step.",
	},
	{
		Code: "limit-targets", Severities: errors, Title: "Policies change other objects too often",
		Cause:  "Many objects trigger policies with mutate.targets or evaluation.mutateExisting, and each of them has many targets: the product is the number of changes.",
		Advice: "Let the policies select fewer targets for each trigger, or run preadmit on parts of the manifests.",
		Unseen: "the input would need tens of thousands of pairs of trigger and target",
	},
}

var faults = []Entry{
	{
		Code: "internal", Severities: errors, Title: "A defect of preadmit",
		Cause:  "Preadmit has found an inconsistency in its own results, and stops instead of printing a wrong result.",
		Advice: "Please report the message with the manifest and the policies.",
		Unseen: "an input that leads to this message would be a defect",
	},
}
