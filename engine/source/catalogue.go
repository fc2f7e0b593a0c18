package source

// Entry explains one code of diagnostics.
type Entry struct {
	Code string
	// Severities are those that the code occurs with, the usual one first, but for what the
	// option strict makes of them.
	Severities []Severity
	// Title names the problem in a few words, for lists of rules.
	Title string
	// Cause says in whole sentences what is wrong, Advice what to do about it.
	Cause, Advice string
	// Unsure says that preadmit could not tell what a cluster would do. With the option
	// strict, such a warning is an error.
	Unsure bool
	// Unseen says why no input that a test can give leads to the code; it is empty for
	// all others.
	Unseen string
}

// Section is a part of the catalogue.
type Section struct {
	Title   string
	Entries []Entry
}

var (
	errors           = []Severity{Error}
	warnings         = []Severity{Warning}
	infos            = []Severity{Info}
	warningsOrErrors = []Severity{Warning, Error}
	errorsOrWarnings = []Severity{Error, Warning}
)

// Catalogue has every code of the program. The reference page for users is made of it,
// and a test compares it with the codes in the source, both ways.
var Catalogue = []Section{
	{"Reading YAML and JSON", reading},
	{"Objects and schemas", objects},
	{"Policies", policies},
	{"Running policies", running},
	{"Checking policies", checking},
	{"Files and streams", streams},
	{"Options and the command line", options},
	{"Tests of policies", tests},
	{"Limits", limits},
	{"Faults of preadmit", faults},
}

// Lookup finds the entry of a code.
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
		Code: "template", Severities: errors, Title: "A template is no manifest",
		Cause:  "The document cannot be read, and has actions of a Go template, as Helm's charts have: `{{ … }}` where a line, an item or a value begins.",
		Advice: "Render it first, and give what comes out: `preadmit exec -- helm template CHART`.",
	},
	{
		Code: "tab-indentation", Severities: errors, Title: "A tab is used as indentation",
		Cause:  "YAML does not allow tabs in indentation.",
		Advice: "Indent with spaces.",
	},
	{
		Code: "duplicate-key", Severities: errors, Title: "A key is repeated",
		Cause:  "A map has the same key twice. Readers differ in which of the two they keep.",
		Advice: "Remove one of the two.",
	},
	{
		Code: "null-key", Severities: errors, Title: "A key is null",
		Cause:  "The key of an entry is null, or is left out.",
		Advice: "Quote the key if it is meant as text.",
	},
	{
		Code: "bad-key", Severities: errors, Title: "A key is not text",
		Cause:  "The key is a value that JSON has no key for, such as a list or a number that is not finite.",
		Advice: "Quote the key.",
	},
	{
		Code: "boolean-key", Severities: warnings, Title: "A key is read as a boolean",
		Cause:  "In YAML 1.1, which kubectl reads, words like y, yes, on and off are booleans, as keys, too.",
		Advice: "Quote the key if it is meant as text.",
	},
	{
		Code: "not-finite", Severities: errors, Title: "A number is not finite",
		Cause:  "JSON, in which objects are sent to API servers, has no infinity and no NaN.",
		Advice: "Quote the value if it is meant as text.",
	},
	{
		Code: "bad-tag", Severities: errors, Title: "A value does not fit its tag",
		Cause:  "A YAML tag such as !!int comes before a value of another type.",
		Advice: "Correct the value, or remove the tag.",
	},
	{
		Code: "unknown-anchor", Severities: errors, Title: "An alias has no anchor",
		Cause:  "An alias refers to an anchor that its document does not have. Anchors do not reach across ---.",
		Advice: "Define the anchor earlier in the same document.",
	},
	{
		Code: "alias-cycle", Severities: errors, Title: "An alias contains itself",
		Cause:  "An alias refers to a value that contains the alias.",
		Advice: "Remove the alias.",
	},
	{
		Code: "alias-bomb", Severities: errors, Title: "Aliases expand to too much",
		Cause:  "Aliases of aliases expand to more values than any manifest has.",
		Advice: "Write the values out, or use fewer aliases.",
	},
	{
		Code: "bad-merge", Severities: errors, Title: "A merge key has no map",
		Cause:  "The value of a merge key (<<) is neither a map nor a list of maps.",
		Advice: "Merge a map, or a list of maps.",
	},
	{
		Code: "written-anew", Severities: warnings, Title: "Text could not be edited in place",
		Cause:  "A document with YAML that people hardly write, such as keys without values in braces, is written anew if it changes. Its values are right, but comments may have moved or gone, and the layout is another one.",
		Advice: "Write maps, lists and scalars in their usual forms at the position. Anchors, aliases, tags and comments are no reason for it.",
	},
	{
		Code: "yaml-directive", Severities: errors, Title: "A YAML directive",
		Cause:  "Lines that start with % at the beginning of a document are directives; kubectl does not accept them.",
		Advice: "Remove the line.",
	},
	{
		Code: "separator-content", Severities: errors, Title: "Content after ---",
		Cause:  "Only a comment may follow --- on its line; kubectl accepts nothing else.",
		Advice: "Put the content on the next line.",
	},
	{
		Code: "after-document-end", Severities: errors, Title: "Text after the end of a document",
		Cause:  "A document ends in ..., and what follows is not a new one; other readers would lose it.",
		Advice: "Put --- before the next document, or remove the dots.",
	},
	{
		Code: "not-an-object", Severities: errors, Title: "A document is not an object",
		Cause:  "The document, or an item of a List, is a list or a single value.",
		Advice: "Write a map with apiVersion and kind.",
	},
	{
		Code: "bad-items", Severities: errors, Title: "The items of a List are not a list",
		Cause:  "The field items of a List or ResourceList is something else than a list.",
		Advice: "Write the items as a list of objects.",
	},
	{
		Code: "not-utf8", Severities: errors, Title: "The text is not UTF-8",
		Cause:  "The file has bytes that are not valid UTF-8.",
		Advice: "Convert the file to UTF-8.",
	},
	{
		Code: "utf-16", Severities: errors, Title: "The text is UTF-16",
		Cause:  "The file is encoded as UTF-16, as some editors and PowerShell write it.",
		Advice: "Convert the file to UTF-8.",
	},
	{
		Code: "control-character", Severities: errors, Title: "A control character",
		Cause:  "The text contains a control character, which YAML does not allow.",
		Advice: "Remove it, or write it as an escape in a double-quoted string.",
	},
	{
		Code: "too-deep", Severities: errors, Title: "Too many levels",
		Cause:  "Maps and lists nest deeper than in any object of Kubernetes.",
		Advice: "Flatten the object.",
	},
	{
		Code: "too-large", Severities: errors, Title: "The input is too large",
		Cause:  "The input is larger than 2 GiB.",
		Advice: "Split it into several files.",
		Unseen: "a test would need 2 GiB of memory",
	},
	{
		Code: "unsupported-yaml", Severities: errors, Title: "YAML that cannot be rewritten",
		Cause:  "Policies change the document, but the result cannot be written into its text without loss.",
		Advice: "Write the document without anchors, aliases, tags and keys over several lines.",
		Unseen: "no document is known that needs it; those that fuzzing finds are made to work",
	},
}

var objects = []Entry{
	{
		Code: "manifest-invalid", Severities: errors, Title: "The manifest is not a valid object",
		Cause:  "An API server could not read the object: apiVersion, kind or name are missing, or a field has a value of the wrong type.",
		Advice: "Correct the field that the message names; the kind says what it must be.",
	},
	{
		Code: "manifest-defined-twice", Severities: errors, Title: "The same object twice",
		Cause:  "Two manifests are the same object, so that their results would have the same key.",
		Advice: "Remove one of the two.",
	},
	{
		Code: "document-count", Severities: errors, Title: "Not one document",
		Cause:  "A function of the Terraform provider takes one manifest, and was given none or several.",
		Advice: "Use the function split, which makes one of each document.",
	},
	{
		Code: "schema-missing", Severities: warningsOrErrors, Unsure: true, Title: "The kind is not known",
		Cause:  "There is no schema of the kind, so that policies see less than in a cluster. It is an error if a policy merges into more than metadata.",
		Advice: "Give the CustomResourceDefinition of the kind as context, or the cluster's OpenAPI document.",
	},
	{
		Code: "value-not-stored", Severities: infos, Title: "A value is not stored as it is written",
		Cause:  "A server leaves the value out, or stores it in another form: an empty list or map, false, 0 or \"\" where that is the same as nothing, a quantity such as 1000m, stringData. A cluster does not mind. Terraform's kubernetes_manifest does: it fails where it gets back another value than it planned.",
		Advice: "Nothing need be done, but for kubernetes_manifest: leave the value out or write what the server stores, or let the option normalize do it.",
	},
	{
		Code: "not-viewed", Severities: infos, Title: "A manifest that policies never see",
		Cause:  "Policies are not run on the object, so there is no view of it.",
		Advice: "Nothing need be done.",
	},
	{
		Code: "crd-invalid", Severities: errors, Title: "The CustomResourceDefinition is not valid",
		Cause:  "The CustomResourceDefinition has something that keeps its schema from being used.",
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
		Cause:  "The policy has a field that its kind does not have in this version. An API server drops such a field of a mutator of Gatekeeper, so there it is a warning.",
		Advice: "Correct the name of the field, or remove it.",
	},
	{
		Code: "policy-kind-unknown", Severities: errorsOrWarnings, Unsure: true, Title: "The kind is not one of policies",
		Cause:  "A document that was given as a policy is of a kind that no policy language has.",
		Advice: "Correct apiVersion and kind, or give the document as context.",
	},
	{
		Code: "policy-version-unknown", Severities: errors, Title: "The version of the policy is not served",
		Cause:  "The given version of Kubernetes, or Kyverno, does not have the policy in the version of its apiVersion.",
		Advice: "Use a version that is served, or say with --kubernetes-version what the cluster is.",
	},
	{
		Code: "policy-defined-twice", Severities: errors, Title: "The same policy twice",
		Cause:  "Two policies or bindings have the same name and differ; a cluster has only one of them.",
		Advice: "Remove one of the two.",
	},
	{
		Code: "expression-invalid", Severities: errors, Title: "An expression does not compile",
		Cause:  "An expression in CEL or JMESPath has a mistake in its syntax, or in CEL in its types.",
		Advice: "Correct the expression; the caret shows where.",
	},
	{
		Code: "policy-without-binding", Severities: warnings, Title: "The policy has no binding",
		Cause:  "A MutatingAdmissionPolicy does nothing without a binding. For functions of the Terraform provider it is an error.",
		Advice: "Give a MutatingAdmissionPolicyBinding with its name in spec.policyName.",
	},
	{
		Code: "binding-without-policy", Severities: warnings, Title: "The binding has no policy",
		Cause:  "A MutatingAdmissionPolicyBinding names a policy that was not given.",
		Advice: "Give the policy as well, or correct spec.policyName.",
	},
	{
		Code: "policy-bound", Severities: infos, Title: "The lone policy is taken as bound",
		Cause:  "The functionConfig is a policy, and there is no binding of it, so it is applied to all resources that it matches.",
		Advice: "Nothing need be done; a cluster needs a binding.",
	},
	{
		Code: "policy-not-mutating", Severities: warnings, Title: "The policy does not mutate",
		Cause:  "The policy only validates, generates or verifies, or is not run at admission, so it changes no manifest and is ignored.",
		Advice: "Leave it out, if the warning is in the way.",
	},
	{
		Code: "rule-not-mutating", Severities: infos, Title: "The rule does not mutate",
		Cause:  "A rule of a Kyverno policy validates, generates or verifies, so it is left alone.",
		Advice: "Nothing need be done.",
	},
	{
		Code: "no-policies", Severities: warningsOrErrors, Unsure: true, Title: "There is no policy",
		Cause:  "Neither the options nor the manifests have a policy, so nothing changes. For functions of the Terraform provider it is an error, unless they have the option allow_no_policies.",
		Advice: "Give policies with -p, in PREADMIT_POLICIES, or among the manifests.",
	},
	{
		Code: "policy-for-plain", Severities: errors, Title: "The policy needs Kubernetes objects",
		Cause:  "With --plain the input is any JSON or YAML, and the policy is about objects of Kubernetes.",
		Advice: "Leave --plain out, or use a mutation tree.",
	},
	{
		Code: "policy-draft", Severities: warnings, Title: "The policy is a draft",
		Cause:  "The policy is in the form of a proposal, which no API server accepts. It is run all the same.",
		Advice: "Rewrite it with `preadmit convert`.",
	},
	{
		Code: "policy-field-lost", Severities: warnings, Title: "A field is left out",
		Cause:  "The field has no place in the form that the policy is converted to.",
		Advice: "Say the same by other means, if it matters.",
	},
	{
		Code: "policy-nested-maps", Severities: warnings, Title: "API servers refuse the result",
		Cause:  "The converted expression has map literals within lists or maps, of which API servers convert the first level only.",
		Advice: "Write Object literals in place of maps.",
	},
	{
		Code: "policy-not-convertible", Severities: errors, Title: "The policy cannot be converted",
		Cause:  "A part of the policy has no equivalent in the form that it is converted to.",
		Advice: "Change that part as the message says, or keep the policy as it is.",
	},
	{
		Code: "policy-converted-almost", Severities: warnings, Title: "The converted policy may differ",
		Cause:  "A part of the policy has an equivalent that is the same only if what the message says is true.",
		Advice: "Follow the message, and run the conversion with --verify.",
	},
	{
		Code: "conversion-differs", Severities: errors, Title: "The converted policies do something else",
		Cause:  "Both forms of the policies were run on the object, and the results differ in the field that the message names.",
		Advice: "Write that part of the policy by hand, and report it, please.",
	},
	{
		Code: "policy-needs-flag", Severities: warnings, Title: "Kyverno takes the policy with a flag only",
		Cause:  "Kyverno refuses the policy unless its admission controller has the flag that the message names.",
		Advice: "Set the flag in the cluster, or do without what needs it.",
	},
	{
		Code: "values-without-policy", Severities: warnings, Title: "Values for a policy that is not there",
		Cause:  "A document given with --values has values for a policy or a rule that was not given, so nothing comes of them.",
		Advice: "Correct the name, or give the policy as well.",
	},
	{
		Code: "exception-without-policy", Severities: warnings, Title: "An exception from a policy that is not there",
		Cause:  "A PolicyException names a policy or a rule that was not given, so nothing is excepted.",
		Advice: "Correct the name, or give the policy as well.",
	},
	{
		Code: "values-invalid", Severities: errors, Title: "The values for policies are not valid",
		Cause:  "A document given with --values or --user-info, or a ProviderResponse, has an unknown field or a value of the wrong type.",
		Advice: "Write it in the form that Kyverno's own command reads, or in which a provider answers Gatekeeper.",
	},
	{
		Code: "mutators-conflict", Severities: warnings, Title: "Gatekeeper disables mutators that are in conflict",
		Cause:  "The locations of two mutators take the same field for a map and a list, for lists with different keys, or for a value and what holds others. Gatekeeper disables both, for all their kinds.",
		Advice: "Correct the location that is wrong, or merge the mutators.",
	},
	{
		Code: "mutator-fails", Severities: warnings, Title: "A mutator refuses what it matches",
		Cause:  "Gatekeeper accepts the mutator, and it or the API server then refuses every request that it matches.",
		Advice: "Correct the field that the message names.",
	},
	{
		Code: "criterion-ignored", Severities: warnings, Title: "A criterion means something else",
		Cause:  "Gatekeeper reads a criterion in another way than it looks: an unknown scope is any, * in applyTo is a name, and so is a pattern in the kinds of match.",
		Advice: "Write the criterion as the message says.",
	},
	{
		Code: "number-rounded", Severities: warnings, Title: "A number is rounded",
		Cause:  "What a mutator of Gatekeeper writes goes through floating-point numbers, which cannot hold the integer.",
		Advice: "Write the number as a text if the field may hold one.",
	},
}

var running = []Entry{
	{
		Code: "denied", Severities: errors, Title: "A policy denies the manifest",
		Cause:  "The API server would refuse the object: a policy denies it, or fails on it, and its failurePolicy is Fail. The text is the server's.",
		Advice: "Correct the manifest, or the policy.",
	},
	{
		Code: "target-failed", Severities: errors, Title: "A rule with targets fails",
		Cause:  "A Kyverno rule with mutate.targets fails on one of its targets, or makes something of it that is not valid.",
		Advice: "Correct the rule, or the manifest that it changes.",
	},
	{
		Code: "tree-failed", Severities: errors, Title: "A mutation tree fails",
		Cause:  "An expression of a mutation tree cannot be evaluated on the document, or the tree changes what an object is.",
		Advice: "Correct the tree; (field || 'value') has a value where the field is missing.",
	},
	{
		Code: "not-idempotent", Severities: warningsOrErrors, Title: "Policies change their own output",
		Cause:  "The cluster runs the policies again on the output, and would then change or deny it. It is an error with --non-idempotent=fail.",
		Advice: "Have the policy check whether its change has been made already.",
	},
	{
		Code: "controller-endless", Severities: warnings, Title: "A controller makes an object for ever",
		Cause:  "A policy changes an object that a controller of Kubernetes has made, so that the controller does not know it again, or takes it for that of an earlier revision. It makes another one, which the policy changes again, and so on.",
		Advice: "Have the policy change the object whose controller it is, as a Deployment in place of its ReplicaSet, or leave the field alone.",
	},
	{
		Code: "namespace-assumed", Severities: warnings, Unsure: true, Title: "A Namespace is not known",
		Cause:  "A policy asked for a Namespace that was not given. It is assumed to have no labels but its name.",
		Advice: "Give the Namespace as context.",
	},
	{
		Code: "kyverno-differs", Severities: warnings, Unsure: true, Title: "Kyverno 1.19.0 does something else",
		Cause:  "The policy does what Kyverno's documentation says. Kyverno 1.19.0 has a defect there and does something else in a cluster, which the message names.",
		Advice: "Follow the message, so that both do the same.",
	},
	{
		Code: "exception-expires", Severities: warnings, Unsure: true, Title: "Whether an exception has expired is not known",
		Cause:  "A PolicyException counts until a time, and there is no clock, so it is taken not to have expired.",
		Advice: "Give the time with --values, as the global value time.now(), or leave the exception out.",
	},
	{
		Code: "api-call-assumed", Severities: warnings, Unsure: true, Title: "The answer to an API call is assumed",
		Cause:  "A Kyverno rule asks the cluster for objects of which the input has none: a list is taken to be empty, and an object that has a default to be missing.",
		Advice: "Give the objects as context, or the value of the context's entry with --values.",
	},
	{
		Code: "param-not-found", Severities: warnings, Unsure: true, Title: "A param is not there",
		Cause:  "The param of a binding is neither among the manifests nor given as context, and parameterNotFoundAction is Allow, so the policy does nothing.",
		Advice: "Give the param as context, or correct spec.paramRef of the binding.",
	},
	{
		Code: "name-unknown", Severities: warnings, Unsure: true, Title: "A policy names a kind that is not there",
		Cause:  "A policy names a kind, resource, group or version that is not known, and whose name is close to a known one. A policy that matches nothing does nothing.",
		Advice: "Correct the name, or give the CustomResourceDefinition as context.",
	},
	{
		Code: "webhook-unpredicted", Severities: warnings, Unsure: true, Title: "A webhook may change manifests",
		Cause:  "There is a MutatingWebhookConfiguration. What its webhooks do is not in the input, unless they run policies that are.",
		Advice: "See in a cluster what the webhook does, and leave its configuration out.",
	},
	{
		Code: "old-unused", Severities: warnings, Title: "An object before the update is not used",
		Cause:  "Objects before an update are given, but the operation is CREATE, or none of the manifests is the object after the update.",
		Advice: "Give the option operation: UPDATE, or leave them out.",
	},
	{
		Code: "old-missing", Severities: warnings, Unsure: true, Title: "The object before the update is not known",
		Cause:  "The operation is UPDATE, and there is no object before the update for some manifests. An expression that reads oldObject fails.",
		Advice: "Give the objects as they are in the cluster with the option old.",
	},
	{
		Code: "update-only", Severities: warnings, Title: "A policy acts on UPDATE only",
		Cause:  "The operation is CREATE, and a policy matches manifests but for that: it acts on their next update in a cluster.",
		Advice: "Set the operation to UPDATE and give the objects as they are in the cluster with the option old.",
	},
	{
		Code: "resource-unknown", Severities: warnings, Unsure: true, Title: "The resource of a kind is not known",
		Cause:  "Whether a policy covers the manifest depends on the plural name of its kind, which is not known.",
		Advice: "Give the CustomResourceDefinition of the kind as context.",
	},
	{
		Code: "context-cycle", Severities: errors, Title: "Manifests depend on each other",
		Cause:  "To change a manifest, policies look up another one, whose changes depend on the first.",
		Advice: "Give one of them as context instead of as a manifest.",
	},
	{
		Code: "context-failed", Severities: errors, Title: "What policies look up cannot be had",
		Cause:  "Policies look up another manifest, as a param or a namespace for instance, and that one was not admitted or is not valid.",
		Advice: "Correct that one; the error about it says what is wrong.",
	},
	{
		Code: "context-ambiguous", Severities: errors, Title: "What policies look up is defined twice",
		Cause:  "Policies look up an object that is defined more than once, differently. A cluster has only one of them.",
		Advice: "Leave out the one that is not meant, or evaluate each directory by itself with the option per-directory.",
	},
	{
		Code: "context-overridden", Severities: warnings, Title: "An object is given twice",
		Cause:  "Policies look up an object that is among the manifests and, differently, in the context. They see that of the manifests, which the cluster is about to hold.",
		Advice: "Leave out the one that is not meant.",
	},
	{
		Code: "failure-ignored", Severities: warnings, Unsure: true, Title: "A policy failed and was ignored",
		Cause:  "A policy with failurePolicy Ignore failed, so it changed nothing. A cluster lets the object pass, too.",
		Advice: "Correct the policy, or the manifest that it fails on.",
	},
	{
		Code: "interrupted", Severities: errors, Title: "The run did not finish",
		Cause:  "The run was stopped from outside.",
		Advice: "Run it again.",
	},
	{
		Code: "mutation", Severities: warnings, Title: "Policies change a field",
		Cause:  "A finding of `preadmit diff`: the policies of the cluster would change this field of the manifest.",
		Advice: "Run `preadmit render` on the manifest and commit the result.",
	},
	{
		Code: "secret-exposed", Severities: warnings, Title: "A Secret in clear text",
		Cause:  "A Secret is among the manifests of the Terraform data source, which keeps them in its state without marking them as sensitive.",
		Advice: "Give it with sensitive_manifests or manifest_files.",
	},
	{
		Code: "empty-parents", Severities: warnings, Title: "A mutator that takes values out makes something",
		Cause:  "A ModifySet with the operation prune makes what is missing on the way to its list, even an item of a list, and leaves it without the list.",
		Advice: "Add a path test with MustExist.",
	},
	{
		Code: "value-shared", Severities: warnings, Title: "A mutator changes a value in more places than one",
		Cause:  "Gatekeeper does not copy a map that a mutator assigns in several places, for instance in all containers: what another mutator changes in one of the places is changed in all.",
		Advice: "Assign each field of the value by itself.",
	},
}

var checking = []Entry{
	{
		Code: "field-undefined", Severities: warnings, Title: "The kinds do not have the field",
		Cause:  "An expression or a location leads to a field that the kinds of the policy do not have.",
		Advice: "Correct the name of the field.",
	},
	{
		Code: "type-mismatch", Severities: warnings, Title: "The field is of another type",
		Cause:  "An expression compares a field with, or sets it to, a value of another type, or a location takes it for one.",
		Advice: "Use a value of the field's type.",
	},
	{
		Code: "atomic-list", Severities: warnings, Title: "An ApplyConfiguration writes an atomic list",
		Cause:  "The list is replaced as a whole, and API servers refuse an ApplyConfiguration that writes it.",
		Advice: "Use a JSONPatch.",
	},
	{
		Code: "condition-unreachable", Severities: warnings, Title: "The condition is never true",
		Cause:  "The condition asks whether a field is missing that the API's defaults always set before policies run.",
		Advice: "Compare the field with its default.",
	},
	{
		Code: "always-fails", Severities: warnings, Title: "A policy fails on every manifest",
		Cause:  "A mutation, a condition or a rule fails on all manifests that it is evaluated for, and its failurePolicy is Ignore: nobody is told, and nothing changes.",
		Advice: "Correct the expression, or leave the kinds for which it cannot work out of the policy.",
	},
	{
		Code: "pods-only", Severities: infos, Title: "A policy acts on Pods, and there are none",
		Cause:  "A policy selects Pods only, and the manifests have only the controllers that make them. It changes the Pods in the cluster, not the manifests. That is no mistake.",
		Advice: "See what it does with `preadmit pods`, or with `diff --pods` and `explain --pods`.",
	},
	{
		Code: "order-dependent", Severities: warnings, Title: "The order of policies matters",
		Cause:  "The result depends on which of two policies runs first, and a cluster runs them in any order.",
		Advice: "Have each check what it needs of the other's work, and set reinvocationPolicy: IfNeeded.",
	},
	{
		Code: "policies-fight", Severities: warnings, Title: "Two policies write a field",
		Cause:  "Two policies write different values into a field, and the last to run wins.",
		Advice: "Leave the field to one of them.",
	},
	{
		Code: "never-applies", Severities: warnings, Title: "A mutator never applies",
		Cause:  "What a mutator of Gatekeeper matches, or its path tests, no object of its kinds can meet.",
		Advice: "Correct the criterion that the message names, or remove the mutator.",
	},
	{
		Code: "name-order", Severities: warnings, Title: "The names of mutators decide",
		Cause:  "Of two mutators of Gatekeeper that may apply to the same object, one undoes what the other does, or keeps it from doing it. Which one is decided by their kinds and names.",
		Advice: "Leave the field to one of them, or have them match different objects.",
	},
}

var streams = []Entry{
	{
		Code: "no-manifest", Severities: infos, Title: "A file in a directory holds no manifest",
		Cause:  "A directory holds files without Kubernetes objects: templates and values of charts, kustomizations and their patches, configuration of other programs. They are passed over. A file that looks like an object is not; nor is one that is named itself.",
		Advice: "List them with `-v`. Charts and kustomizations are rendered with `--build`, or by `preadmit exec`.",
	},
	{
		Code: "not-rendered", Severities: infos, Title: "Charts and kustomizations are not rendered",
		Cause:  "A directory holds charts or kustomizations. What they would make is not known without their programs, which are started only when asked for; the manifests there count as they are written.",
		Advice: "Have them rendered with `--build`, or one of them by `preadmit exec`.",
	},
	{
		Code: "made-in-cluster", Severities: infos, Title: "The cluster makes further objects",
		Cause:  "Programs in the cluster make objects of Flux's Kustomizations and HelmReleases, and of Argo CD's Applications and ApplicationSets. Policies change these objects there; here nobody knows them.",
		Advice: "Render them, and give what comes out, as in `preadmit exec -- helm template CHART`.",
	},
	{
		Code: "path-unreadable", Severities: errors, Title: "A file cannot be read",
		Cause:  "A file or directory does not exist, cannot be read, or holds no manifests.",
		Advice: "Correct the path; the message says what it is relative to.",
	},
	{
		Code: "path-outside", Severities: errors, Title: "A path leads outside",
		Cause:  "A path in a functionConfig leads out of the working directory and of the package.",
		Advice: "Move the file below them, or name it with the flag -p or in PREADMIT_POLICIES.",
	},
	{
		Code: "link-outside", Severities: []Severity{Error, Warning}, Title: "A link leads out of its directory",
		Cause:  "A directory holds a symbolic link to a directory that is not in it. What is there is not read: such a link may lead anywhere.",
		Advice: "Name that directory, too, if what is in it counts; for manifests it is a warning.",
	},
	{
		Code: "path-unwritable", Severities: errors, Title: "A file cannot be written",
		Cause:  "A file that an option names cannot be written, or must not be: it was read in the same run, has changed since then, gets another output, or is outside of the directory that was named.",
		Advice: "Name another file, or check that its directory exists and may be written. If others have changed it, run preadmit again.",
	},
	{
		Code: "output-unwritable", Severities: errors, Title: "The output cannot be written",
		Cause:  "Standard output is closed, its disk is full, or it goes into a file that was read in the same run.",
		Advice: "Check what reads the output; redirect it into a file that is not among the manifests.",
	},
	{
		Code: "empty-stream", Severities: errors, Title: "There are no manifests",
		Cause:  "The input has no manifests. Clients take empty output for the wish to delete everything, so it is an error.",
		Advice: "Check what was to make the manifests; with --allow-empty there may be none.",
	},
	{
		Code: "list-missing", Severities: errors, Title: "There is no ResourceList",
		Cause:  "As a KRM function preadmit expects a ResourceList on standard input, and there is something else, or nothing.",
		Advice: "Use `preadmit render` for manifests.",
	},
	{
		Code: "command-failed", Severities: errors, Title: "A renderer fails",
		Cause:  "The program that was to print the manifests did not end with status 0, or could not be started. Its own messages come before.",
		Advice: "Correct what it complains about; run it alone to see more.",
	},
	{
		Code: "release-unnamed", Severities: errors, Title: "The release of a chart has no name",
		Cause:  "Helm needs a name for the release, and neither Argo CD nor a parameter gives one.",
		Advice: "Set ARGOCD_APP_NAME, as Argo CD does, or the parameter release-name.",
	},
}

var options = []Entry{
	{
		Code: "version-nearest", Severities: warnings, Title: "The version of the cluster is not known", Unsure: true,
		Cause:  "Argo CD says in KUBE_VERSION that the cluster has a version of Kubernetes that preadmit does not know. The nearest one takes its place.",
		Advice: "Take a newer preadmit, or name a version with `--kubernetes-version`.",
	},
	{
		Code: "option-value", Severities: errors, Title: "An option has a wrong value",
		Cause:  "The option cannot have this value.",
		Advice: "Use one of the values that the message names.",
	},
	{
		Code: "option-unknown", Severities: errors, Title: "There is no such option",
		Cause:  "A functionConfig, or an object with options, has a field that is no option.",
		Advice: "Correct the name; the message has the nearest one.",
	},
	{
		Code: "function-config-kind", Severities: errors, Title: "The functionConfig is of another kind",
		Cause:  "The functionConfig is neither a Preadmit, nor a ConfigMap, nor a policy.",
		Advice: "Use one of these.",
	},
	{
		Code: "parameter-unknown", Severities: errors, Title: "There is no such parameter",
		Cause:  "An application of Argo CD has a parameter that the plugin does not have.",
		Advice: "Correct the name; `preadmit cmp parameters` lists them.",
	},
	{
		Code: "parameter-unused", Severities: errors, Title: "A parameter has no use here",
		Cause:  "An application of Argo CD has a parameter that is for another way of making manifests, such as one for charts.",
		Advice: "Remove it, or check what the directory of the application holds.",
	},
	{
		Code: "parameter-value", Severities: errors, Title: "A parameter has a wrong value",
		Cause:  "A parameter of an application of Argo CD has a value that it cannot have.",
		Advice: "Use a value of the kind that the message names.",
	},
	{
		Code: "command-unknown", Severities: errors, Title: "There is no such command",
		Cause:  "The first argument is not the name of a command.",
		Advice: "See `preadmit --help`.",
	},
	{
		Code: "flag-unknown", Severities: errors, Title: "There is no such flag",
		Cause:  "The command does not have the flag.",
		Advice: "See the command's --help.",
	},
	{
		Code: "argument-invalid", Severities: errors, Title: "An argument that is not possible here",
		Cause:  "The command or function does not take such an argument.",
		Advice: "See the command's --help.",
	},
	{
		Code: "usage", Severities: errors, Title: "The command line is wrong",
		Cause:  "The command line cannot be understood, for instance because a flag has no value.",
		Advice: "See the command's --help.",
	},
}

var tests = []Entry{
	{
		Code: "test-failed", Severities: errors, Title: "A test fails",
		Cause:  "The policies do not do what a test expects; the message shows the difference.",
		Advice: "Correct the policies, or have `preadmit test --update` write what they do now.",
	},
	{
		Code: "no-tests", Severities: errors, Title: "There are no tests",
		Cause:  "No preadmit-test.yaml and no kyverno-test.yaml was found.",
		Advice: "Write one, or name the directory that has them.",
	},
	{
		Code: "test-kind", Severities: errors, Title: "The test is of another kind",
		Cause:  "A document in a preadmit-test.yaml is not a PreadmitTest.",
		Advice: "Correct apiVersion and kind.",
	},
	{
		Code: "test-field", Severities: warningsOrErrors, Title: "A field of a test cannot be used",
		Cause:  "A kyverno-test.yaml has a field that preadmit does not know what to do with. It is an error if the field has a value that it cannot have.",
		Advice: "Check that the test does not depend on it; correct the value.",
	},
	{
		Code: "test-other-results", Severities: infos, Title: "Results are not about mutation",
		Cause:  "A kyverno-test.yaml expects results of policies or rules that change nothing, for instance of those that validate. They are not run.",
		Advice: "Run them with `kyverno test`.",
	},
}

// tooMuch says why no golden has a limit on the input.
const tooMuch = "a golden would have to hold that much; the tests with hostile input reach it"

var limits = []Entry{
	{
		Code: "limit-input-size", Severities: errors, Title: "The input is too large",
		Cause:  "All files of a run together are larger than 64 MiB, or than the option input-limit says.",
		Advice: "Run preadmit on one part after the other, or raise the limit with the option input-limit.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-documents", Severities: errors, Title: "Too many documents",
		Cause:  "A file has more than 100,000 documents; more are read if the option input-limit is raised, in proportion.",
		Advice: "Run preadmit on one part after the other, or raise the limit with the option input-limit.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-yaml-size", Severities: errors, Title: "A document with unusual YAML is too large",
		Cause:  "A document with YAML that people hardly write, such as a list as a key, is larger than 8 MiB; to read it takes many times as much memory.",
		Advice: "Write the document with maps, lists and scalars in their usual forms, or split it.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-messages", Severities: errors, Title: "Too many mistakes",
		Cause:  "A file has more than 500 mistakes, so the rest of it is not read.",
		Advice: "Correct what has been reported, and run preadmit again.",
		Unseen: tooMuch,
	},
	{
		Code: "limit-object-size", Severities: errors, Title: "Policies make an object too large",
		Cause:  "Policies add more than 16 MiB to an object, five times what an API server accepts.",
		Advice: "Correct the policy; one that copies parts of an object into itself makes it grow with every step.",
	},
	{
		Code: "limit-expression", Severities: errors, Title: "An expression does too much",
		Cause:  "An expression looks at more values, or makes more, than preadmit lets it. CEL has the limits of an API server, too.",
		Advice: "Correct the expression; one that doubles a value, or goes through a list for every item of a list, has to go.",
	},
	{
		Code: "limit-patch", Severities: errors, Title: "A JSON Patch does too much",
		Cause:  "A JSON Patch has more than 100,000 operations, its operations copy more than 3 MiB, as an API server would not accept, or fill up lists with more nulls than any object has.",
		Advice: "Split the patch, or write the values out instead of copying them.",
	},
	{
		Code: "limit-foreach", Severities: errors, Title: "A foreach does too much",
		Cause:  "The foreach of a rule patches a large object for too many elements.",
		Advice: "Select fewer elements, or patch them in one step.",
	},
}

var faults = []Entry{
	{
		Code: "internal", Severities: errors, Title: "A defect of preadmit",
		Cause:  "Preadmit contradicts itself, and would rather say so than print something wrong.",
		Advice: "Please report it with the manifest and the policies.",
		Unseen: "an input that leads to it would be a defect",
	},
}
