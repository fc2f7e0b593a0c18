package krmfn

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// livePolicies are policies of a test cluster: one with a param, and one whose binding is not in the
// snapshot.
const livePolicies = `
apiVersion: v1
kind: Namespace
metadata: {name: preadmit-live, labels: {team: live}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: preadmit-live}
data: {owner: somebody}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: preadmit-live}
spec:
  reinvocationPolicy: Never
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    namespaceSelector: {matchLabels: {team: live}}
    resourceRules: [{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, services, deployments]}]
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"owner": string(params.data.owner), "by": request.userInfo.username.replace(":", "-")}}}'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: preadmit-live}
spec: {policyName: preadmit-live, paramRef: {name: settings, namespace: preadmit-live, parameterNotFoundAction: Deny}}
`

// liveManifests are new objects, and one that exists.
const liveManifests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: preadmit-live}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: preadmit-live}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: existing, namespace: preadmit-live}
data: {a: changed}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: preadmit-live}
stringData: {a: some-token}
`

// liveKubectl runs kubectl with an input.
func liveKubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	command := exec.Command("kubectl", args...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// liveState returns all objects of the kinds that the test sends, with their resourceVersions.
func liveState(t *testing.T) string {
	t.Helper()
	state := liveKubectl(t, "", "get", "configmaps,secrets,services,deployments,namespaces,mutatingadmissionpolicies", "-A", "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
	lines := strings.Split(state, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestLiveCluster takes snapshots of a real cluster, and verifies manifests on it. It creates a
// Namespace and a policy for it, and deletes them.
func TestLiveCluster(t *testing.T) {
	if os.Getenv("PREADMIT_LIVE") != "install" {
		t.Skip("set PREADMIT_LIVE=install and KUBECONFIG to use a cluster")
	}
	liveKubectl(t, livePolicies, "apply", "-f", "-")
	t.Cleanup(func() { liveKubectl(t, livePolicies, "delete", "--wait=false", "-f", "-") })
	liveKubectl(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: existing, namespace: preadmit-live}\ndata: {a: b}\n", "apply", "-f", "-")
	time.Sleep(3 * time.Second) // until the server runs the policy

	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "m.yaml"), liveManifests)
	run := func(want int, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		status := Main(context.Background(), &Process{Args: args, Dir: dir, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Run: RunProgram, Now: time.Now})
		if status != want {
			t.Fatalf("%v: status %d\n%s%s", args, status, &stdout, &stderr)
		}
		return stdout.String() + stderr.String()
	}
	run(0, "snapshot", "-o", "cluster")
	before := filesIn(t, filepath.Join(dir, "cluster"))
	if said := run(0, "snapshot", "-o", "cluster"); !strings.Contains(said, "; 0 files written, 0 removed") || before["ConfigMap/preadmit-live/settings.yaml"] == "" {
		t.Errorf("the second snapshot differs: %s", said)
	}
	state := liveState(t)
	if said := run(0, "verify", "--snapshot", "cluster", "--admission-plugins", "none", "m.yaml"); !strings.Contains(said, "4 equal") {
		t.Error(said)
	}
	if err := os.RemoveAll(filepath.Join(dir, "cluster", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io")); err != nil {
		t.Fatal(err)
	}
	said := run(1, "verify", "--snapshot", "cluster", "--admission-plugins", "none", "m.yaml")
	if !strings.Contains(said, "suspect: MutatingAdmissionPolicyBinding preadmit-live is new") || !strings.Contains(said, "1 equal, 0 refused as predicted, 3 differ") {
		t.Error(said)
	}
	if after := liveState(t); after != state {
		t.Errorf("the cluster has changed:\n%s\nwas\n%s", after, state)
	}
}
