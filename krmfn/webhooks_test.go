package krmfn

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// webhookServer is a webhook that labels objects: it adds the path of its URL, and what extra returns.
func webhookServer(t *testing.T, calls *atomic.Int32, extra func(n int32) string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		var review struct {
			APIVersion, Kind string
			Request          struct {
				UID    string
				Object struct{ Metadata map[string]any }
			}
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &review); err != nil {
			t.Error(err)
		}
		patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/labels","value":{"path":%q%s}}]`, strings.Trim(r.URL.Path, "/"), extra(n))
		if review.Request.Object.Metadata["labels"] != nil {
			patch = "[]"
		}
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"response":{"uid":%q,"allowed":true,"patchType":"JSONPatch","patch":%q}}`,
			review.APIVersion, review.Kind, review.Request.UID, base64.StdEncoding.EncodeToString([]byte(patch)))
	}))
	t.Cleanup(server.Close)
	return server
}

const webhookFiles = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: labels}
webhooks:
- name: labels.example.com
  clientConfig: {service: {name: labels, namespace: labels, path: /here}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps, secrets, pods]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 1
`

// callWebhook runs a command in a directory with a configuration and manifests.
func callWebhook(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	status = Main(context.Background(), &Process{Args: args, Dir: dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Run: RunProgram, Now: fakeClock()})
	return out.String(), err.String(), status
}

// webhookDir returns a directory with a configuration, manifests and the certificate of a server.
func webhookDir(t *testing.T, server *httptest.Server, manifests string) string {
	t.Helper()
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string]string{"webhooks.yaml": webhookFiles, "m.yaml": manifests, "ca.pem": string(ca)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const labelled = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"

// TestWebhookURL calls a webhook at a URL, records its answers, and replays them without it.
func TestWebhookURL(t *testing.T) {
	var calls atomic.Int32
	server := webhookServer(t, &calls, func(int32) string { return "" })
	dir := webhookDir(t, server, labelled)
	live := []string{"render", "-c", "webhooks.yaml", "--webhook", "labels=" + server.URL, "--webhook-ca", "ca.pem", "--record-webhooks", "answers.yaml", "m.yaml"}
	stdout, stderr, status := callWebhook(t, dir, live...)
	if status != 0 || stderr != "" || strings.Count(stdout, "path: here") != 2 {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	if n := calls.Load(); n != 8 { // two objects and their outputs, each asked twice
		t.Errorf("%d calls", n)
	}
	info, err := os.Stat(filepath.Join(dir, "answers.yaml"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v: %v", info, err)
	}
	first, _ := os.ReadFile(filepath.Join(dir, "answers.yaml"))
	if callWebhook(t, dir, live...); true {
		if second, _ := os.ReadFile(filepath.Join(dir, "answers.yaml")); !bytes.Equal(first, second) {
			t.Errorf("recorded again, the answers are\n%s, and were\n%s", second, first)
		}
	}
	server.Close()
	replayed, stderr, status := callWebhook(t, dir, "render", "-c", "webhooks.yaml", "--webhook-answers", "answers.yaml", "m.yaml")
	if replayed != stdout || stderr != "" || status != 0 {
		t.Errorf("status %d\n%s%s, want\n%s", status, replayed, stderr, stdout)
	}
	if _, stderr, status := callWebhook(t, dir, live...); status != 1 || !strings.Contains(stderr, `failed calling webhook "labels.example.com": failed to call webhook: Post "`+server.URL+`/here?timeout=1s": dial tcp`) {
		t.Errorf("status %d of a server that is gone\n%s", status, stderr)
	}
}

// TestWebhookAnswersTwice reports a webhook that gives two answers to one request, one that is slow, and
// one whose certificate is unknown.
func TestWebhookAnswersTwice(t *testing.T) {
	var calls atomic.Int32
	server := webhookServer(t, &calls, func(n int32) string { return fmt.Sprintf(`,"n":"%d"`, n) })
	dir := webhookDir(t, server, labelled)
	_, stderr, status := callWebhook(t, dir, "render", "-c", "webhooks.yaml", "--webhook", "labels.example.com="+server.URL+"/here", "--webhook-ca", "ca.pem", "m.yaml")
	if status != 0 || strings.Count(stderr, "webhook-not-deterministic") != 1 {
		t.Errorf("status %d\n%s", status, stderr)
	}
	_, stderr, status = callWebhook(t, dir, "render", "-c", "webhooks.yaml", "--webhook", "labels="+server.URL, "m.yaml")
	if status != 1 || !strings.Contains(stderr, "certificate") {
		t.Errorf("status %d without --webhook-ca\n%s", status, stderr)
	}
	slow := webhookServer(t, &calls, func(int32) string { time.Sleep(1500 * time.Millisecond); return "" })
	dir = webhookDir(t, slow, labelled)
	_, stderr, status = callWebhook(t, dir, "render", "-c", "webhooks.yaml", "--webhook", "labels="+slow.URL, "--webhook-ca", "ca.pem", "m.yaml")
	if status != 1 || !strings.Contains(stderr, "context deadline exceeded") {
		t.Errorf("status %d of a slow webhook\n%s", status, stderr)
	}
}

// TestWebhookSecrets records requests about Secrets without their values, and replays them.
func TestWebhookSecrets(t *testing.T) {
	var calls atomic.Int32
	server := webhookServer(t, &calls, func(int32) string { return "" })
	const secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: canary-in-a-secret\n"
	dir := webhookDir(t, server, secret)
	live := []string{"render", "-c", "webhooks.yaml", "--webhook", "labels=" + server.URL, "--webhook-ca", "ca.pem", "--record-webhooks", "answers.yaml", "m.yaml"}
	stdout, stderr, status := callWebhook(t, dir, live...)
	if status != 0 || stderr != "" || !strings.Contains(stdout, "path: here") {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	recorded, _ := os.ReadFile(filepath.Join(dir, "answers.yaml"))
	for _, text := range []string{"canary-in-a-secret", base64.StdEncoding.EncodeToString([]byte("canary-in-a-secret"))} {
		if bytes.Contains(recorded, []byte(text)) {
			t.Errorf("the recorded answers contain %s", text)
		}
	}
	replayed, stderr, status := callWebhook(t, dir, "render", "-c", "webhooks.yaml", "--webhook-answers", "answers.yaml", "m.yaml")
	if replayed != stdout || stderr != "" || status != 0 {
		t.Errorf("status %d\n%s%s, want\n%s", status, replayed, stderr, stdout)
	}
	callWebhook(t, dir, append(live, "--record-secrets")...)
	if recorded, _ = os.ReadFile(filepath.Join(dir, "answers.yaml")); !bytes.Contains(recorded, []byte(base64.StdEncoding.EncodeToString([]byte("canary-in-a-secret")))) {
		t.Errorf("--record-secrets records no Secrets\n%s", recorded)
	}
}

// TestWebhookBuild calls a webhook about the objects of two applications that are rendered, records its
// answers, and replays them without it.
func TestWebhookBuild(t *testing.T) {
	var calls atomic.Int32
	server := webhookServer(t, &calls, func(int32) string { return "" })
	dir := webhookDir(t, server, labelled)
	for _, app := range []string{"one", "two"} {
		writeFile(t, filepath.Join(dir, "apps", app, "kustomization.yaml"), "resources: [m.yaml]\n")
		writeFile(t, filepath.Join(dir, "apps", app, "m.yaml"), strings.ReplaceAll(labelled, "name: ", "name: "+app+"-"))
	}
	putInPath(t, map[string]string{"kustomize": "cat m.yaml"})
	for _, command := range []string{"diff", "explain", "check"} {
		live := []string{command, "--build", "-c", "webhooks.yaml", "--webhook", "labels=" + server.URL, "--webhook-ca", "ca.pem", "--record-webhooks", "answers.yaml", "apps"}
		before := calls.Load()
		stdout, stderr, status := callWebhook(t, dir, live...)
		if status > 1 || strings.Contains(stdout+stderr, "error") || calls.Load() == before {
			t.Fatalf("%s: status %d, %d calls\n%s%s", command, status, calls.Load()-before, stdout, stderr)
		}
		if command == "diff" && strings.Count(stdout, "path: here") != 4 {
			t.Errorf("the webhook has not changed the objects:\n%s", stdout)
		}
		replayed, more, again := callWebhook(t, dir, command, "--build", "-c", "webhooks.yaml", "--webhook-answers", "answers.yaml", "apps")
		if replayed != stdout || more != stderr || again != status {
			t.Errorf("%s: status %d\n%s%s, want\n%s%s", command, again, replayed, more, stdout, stderr)
		}
	}
	if _, stderr, status := callWebhook(t, dir, "diff", "--build", "-c", "webhooks.yaml", "--webhook", "labels=ftp://x", "apps"); status != 2 || !strings.Contains(stderr, "option-value") {
		t.Errorf("status %d for a wrong option\n%s", status, stderr)
	}
}

// TestWebhookOtherObjects records requests about a Pod and a ConfigMap with values of a Secret: they are masked
// and replay, and the file is private, also if it was not before. Answers that need the values are left
// out with a warning.
func TestWebhookOtherObjects(t *testing.T) {
	const canary = "canary-in-a-secret"
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	manifests := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: " + canary + ", word: default, short: abc, lines: \"first line\\nsecond line\"}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: default\n  annotations: {dsn: 'user:" + canary + "@host', short: abc}\nspec:\n  containers:\n  - {name: c, image: i, env: [{name: A, value: " + encoded + "}]}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  text: |\n    before\n    second line\n"
	var calls atomic.Int32
	server := webhookServer(t, &calls, func(int32) string { return "" })
	dir := webhookDir(t, server, manifests)
	answers := filepath.Join(dir, "answers.yaml")
	if err := os.WriteFile(answers, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	live := []string{"render", "-c", "webhooks.yaml", "--webhook", "labels=" + server.URL, "--webhook-ca", "ca.pem", "--record-webhooks", "answers.yaml", "m.yaml"}
	stdout, stderr, status := callWebhook(t, dir, live...)
	if status != 0 || stderr != "" || strings.Count(stdout, "path: here") != 3 {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	recorded, _ := os.ReadFile(answers)
	for _, text := range []string{canary, encoded, "second line"} {
		if bytes.Contains(recorded, []byte(text)) {
			t.Errorf("the recorded answers contain %s\n%s", text, recorded)
		}
	}
	if !bytes.Contains(recorded, []byte("user:*****@host")) || !bytes.Contains(recorded, []byte("before")) {
		t.Errorf("more than the values is masked:\n%s", recorded)
	}
	private := func() {
		t.Helper()
		if info, err := os.Stat(answers); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v: %v", info.Mode(), err)
		}
	}
	private()
	if err := os.Chmod(answers, 0o644); err != nil { // the same contents again
		t.Fatal(err)
	}
	callWebhook(t, dir, live...)
	private()
	replayed, stderr, status := callWebhook(t, dir, "render", "-c", "webhooks.yaml", "--webhook-answers", "answers.yaml", "m.yaml")
	if replayed != stdout || stderr != "" || status != 0 {
		t.Errorf("status %d\n%s%s, want\n%s", status, replayed, stderr, stdout)
	}
	changed := strings.Replace(manifests, "@host", "@other", 1)
	if err := os.WriteFile(filepath.Join(dir, "m.yaml"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, status = callWebhook(t, dir, "render", "-c", "webhooks.yaml", "--webhook-answers", "answers.yaml", "m.yaml")
	if status != 2 || !strings.Contains(stderr, "@other") || strings.Contains(stderr, canary) {
		t.Errorf("status %d of a text that has changed beside the value\n%s", status, stderr)
	}
	copying := webhookServer(t, &calls, func(int32) string { return fmt.Sprintf(`,"copied":%q`, encoded) })
	dir = webhookDir(t, copying, manifests)
	live[4] = "labels=" + copying.URL
	_, stderr, status = callWebhook(t, dir, live...)
	if status != 0 || !strings.Contains(stderr, "webhook-not-recorded") || !strings.Contains(stderr, "labels.example.com of labels at CREATE of Pod default/p") || strings.Contains(stderr, encoded) {
		t.Errorf("status %d of answers with a value\n%s", status, stderr)
	}
	if recorded, _ = os.ReadFile(filepath.Join(dir, "answers.yaml")); bytes.Contains(recorded, []byte(encoded)) {
		t.Errorf("an answer with a value was recorded:\n%s", recorded)
	}
}
