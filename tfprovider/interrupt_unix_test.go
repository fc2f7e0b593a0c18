//go:build unix

package tfprovider

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestInterrupt presses Ctrl-C while policies run that would take minutes. Terraform ends with one
// error, which is not that of a policy.
func TestInterrupt(t *testing.T) {
	c := newCLI(t, configuration(t, map[string]string{
		"main.tf": required + `
			locals {
				manifests = [for i in range(1000) : jsonencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c${i}" }, data = {} })]
			}
			data "preadmit_manifests" "x" {
				manifests = local.manifests
				policies  = [file("${path.module}/policy.yaml")]
			}
		`,
		"policy.yaml": slowPolicy(10),
	}))
	got := interruptedPlan(t, c)
	for attempts := 1; strings.Contains(got, "execution halted") && attempts < 5; attempts++ { // before Terraform asked the provider
		got = interruptedPlan(t, c)
	}
	if strings.Count(got, "Error:") != 1 || !strings.Contains(got, "Error: Interrupted [interrupted]") {
		t.Error(got)
	}
}

// interruptedPlan interrupts a plan as soon as it says that it reads, and returns its output.
func interruptedPlan(t *testing.T, c *cli) string {
	t.Helper()
	command := exec.Command(c.client, "plan")
	command.Dir, command.Env = c.directory, append(append(os.Environ(), "TF_CLI_ARGS=-no-color"), c.environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal signals a group
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	lines := bufio.NewScanner(io.TeeReader(output, &text))
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Reading...") {
			if err := syscall.Kill(-command.Process.Pid, syscall.SIGINT); err != nil {
				t.Error(err)
			}
			break
		}
	}
	for lines.Scan() {
	}
	if err := command.Wait(); err == nil {
		t.Error("the plan was finished")
	}
	return text.String()
}

// slowPolicy is a policy with mutations that take long, each about a tenth of a second.
func slowPolicy(mutations int) string {
	var b strings.Builder
	b.WriteString(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: slow}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  mutations:
`)
	for i := range mutations {
		fmt.Fprintf(&b, `  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "add", path: "/data/k%d", value: string(lists.range(150 + object.metadata.name.size()).filter(a, lists.range(150).all(b, a * b >= %d)).size())}]'
`, i, -i)
	}
	b.WriteString(`---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: slow}
spec: {policyName: slow}
`)
	return b.String()
}
