package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// validator validates a document with a schema in testdata/schemas.
type validator func(t *testing.T, document string) error

// validatorWith returns a validator that runs a command with a file as its last argument. The command
// fails if the file is not valid.
func validatorWith(command ...string) validator {
	return func(t *testing.T, document string) error {
		file := filepath.Join(t.TempDir(), "document")
		writeFile(t, file, document)
		if output, err := exec.Command(command[0], append(command[1:], file)...).CombinedOutput(); err != nil {
			return fmt.Errorf("not valid: %w\n%s\n%s", err, output, document)
		}
		return nil
	}
}

// missing skips a test because a client is missing; in CI, the test fails.
func missing(t *testing.T, client string, err error, output []byte) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing: %v\n%s", client, err, output)
	}
	t.Skipf("%s is missing: %v\n%s", client, err, output)
}

// sarifValidator returns a JSON Schema validator, built from its Go module, with the schema of SARIF.
func sarifValidator(t *testing.T) validator {
	t.Helper()
	command := exec.Command("go", "tool", "-n", "jv")
	command.Dir = "../testdata/clients/jsonschema"
	var stderr bytes.Buffer
	command.Stderr = &stderr
	path, err := command.Output()
	if err != nil {
		missing(t, "the validator jv", err, stderr.Bytes())
	}
	return validatorWith(strings.TrimSpace(string(path)), "testdata/schemas/sarif-2.1.0-rtm.5.json")
}

// junitValidator returns xmllint from libxml2 with the schema of JUnit reports.
func junitValidator(t *testing.T) validator {
	t.Helper()
	path, err := exec.LookPath("xmllint")
	if err != nil {
		missing(t, "xmllint (of libxml2-utils)", err, nil)
	}
	return validatorWith(path, "--noout", "--nonet", "--schema", "testdata/schemas/junit.xsd")
}

// hostile has names and values that formats must escape: markup, the end of a CDATA section, control
// characters, characters that XML cannot represent, letters of other scripts and of other Unicode
// planes, and a Secret.
var hostile = map[string]string{
	"policy.txt": teamPolicy,
	"deny.txt":   policyText("deny", "configmaps", `Object{metadata: Object.metadata{labels: {"a": object.data["]]>\u0001\u001b[31m<b>"]}}}`),
	"wider.txt": policyText("wider", `"*"`, `Object{metadata: Object.metadata{annotations: {"note": object.metadata.annotations["note"] +
          "<b>&amp;'\"]]>\u0007\u001b[31m \u2028 ünïcødé 𝒳 \ufffe"}}}`),
	"m/a b%25#?:ü'\"<&>.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: hostile
  annotations: {note: "\u0000\b\x7f]]><!-- %0A::error::x \uFFFF", other: "]]>"}
data: {"]]>": "<script>alert(1)</script>"}
`,
	"m/secret.yaml": `apiVersion: v1
kind: Secret
metadata: {name: secret, annotations: {note: "hunter2hunter2"}}
stringData: {password: hunter2hunter2}
`,
	"m/preadmit-test.yaml": `apiVersion: preadmit.dev/v1alpha1
kind: PreadmitTest
metadata: {name: "]]>\u0001<&\"'\uFFFF"}
spec: {policyPaths: [../policy.txt, ../wider.txt], manifests: [secret.yaml], expected: wrong.txt}
`,
	"m/wrong.txt": "password: ]]>\x01\x1b[0m hunter2hunter2\n",
}

// TestSchemas validates the outputs in formats for programs with the schemas of the formats: outputs
// of the stories and of hostile input.
func TestSchemas(t *testing.T) {
	for _, c := range []struct {
		format      string
		validatorOf func(t *testing.T) validator
		wrong       string
	}{
		{"sarif", sarifValidator, `{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}`},
		{"junit", junitValidator, `<testsuites><testcase name="in no suite"/></testsuites>`},
	} {
		t.Run(c.format, func(t *testing.T) {
			validate := c.validatorOf(t)
			if validate(t, c.wrong) == nil {
				t.Fatalf("%s is valid", c.wrong)
			}
			for name, output := range outputsOf(t, "*-"+c.format+".txt") {
				if err := validate(t, output); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			dir := tree(t, hostile)
			for arguments, want := range map[string]string{
				"diff -p policy.txt -p wider.txt m":  "Secret/default/secret",
				"diff -p deny.txt m":                 "denied",
				"check -p policy.txt -p wider.txt m": "not-idempotent",
				"check -p deny.txt m":                "denied",
				"check -p policy.txt":                "preadmit",
				"test m":                             "wrong.txt",
			} {
				var stdout, stderr bytes.Buffer
				p := &Process{Args: append(strings.Fields(arguments), "-o", c.format), Dir: dir, Stdout: &stdout, Stderr: &stderr}
				status := Main(context.Background(), p)
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("%s: status %d, no %q in\n%s%s", arguments, status, want, &stdout, &stderr)
					continue
				}
				if err := validate(t, stdout.String()); err != nil {
					t.Errorf("%s: %v", arguments, err)
				}
				if strings.Contains(stdout.String(), "hunter2") {
					t.Errorf("%s shows a Secret:\n%s", arguments, &stdout)
				}
			}
		})
	}
}
