package source

var running = []Entry{
	{
		Code: "denied", Severities: errorsToInfos, Title: "A policy denies the manifest",
		Cause:  "The API server would refuse the object: a policy denies it, or a policy with failurePolicy Fail fails on it. The text is the server's. `preadmit diff --base` warns of what only the base denied, and notes what it denies for the same reason in both states.",
		Advice: "Correct the manifest, or the policy.",
	},
	{
		Code: "target-failed", Severities: errors, Title: "A rule with targets fails",
		Cause:  "A Kyverno rule with mutate.targets fails on one of its targets, or changes it into an invalid object.",
		Advice: "Correct the rule, or the manifest that it changes.",
	},
	{
		Code: "tree-failed", Severities: errors, Title: "A mutation tree fails",
		Cause:  "An expression of a mutation tree cannot be evaluated on the document, or the tree changes the apiVersion or kind of an object.",
		Advice: "Correct the tree. For fields that may be missing, (field || 'value') gives a default.",
	},
	{
		Code: "not-idempotent", Severities: warningsOrErrors, Title: "Policies change their own output",
		Cause:  "If the policies run again on their output, as a cluster does, they change or deny it. It is an error with --non-idempotent=fail.",
		Advice: "Let the policy check whether its change has already been made.",
	},
	{
		Code: "controller-endless", Severities: warnings, Title: "A controller creates objects in an endless loop",
		Cause:  "A policy changes an object that a controller of Kubernetes has created. The controller no longer recognizes the object, or takes it for one of an earlier revision, and creates another. The policy changes that one as well, and so on.",
		Advice: "Let the policy change the owner of the object, such as the Deployment instead of its ReplicaSet, or leave the field alone.",
	},
	{
		Code: "namespace-assumed", Severities: warnings, Unsure: true, Title: "A Namespace was not given",
		Cause:  "A policy reads a Namespace that was not given. Preadmit assumes that its only label is its name (kubernetes.io/metadata.name).",
		Advice: "Give the Namespace as context.",
	},
	{
		Code: "kyverno-differs", Severities: warnings, Title: "Kyverno does not do what its documentation says",
		Cause:  "Kyverno 1.19.0 does something else with the policy than Kyverno's documentation says; the message says what. Preadmit does what Kyverno does. `check` reports every such policy, other commands only if Kyverno loses data or denies an object.",
		Advice: "Follow the message: it says how to write a policy for which both are the same.",
	},
	{
		Code: "exception-expires", Severities: warnings, Unsure: true, Title: "An exception may have expired",
		Cause:  "A PolicyException has an expiry time. Preadmit has no clock, so it assumes that the exception has not expired.",
		Advice: "Give the time with --values, as the global value time.now(), or remove the exception.",
	},
	{
		Code: "api-call-assumed", Severities: warnings, Unsure: true, Title: "The answer to an API call is assumed",
		Cause:  "A Kyverno rule asks the cluster for objects that the input does not contain. Preadmit assumes that a list is empty, and that an object with a default is missing.",
		Advice: "Give the objects as context, or give the value of the rule's context entry with --values.",
	},
	{
		Code: "param-not-found", Severities: warnings, Unsure: true, Title: "A param was not found",
		Cause:  "The param of a binding is neither among the manifests nor in the context. parameterNotFoundAction is Allow, so the policy does nothing.",
		Advice: "Give the param as context, or correct spec.paramRef of the binding.",
	},
	{
		Code: "name-unknown", Severities: warnings, Unsure: true, Title: "A policy names an unknown kind",
		Cause:  "A policy names an unknown kind, resource, group or version that is similar to a known one, or a group without a dot, which no definition can have, or a pod controller to which Kyverno extends no policy. If the name is misspelt, the policy matches nothing.",
		Advice: "Correct the name, or give the CustomResourceDefinition as context.",
	},
	{
		Code: "webhook-unpredicted", Severities: infos, Unsure: true, Title: "A webhook may change manifests",
		Cause:  "The input contains a MutatingWebhookConfiguration. Preadmit can only predict webhooks that run the given policies, not others.",
		Advice: "Check in a cluster what the webhook does, and remove its configuration from the input.",
	},
	{
		Code: "old-unused", Severities: warnings, Title: "An object before the update is not used",
		Cause:  "An object before an update is given, but the operation is CREATE, or the manifests do not contain the updated object.",
		Advice: "Set the option operation to UPDATE, or remove the object before the update.",
	},
	{
		Code: "old-missing", Severities: warnings, Unsure: true, Title: "The object before the update is not known",
		Cause:  "The operation is UPDATE, but some manifests have no object before the update. An expression that reads oldObject fails on them.",
		Advice: "Give the current objects of the cluster with the option old.",
	},
	{
		Code: "update-only", Severities: warnings, Title: "A policy acts on UPDATE only",
		Cause:  "A policy would match manifests if the operation were UPDATE, but it is CREATE. In a cluster, the policy acts on their next update.",
		Advice: "Set the operation to UPDATE and give the current objects of the cluster with the option old.",
	},
	{
		Code: "resource-unknown", Severities: warnings, Unsure: true, Title: "The resource of a kind is not known",
		Cause:  "Whether a policy matches the manifest depends on the plural name of its kind, which preadmit does not know.",
		Advice: "Give the CustomResourceDefinition of the kind as context.",
	},
	{
		Code: "context-cycle", Severities: errors, Title: "Manifests depend on each other in a cycle",
		Cause:  "Policies look up another manifest to change one, and the changes to that other manifest depend on the first.",
		Advice: "Give one of them as context instead of as a manifest.",
	},
	{
		Code: "context-failed", Severities: errors, Title: "An object that policies look up is not available",
		Cause:  "Policies look up another manifest, such as a param or a namespace, and that manifest is invalid or was not admitted.",
		Advice: "Correct that manifest; its own error says what is wrong.",
	},
	{
		Code: "context-ambiguous", Severities: errors, Title: "An object that policies look up is defined twice",
		Cause:  "Policies look up an object that is defined more than once, with different content. A cluster can hold only one of them.",
		Advice: "Remove the wrong definition, or evaluate each directory separately with the option per-directory.",
	},
	{
		Code: "context-overridden", Severities: warnings, Title: "An object is given twice",
		Cause:  "Policies look up an object that is both among the manifests and in the context, with different content. They see the manifest, because the cluster will hold it.",
		Advice: "Remove the one that is wrong.",
	},
	{
		Code: "conversion-missing", Severities: warningsOrErrors, Title: "Only a cluster converts the object",
		Cause:  "A validating policy asks for objects in one version of their kind (matchPolicy Equivalent), and the manifest has another. preadmit converts custom resources, and autoscalers with a CPU metric only.",
		Advice: "Give the manifest in the version that the policy asks for. It is a warning with --validation=warn.",
	},
	{
		Code: "plugin-config-invalid", Severities: errors, Title: "The configuration of an admission plug-in is wrong",
		Cause:  "A PodSecurityConfiguration, or an AdmissionConfiguration that contains one, has unknown fields, levels that do not exist, or exemptions that are not valid.",
		Advice: "Correct the configuration; an API server does not start with it.",
	},
	{
		Code: "field-unknown", Severities: warnings, Title: "The manifest has an unknown field",
		Cause:  "The kind of the object does not have the field, so an API server drops it. It refuses the object if the client asks for strict validation of fields, as kubectl apply does, and otherwise warns with this text.",
		Advice: "Correct the name or the place of the field. The option field-validation can refuse the manifest, or ignore the field.",
	},
	{
		Code: "version-deprecated", Severities: warnings, Title: "The version of the kind is deprecated",
		Cause:  "An API server of the Kubernetes version warns with this text of the apiVersion of the manifest: a later Kubernetes version, or version of the CustomResourceDefinition, may not serve it.",
		Advice: "Use the apiVersion that the message names.",
	},
	{
		Code: "would-be-denied", Severities: warnings, Title: "A cluster would refuse the manifest",
		Cause:  "The API server would refuse the object after the mutations, and the option validation is warn. The text is the server's.",
		Advice: "Correct the manifest, or the policy.",
	},
	{
		Code: "maybe-denied", Severities: infos, Title: "A cluster may refuse the manifest",
		Cause:  "The API server would refuse the custom resource as it is, with this text. The input contains a MutatingWebhookConfiguration whose webhook may change the object before the server validates it, such as fill in required fields. Preadmit does not predict the webhook.",
		Advice: "Check the manifest if the webhook does not set the field.",
	},
	{
		Code: "policy-warning", Severities: warnings, Title: "A validating policy warns",
		Cause:  "The object violates a ValidatingAdmissionPolicy whose binding has the validationAction Warn, or the level of PodSecurity of which its namespace warns. A cluster accepts the object and sends this warning with its answer.",
		Advice: "Correct the manifest, or the policy.",
	},
	{
		Code: "failure-ignored", Severities: warnings, Unsure: true, Title: "A policy failed and was ignored",
		Cause:  "A policy with failurePolicy Ignore failed, so it changed nothing. A cluster accepts the object unchanged, too.",
		Advice: "Correct the policy, or the manifest that it fails on.",
	},
	{
		Code: "interrupted", Severities: errors, Title: "The run did not finish",
		Cause:  "The run was cancelled or timed out.",
		Advice: "Run it again.",
	},
	{
		Code: "mutation", Severities: warnings, Title: "Policies change a field",
		Cause:  "`preadmit diff` reports this: the policies of the cluster would change this field of the manifest.",
		Advice: "Run `preadmit render` on the manifest and commit the result.",
	},
	{
		Code: "difference", Severities: infos, Title: "A field differs in the cluster",
		Cause:  "`preadmit diff --base` reports this: the object that the cluster holds differs between the base and the working tree, because the manifest, a policy or an object that a policy reads has changed.",
		Advice: "Review the change as you review the diff of the manifests.",
	},
	{
		Code: "secret-exposed", Severities: warnings, Title: "A Secret in clear text",
		Cause:  "The manifests of the Terraform data source contain a Secret. Terraform stores them in its state without marking them as sensitive.",
		Advice: "Pass the Secret with sensitive_manifests or manifest_files.",
	},
	{
		Code: "empty-parents", Severities: warnings, Title: "A mutator that removes values creates empty parents",
		Cause:  "A ModifySet with the operation prune creates the missing parents of its list, even items of lists, and leaves them without the list.",
		Advice: "Add a path test with MustExist.",
	},
	{
		Code: "value-shared", Severities: warnings, Title: "A mutator changes a value in several places",
		Cause:  "Gatekeeper does not copy a map that a mutator assigns in several places, for instance in all containers. If another mutator changes one of the places, all of them change.",
		Advice: "Assign each field of the value separately.",
	},
}

var checking = []Entry{
	{
		Code: "field-undefined", Severities: warnings, Title: "The kinds do not have the field",
		Cause:  "An expression, a location or a JSON Patch names a field that the kinds matched by the policy do not have.",
		Advice: "Correct the name of the field.",
	},
	{
		Code: "type-mismatch", Severities: warnings, Title: "The field is of another type",
		Cause:  "An expression compares a field with a value of another type or assigns one, or a location or a JSON Patch uses the field as another type: a list without an index, an annotation whose name has a / that is not written as ~1, or a ~ that is not written as ~0.",
		Advice: "Use a value of the field's type.",
	},
	{
		Code: "field-not-stored", Severities: warnings, Title: "A server does not store what the policy writes",
		Cause:  "In requests for an object, API servers take its status from the stored object, or drop it if the object is new, if the kind has the subresource `status`. In requests for that subresource, they take the spec from the stored object, and the metadata of custom resources. They set fields such as `metadata.uid` themselves. The policy writes such a field in requests that never change it.",
		Advice: "Match the resource whose requests change the field, such as `deployments/status` for the status of a Deployment, or leave the field out.",
	},
	{
		Code: "atomic-list", Severities: warnings, Title: "An ApplyConfiguration writes an atomic list or map",
		Cause:  "The list, map or struct is atomic (args, nodeSelector, a label selector): it can only be replaced as a whole. API servers refuse an ApplyConfiguration that writes it.",
		Advice: "Use a JSONPatch.",
	},
	{
		Code: "parent-missing", Severities: warnings, Title: "A JSON Patch may write below a missing field",
		Cause:  "A JSONPatch writes an item of a list, or an entry of a map, that manifests may lack, such as an annotation. API servers add no missing lists and maps: the operation fails, and with it the request. Nothing else in the policy mentions the field.",
		Advice: "Ask with has(), and add the list or map first where it is missing. An ApplyConfiguration adds both.",
	},
	{
		Code: "field-missing", Severities: infos, Title: "An expression may read a missing field",
		Cause:  "An expression in CEL reads a list or a map that objects of the kinds may lack, such as the labels, and asks nowhere whether they have it. It fails on objects without it: with the failurePolicy Fail a cluster denies these, with Ignore it does nothing.",
		Advice: "Ask with has() first, or read the field as an optional value: object.metadata.?labels.orValue({}).",
	},
	{
		Code: "condition-unreachable", Severities: warnings, Title: "The condition is never true",
		Cause:  "The condition tests whether a field is missing, but API defaults always set the field before policies run. Or the condition of a policy in the API server compares only constants. Or the kinds that the policy matches decide it: it asks for another kind, for a field that the server always sets, or for a type that the field does not have, or a ValidatingAdmissionPolicy compares a field with a value that its kind does not enumerate. Or the conditions of a policy contradict each other: one asks for the value of a field that makes another false.",
		Advice: "Compare the field with its default, or with a value that it can have.",
	},
	{
		Code: "always-true", Severities: infos, Title: "A condition or a validation is always true",
		Cause:  "A matchCondition, or a validation of a ValidatingAdmissionPolicy, compares only constants and is true for every object. Or it is true for every object of the kinds that the policy matches: it asks for their kind, or for a field that they always have. A validation of constants that is always false is not reported: it refuses whatever the policy matches.",
		Advice: "Compare a field of the object or the request, or remove the expression.",
	},
	{
		Code: "always-false", Severities: infos, Title: "A validation is never true",
		Cause:  "The kinds that a ValidatingAdmissionPolicy matches decide one of its validations: it asks for another kind, for example, so it refuses every object that the policy matches. This may be what the policy is for.",
		Advice: "Write `false` if the policy is to refuse all of these objects; otherwise, correct the expression.",
	},
	{
		Code: "costly", Severities: infos, Title: "An expression may cost too much",
		Cause:  "A server stops an expression of an admission policy that costs more than 1,000,000 units, and the expression fails. This one may cost more for an object whose lists, maps and texts have 30 items each, as loops within loops do. Servers do not estimate the costs of these policies when they are created.",
		Advice: "Avoid a loop within a loop.",
	},
	{
		Code: "variable-open", Severities: warnings, Title: "A variable is not closed",
		Cause:  "A text of a Kyverno rule has `{{` with an expression and a single `}`. Kyverno writes such a text as it is.",
		Advice: "Write `}}` at the end of the expression.",
	},
	{
		Code: "call-fails", Severities: warnings, Title: "A call of a function always fails",
		Cause:  "An expression of JMESPath in a Kyverno rule calls an unknown function, or a function with a wrong number of arguments, or with an argument of a type that it does not take. Kyverno accepts the policy, and the rule fails when it evaluates the call.",
		Advice: "Correct the call; the caret shows the position.",
	},
	{
		Code: "always-fails", Severities: warnings, Title: "A policy always fails",
		Cause:  "A mutation, a condition or a rule fails on every manifest that it is evaluated on. The failurePolicy is Ignore, so a cluster reports no error and nothing changes. `check` also runs policies in CEL, mutating and validating ones, and Kyverno's rules, on objects that it generates to reach their branches, and reports what fails on all of these, whatever the failurePolicy. A validation that is false does not fail.",
		Advice: "Correct the expression, or exclude the kinds for which it cannot work from the policy.",
	},
	{
		Code: "mutation-refused", Severities: warnings, Title: "A validating policy refuses what a mutating one writes",
		Cause:  "Of the objects that `check` generates to reach the branches of the two policies, which are in CEL and have no params, the validating policy refuses every one that the mutating policy has changed, and accepts at least one of them before the change. In a cluster with both, objects are refused that each alone accepts.",
		Advice: "Let the mutating policy write a value that the validating one accepts, or except its objects from one of the two.",
	},
	{
		Code: "validation-redundant", Severities: infos, Title: "A mutating policy makes a validating one redundant",
		Cause:  "Of the objects that `check` generates to reach the branches of the two policies, which are in CEL and have no params, the mutating policy changes every one that the validating policy refuses, and the validating policy refuses none of them afterwards. Other objects are not tried.",
		Advice: "Keep the validating policy if it is to catch requests that the mutating policy does not see, such as those of other operations.",
	},
	{
		Code: "changes-nothing", Severities: warnings, Title: "A mutation never changes anything",
		Cause:  "The patch of a mutation is empty for every object, or writes only what every object that it reaches has already: the object's own value in the same field, or the value that matchConditions require there. It is found by the form of the expressions, so other mutations may change nothing, too. Or a rule of a Kyverno policy changes none of the objects that `check` generates to reach what the rule changes, because API defaults or the conditions of the rule have set the values already.",
		Advice: "Write another value, or remove the mutation.",
	},
	{
		Code: "acceptance-unused", Severities: warnings, Title: "An accepted finding is not found any more",
		Cause:  "The configuration file accepts findings of a kind that this run does not have. Only a run that could have found them says so: `check`, and `diff` for the code mutation, on the files of the path of the acceptance.",
		Advice: "Remove the acceptance, or correct its patterns.",
	},
	{
		Code: "pods-only", Severities: infos, Title: "A policy matches only Pods, but no manifest is a Pod",
		Cause:  "A policy matches only Pods, and the manifests contain workloads such as Deployments, but no Pods. The policy changes the Pods in the cluster, not the manifests. This is not a mistake.",
		Advice: "To see the effect on the Pods, use `preadmit pods`, `diff --pods` or `explain --pods`.",
	},
	{
		Code: "order-dependent", Severities: infosOrWarnings, Title: "The result depends on a random order",
		Cause:  "The result depends on which of two policies runs first, and a cluster runs them in any order. Or a rule of a Kyverno policy depends on the order of the keys of a map, for instance in the result of `keys()`, which is random in Kyverno 1.19: preadmit takes the alphabetical order, and a cluster takes another one in every run. Or several ValidatingAdmissionPolicies refuse an object, and a server reports only the refusal of a random one (info): preadmit reports the first by name.",
		Advice: "Let each policy check for the changes of the other that it needs, and set reinvocationPolicy: IfNeeded. Sort the results of `keys()` and `values()`, and write keys without wildcards.",
	},
	{
		Code: "policies-fight", Severities: warnings, Title: "Two policies write the same field",
		Cause:  "Two policies write different values into the same field. The policy that runs last wins.",
		Advice: "Let only one of them write the field.",
	},
	{
		Code: "never-applies", Severities: warnings, Title: "A policy, a mutator or a rule never applies",
		Cause:  "No object of its kinds can meet the match criteria or the path tests of a Gatekeeper mutator. Or a rule of a Kyverno policy changes none of the objects that `check` generates to reach what the rule changes, because its conditions never hold together, or compare only constants. Rules that ask for more than the object, or match kinds without a schema, are left alone. Or no request meets the match block of a policy in the API server, or that of a binding together with its policy's: no labels meet the selectors, or the rules cover no kind.",
		Advice: "Correct the criterion or condition that the message names, or remove the policy, the mutator or the rule.",
	},
	{
		Code: "name-order", Severities: warnings, Title: "The result depends on the names of mutators",
		Cause:  "Two mutators of Gatekeeper may apply to the same object, and one of them undoes or prevents the change of the other. Gatekeeper orders mutators by kind and name, so the names decide which change remains.",
		Advice: "Let only one of them write the field, or let them match different objects.",
	},
}
