package growth

import "strings"

// hook is a webhook for ConfigMaps, and answer a recorded answer of it. Each # is a number.
const (
	hook = "- {name: w-#.example.com, clientConfig: {url: \"https://w.example.com\"}, rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}], sideEffects: None, admissionReviewVersions: [v1]}\n"

	answer = `- configuration: hooks
  webhook: w-#.example.com
  request: {kind: {group: "", version: v1, kind: ConfigMap}, resource: {group: "", version: v1, resource: configmaps}, requestKind: {group: "", version: v1, kind: ConfigMap}, requestResource: {group: "", version: v1, resource: configmaps}, name: c-%, namespace: shop, operation: CREATE, userInfo: {}, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: c-%, namespace: shop}, data: {a: b}}, oldObject: null, dryRun: false, options: {kind: CreateOptions, apiVersion: meta.k8s.io/v1}}
  response: {allowed: true}
`
	hooks    = "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: hooks}\nwebhooks:\n"
	answers  = "apiVersion: preadmit.dev/v1alpha1\nkind: WebhookAnswers\nmetadata: {name: recorded}\nanswers:\n"
	hooked   = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-#, namespace: shop}\ndata: {a: b}\n"
	unhooked = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-#, namespace: shop}\ndata: {a: other}\n"
)

// ofWebhooks are the dimensions of webhooks with recorded answers.
func ofWebhooks() []dimension {
	of := func(webhook, object string) string { // one of them is 0
		return strings.NewReplacer("w-#", "w-"+webhook, "c-%", "c-"+object).Replace(answer)
	}
	with := func(configuration, recorded, manifests string) map[string]string {
		files := withContext(labelMAP("none"), hooks+configuration, manifests)
		files[policiesFile] = strings.ReplaceAll(files[policiesFile], "configmaps", "services")
		files[answersFile] = answers + recorded
		return files
	}
	zero := func(text string) string { return lines(1, text) }
	flags := []string{"--webhook-answers", answersFile}
	return []dimension{
		{name: "webhooks/objects", flags: flags, n: 25, files: func(n int) map[string]string {
			return with(zero(hook), lines(n, of("0", "#")), lines(n, hooked))
		}},
		{name: "webhooks/webhooks", flags: flags, n: 25, files: func(n int) map[string]string {
			return with(lines(n, hook), lines(n, of("#", "0")), zero(hooked))
		}},
		{name: "webhooks/answers", flags: flags, n: 25, files: func(n int) map[string]string {
			return with(zero(hook), lines(n, of("0", "#")), zero(hooked))
		}},
		{name: "webhooks/missing answers", refusal: "[webhook-answer-missing]", commands: []string{"render", "diff"}, flags: flags, n: 75, files: func(n int) map[string]string {
			return with(zero(hook), lines(n, of("0", "#")), lines(n, unhooked))
		}},
		{name: "webhooks/unlike answers", refusal: "[webhook-answer-missing]", commands: []string{"render", "diff"}, flags: flags, n: 75, files: func(n int) map[string]string {
			return with(zero(hook), lines(n, of("0", "#")), lines(n, strings.ReplaceAll(unhooked, "c-#", "d-#")))
		}},
	}
}
