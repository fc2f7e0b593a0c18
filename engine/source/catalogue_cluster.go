package source

var asking = []Entry{
	{
		Code: "cluster-failed", Severities: errors, Title: "The cluster cannot be read",
		Cause:  "The program kubectl has failed, or the answer of the server is not complete; the message has the words of kubectl. A snapshot is written completely or not at all.",
		Advice: "Check the kubeconfig with `kubectl get namespaces`, name a context with `--context`, and run the command again.",
	},
	{
		Code: "cluster-forbidden", Severities: errors, Title: "The server forbids to read a resource",
		Cause:  "The user of the kubeconfig may not read a resource that the snapshot needs. A smaller snapshot would give other results than the cluster.",
		Advice: "Give the user the rule that the message names, or all of `preadmit snapshot --print-role`.",
	},
	{
		Code: "cluster-invalid", Severities: errors, Title: "The description of the cluster is wrong",
		Cause:  "A document of kind Cluster has an unknown field or value, or the policies and the context describe two clusters.",
		Advice: "Write the snapshot again, or give the files of one cluster only.",
	},
	{
		Code: "lookup-unknown", Severities: warnings, Title: "It is not known what a policy looks up", Unsure: true,
		Cause:  "A policy computes the kind of the objects that it looks up, or names it by an expression, so that the snapshot may lack them.",
		Advice: "Name the resource with `--resource`, unless the snapshot has it for another reason.",
	},
	{
		Code: "secrets-left-out", Severities: warnings, Title: "Secrets are not in the snapshot",
		Cause:  "A policy looks up Secrets, and the snapshot does not have them. The policy finds none in a run with the snapshot.",
		Advice: "Write them with `--secrets`, and keep the snapshot secret. Or give the policy others with `-c`.",
	},
	{
		Code: "secret-written", Severities: infos, Title: "The snapshot has the values of a Secret",
		Cause:  "A policy looks the Secret up, so that a run needs its values. Only the owner of the file may read it.",
		Advice: "Do not commit the file.",
	},
	{
		Code: "verify-differs", Severities: warnings, Title: "The cluster does something else than predicted",
		Cause:  "In a dry run, the cluster holds another object than preadmit predicts, or accepts what preadmit refuses. The message has the fields, and suspects: webhooks whose changes are not predicted, and policies that have changed since the snapshot.",
		Advice: "Write the snapshot again. If the difference remains and no webhook explains it, report it.",
	},
	{
		Code: "verify-refused", Severities: warnings, Title: "The cluster refuses a manifest, which is not predicted",
		Cause:  "In a dry run, the cluster refuses the manifest, such as by its validation of built-in kinds, by a quota or by a validating webhook, or because its namespace does not exist. An update is refused if it lacks fields that cannot change.",
		Advice: "Correct what the text of the server names.",
	},
	{
		Code: "snapshot-stale", Severities: warnings, Title: "The cluster has changed since the snapshot",
		Cause:  "The cluster has policies, or objects that policies look up, that the snapshot does not have or has with other contents.",
		Advice: "Write the snapshot again with `preadmit snapshot`.",
	},
}
