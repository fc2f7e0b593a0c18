# A small cluster: answers to kubectl get --raw PATH, without the query.
while [ "$1" != --raw ]; do shift; done
path=${2%%\?*}
answer() { sed "s|ITEMS|$1|" <<END
{"metadata": {"resourceVersion": "7"}, "items": [ITEMS]}
END
}
served='"metadata": {"uid": "1", "resourceVersion": "5", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [], '
case $path in
/version) echo '{"major": "1", "minor": "35", "gitVersion": "v1.35.4"}';;
/metrics) printf '%s\n' 'kubernetes_feature_enabled{name="Early",stage="ALPHA"} 1' 'kubernetes_feature_enabled{name="Usual",stage="BETA"} 1';;
/apis) echo '{"groups": [{"name": "admissionregistration.k8s.io", "versions": [{"version": "v1"}]}, {"name": "apiextensions.k8s.io", "versions": [{"version": "v1"}]}, {"name": "kyverno.io", "versions": [{"version": "v1"}]}, {"name": "apps", "versions": [{"version": "v1"}]}]}';;
/api/v1) echo '{"resources": [{"name": "namespaces", "kind": "Namespace"}, {"name": "namespaces/status", "kind": "Namespace"}, {"name": "configmaps", "kind": "ConfigMap", "namespaced": true}, {"name": "secrets", "kind": "Secret", "namespaced": true}]}';;
/apis/admissionregistration.k8s.io/v1) echo '{"resources": [{"name": "mutatingwebhookconfigurations", "kind": "MutatingWebhookConfiguration"}]}';;
/apis/apiextensions.k8s.io/v1) echo '{"resources": [{"name": "customresourcedefinitions", "kind": "CustomResourceDefinition"}]}';;
/apis/kyverno.io/v1) echo '{"resources": [{"name": "clusterpolicies", "kind": "ClusterPolicy"}]}';;
/apis/apps/v1) echo '{"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": true}]}';;
/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations)
  answer "{$served \"name\": \"injector\"}, \"webhooks\": [{\"name\": \"injector.example.com\", \"clientConfig\": {\"caBundle\": \"cm90YXRlZA==\", \"url\": \"https://injector.example.com\"}, \"rules\": [{\"apiGroups\": [\"batch\"], \"apiVersions\": [\"v1\"], \"operations\": [\"CREATE\"], \"resources\": [\"jobs\"]}]}]}";;
/apis/kyverno.io/v1/clusterpolicies)
  answer "{$served \"name\": \"team\"}, \"spec\": {\"rules\": [{\"name\": \"team\", \"match\": {\"any\": [{\"resources\": {\"kinds\": [\"Deployment\", \"Widget\"]}}]}, \"context\": [{\"name\": \"teams\", \"configMap\": {\"name\": \"teams\", \"namespace\": \"shop\"}}, {\"name\": \"token\", \"apiCall\": {\"urlPath\": \"/api/v1/namespaces/shop/secrets/token\"}}], \"mutate\": {\"patchStrategicMerge\": {\"metadata\": {\"labels\": {\"team\": \"{{ teams.data.web }}\"}}}}}]}, \"status\": {\"ready\": true}}";;
/apis/apiextensions.k8s.io/v1/customresourcedefinitions)
  answer "{$served \"name\": \"widgets.example.com\"}, \"spec\": {\"group\": \"example.com\", \"names\": {\"kind\": \"Widget\", \"plural\": \"widgets\"}, \"scope\": \"Namespaced\", \"versions\": [{\"name\": \"v1\", \"served\": true, \"storage\": true, \"schema\": {\"openAPIV3Schema\": {\"type\": \"object\"}}}]}}, {$served \"name\": \"others.example.com\"}, \"spec\": {\"group\": \"other.example.com\", \"names\": {\"kind\": \"Other\", \"plural\": \"others\"}}}";;
/api/v1/namespaces) case $2 in
  *continue=next) answer "{$served \"name\": \"shop\", \"labels\": {\"team\": \"web\"}}}";;
  *) answer "{$served \"name\": \"default\"}, \"spec\": {\"finalizers\": [\"kubernetes\"]}, \"status\": {\"phase\": \"Active\"}}" | sed 's/"resourceVersion": "7"/"continue": "next"/';;
  esac;;
/api/v1/namespaces/shop/configmaps/teams) echo "{$served \"name\": \"teams\", \"namespace\": \"shop\"}, \"data\": {\"web\": \"payments\"}}";;
/api/v1/secrets) answer "{$served \"name\": \"other\", \"namespace\": \"shop\"}, \"data\": {\"a\": \"b3RoZXI=\"}}, {$served \"name\": \"token\", \"namespace\": \"shop\"}, \"data\": {\"a\": \"dG9rZW4=\"}}";;
/api/v1/namespaces/shop/secrets/token) echo "{$served \"name\": \"token\", \"namespace\": \"shop\"}, \"data\": {\"a\": \"dG9rZW4=\"}}";;
/apis/apps/v1/namespaces/kyverno/deployments/kyverno-admission-controller) echo "{$served \"name\": \"kyverno-admission-controller\", \"namespace\": \"kyverno\"}, \"spec\": {\"template\": {\"spec\": {\"containers\": [{\"name\": \"kyverno\", \"image\": \"reg.example.com/kyverno/kyverno:v1.19.0\"}]}}}}";;
*) echo "Error from server (NotFound): the server could not find the requested resource" >&2; exit 1;;
esac
