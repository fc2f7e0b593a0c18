package growth

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/krmfn"
)

// cluster is a server that serves ConfigMaps, for kubectl.
type cluster struct {
	// answer returns the answer to a dry run.
	answer func(sent string) string
	// webhooks are the items of the list of webhook configurations.
	webhooks string
}

// starter returns what runs the programs for the input of a size, or nil.
func (d dimension) starter(n int) func(context.Context, *krmfn.Program) ([]byte, error) {
	if d.cluster == nil {
		return d.program
	}
	return d.cluster(n).kubectl
}

// labelled answers as a server with the policies of labels.
func labelled(sent string) string {
	if strings.Contains(sent, `"team":"x"`) {
		return sent
	}
	return strings.Replace(sent, `"labels":{`, `"labels":{"team":"x",`, 1)
}

// kubectl answers as the program kubectl does.
func (c *cluster) kubectl(_ context.Context, program *krmfn.Program) ([]byte, error) {
	at := slices.Index(program.Args, "--raw")
	path, _, _ := strings.Cut(program.Args[at+1], "?")
	if program.Args[at-1] == "create" {
		sent, err := io.ReadAll(program.Stdin)
		return []byte(c.answer(string(sent))), err
	}
	for name, answer := range map[string]string{
		"/version":                              `{"gitVersion": "v1.36.3"}`,
		"/api/v1":                               `{"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}]}`,
		"/apis":                                 `{"groups": [{"name": "admissionregistration.k8s.io", "versions": [{"version": "v1"}]}]}`,
		"/apis/admissionregistration.k8s.io/v1": `{"resources": [{"name": "mutatingwebhookconfigurations", "kind": "MutatingWebhookConfiguration"}]}`,
		"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": `{"items": [` + c.webhooks + `]}`,
	} {
		if path == name {
			return []byte(answer), nil
		}
	}
	io.WriteString(program.Stderr, "Error from server (NotFound): not found\n")
	return nil, errors.New("exit status 1")
}

// ofVerify are the dimensions of verify. Every object is sent in two requests.
func ofVerify() []dimension {
	agrees := func(int) *cluster { return &cluster{answer: labelled} }
	differs := func(sent string) string { return strings.ReplaceAll(sent, `:"b-`, `:"other-`) }
	webhook := `{"metadata": {"name": "w-#"}, "webhooks": [{"name": "w-#.example.com", "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]},`
	all := []dimension{
		{name: "verify/objects", n: 40, cluster: agrees, files: func(n int) map[string]string {
			return input(labels(2), configMaps(n))
		}},
		{name: "verify/policies", n: 16, cluster: agrees, files: func(n int) map[string]string {
			return input(labels(n), configMaps(2))
		}},
		{name: "verify/context", n: 50, cluster: agrees, files: func(n int) map[string]string {
			return input(labels(2)+lines(n, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n-#}\n"), configMaps(2))
		}},
		{name: "verify/fields", n: 125, cluster: agrees, files: func(n int) map[string]string {
			return input(labels(2), configMap(n))
		}},
		{name: "verify/findings", n: 40, cluster: func(int) *cluster { return &cluster{answer: differs} }, files: func(n int) map[string]string {
			return input(labels(2), configMaps(n))
		}},
		{name: "verify/differences", n: 75, cluster: func(int) *cluster {
			return &cluster{answer: func(sent string) string { return strings.ReplaceAll(sent, `:"value-`, `:"other-`) }}
		}, files: func(n int) map[string]string {
			return input(labels(2), configMap(n))
		}},
		{name: "verify/suspects", n: 25, cluster: func(n int) *cluster {
			return &cluster{answer: differs, webhooks: strings.TrimSuffix(lines(n, webhook), ",")}
		}, files: func(int) map[string]string {
			return input(labels(2), configMaps(2))
		}},
	}
	for i := range all {
		all[i].commands = []string{"verify"}
	}
	return all
}
