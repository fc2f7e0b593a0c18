package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
)

// TestInvalid compares with the errors of kube-apiserver 1.36.3. The specs have its defaults;
// uids are zeros.
func TestInvalid(t *testing.T) {
	const (
		selector = `"selector":{"matchLabels":{"app":"x"}}`
		other    = `"selector":{"matchLabels":{"app":"y"}}`
		labels   = `"metadata":{"labels":{"app":"x"}}`
		pod      = `"spec":{"containers":[{"name":"c","image":"a"}],"restartPolicy":"Always"}`
		never    = `"spec":{"containers":[{"name":"c","image":"a"}],"restartPolicy":"Never"}`
		noPod    = `"spec":{"restartPolicy":"Always"}`
		unnamed  = `"spec":{"containers":[{"image":"a"}],"restartPolicy":"Always"}`
		mismatch = "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`"
		ends     = `.restartPolicy: Required value: valid values: "OnFailure", "Never"`
		uid      = `"batch.kubernetes.io/controller-uid":"00000000-0000-0000-0000-000000000000"`
		all      = uid + `,"batch.kubernetes.io/job-name":"x","controller-uid":"00000000-0000-0000-0000-000000000000","job-name":"x"`
	)
	for _, c := range []struct {
		kind           gvk.Kind
		spec, problems string
	}{
		{DeploymentKind, selector + `,"template":{` + labels + "," + pod + "}", ""},
		{DeploymentKind, selector + `,"template":{` + labels + "," + noPod + "}", "spec.template.spec.containers: Required value"},
		{DeploymentKind, selector + `,"template":{` + labels + "," + unnamed + "}", "spec.template.spec.containers[0].name: Required value"},
		{DeploymentKind, other + `,"template":{` + labels + "," + pod + "}", mismatch},
		{DeploymentKind, `"template":{` + labels + "," + pod + "}", "[spec.selector: Required value, " + mismatch + "]"},
		{DaemonSetKind, `"template":{` + labels + "," + pod + "}", mismatch},
		{StatefulSetKind, `"selector":{},"template":{` + labels + "," + pod + "}", "spec.selector: Invalid value: {}: empty selector is invalid for statefulset"},
		{ReplicaSetKind, `"selector":{},"template":{` + labels + "," + pod + "}", "spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
		{ReplicaSetKind, selector + `,"template":{` + pod + "}", "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"},
		{ReplicaSetKind, selector + `,"template":{` + labels + "," + never + "}", `spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		{ReplicationControllerKind, `"selector":{"app":"x"}`, "spec.template: Required value"},
		{ReplicationControllerKind, `"selector":{"app":"y"},"template":{` + labels + "," + pod + "}", mismatch},
		{JobKind, `"template":{` + never + "}", ""},
		{JobKind, `"template":{` + noPod + "}", "[spec.template.spec.containers: Required value, spec.template.spec" + ends + "]"},
		{JobKind, other + `,"template":{` + labels + "," + pod + "}", "[spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"y\"," + uid + "}}: `selector` not auto-generated, spec.template.spec" + ends +
			", spec.template.metadata.labels: Invalid value: {\"app\":\"x\"," + all + "}: `selector` does not match template `labels`]"},
		{CronJobKind, `"jobTemplate":{"spec":{` + other + `,"template":{` + pod + "}}}", "[spec.jobTemplate.spec.template.spec" + ends +
			", spec.jobTemplate.spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"y\"}}: `selector` will be auto-generated]"},
	} {
		var object map[string]any
		text := `{"apiVersion":"` + c.kind.APIVersion() + `","kind":"` + c.kind.Kind + `","metadata":{"name":"x"},"spec":{` + c.spec + `}}`
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want := ""
		if c.problems != "" {
			name := strings.TrimSuffix(c.kind.Kind+"."+c.kind.Group, ".")
			want = name + ` "x" is invalid: ` + c.problems
		}
		got := ""
		if _, err := Invalid(c.kind, Stored(c.kind, object)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.kind.Kind, c.spec, got, want)
		}
	}
}
