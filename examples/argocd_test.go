package examples

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plugin is a running argocd-cmp-server with the config management plugin of the example.
type plugin struct {
	socket string
}

// startPlugin starts the server with the plugin.yaml of the example and a directory of policies that
// looks like a mounted ConfigMap.
func startPlugin(t *testing.T, policies string) *plugin {
	t.Helper()
	clients(t, "argocd-cmp-server", "cmpclient", "kustomize", "helm")
	// The path of a socket must be short.
	directory, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	for _, name := range []string{"config", "work", "policies/..data"} {
		if err := os.MkdirAll(filepath.Join(directory, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	mounted := filepath.Join(directory, "policies")
	for name, text := range tree(t, policies) {
		write(t, filepath.Join(mounted, "..data", name), text)
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(mounted, name)); err != nil {
			t.Fatal(err)
		}
	}
	config := read(t, "argocd/sidecar/plugin.yaml")
	if strings.Count(config, "/policies") != 1 {
		t.Fatal("plugin.yaml does not name /policies")
	}
	write(t, filepath.Join(directory, "config/plugin.yaml"), strings.Replace(config, "/policies", mounted, 1))

	server := exec.Command("argocd-cmp-server", "--config-dir-path", filepath.Join(directory, "config"), "--logformat", "text")
	server.Env = append(os.Environ(), "ARGOCD_PLUGINSOCKFILEPATH="+directory, "ARGOCD_CMP_WORKDIR="+filepath.Join(directory, "work"))
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(log)
	var said strings.Builder
	for !strings.Contains(said.String(), "serving on") {
		line, err := lines.ReadString('\n')
		if said.WriteString(line); err != nil {
			break // the server has ended
		}
	}
	drained := make(chan struct{})
	go func() {
		io.Copy(io.Discard, lines)
		close(drained)
	}()
	t.Cleanup(func() {
		// The server does not end on other signals.
		server.Process.Kill()
		<-drained
		server.Wait()
	})
	socket := filepath.Join(directory, "preadmit.sock")
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("the server does not serve: %v\n%s", err, &said)
	}
	return &plugin{socket}
}

// ask sends a request about an application in a repository to the plugin.
func (p *plugin) ask(t *testing.T, question, repository, application, parameters string) result {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	return command(t, root, "", "cmpclient", p.socket, question, root, filepath.Join(root, application),
		"ARGOCD_APP_NAME=web", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_APP_SOURCE_PATH="+application,
		"KUBE_VERSION=1.36.1", "KUBE_API_VERSIONS=v1,apps/v1", "ARGOCD_APP_PARAMETERS="+parameters)
}

// generated returns the manifests of the plugin as a stream.
func (p *plugin) generated(t *testing.T, repository, application, parameters string) string {
	t.Helper()
	r := p.ask(t, "generate", repository, application, parameters)
	var answer struct{ Manifests []string }
	if err := json.Unmarshal([]byte(r.stdout), &answer); r.status != 0 || err != nil {
		t.Fatalf("exit status %d, %v\n%s\n%s", r.status, err, r.stdout, r.stderr)
	}
	return strings.Join(answer.Manifests, "\n---\n") + "\n"
}

func TestArgoCD(t *testing.T) {
	p := startPlugin(t, "argocd/sidecar/policies")
	for _, c := range []struct{ name, application, parameters, announced string }{
		{"plain", "apps/plain", "null", "policies context recurse"},
		{"kustomization", "apps/kustomization", "[]", "policies context"},
		{"chart", "apps/chart", `[{"name": "value-files", "array": ["production.yaml"]}]`, "policies context release-name value-files helm-parameters helm-values"},
	} {
		golden(t, "argocd/expected/"+c.name+".yaml", p.generated(t, "argocd", c.application, c.parameters))
		if r := p.ask(t, "match", "argocd", c.application, c.parameters); !strings.Contains(r.stdout, `"isSupported":true`) {
			t.Errorf("%s is not discovered:\n%s%s", c.name, r.stdout, r.stderr)
		}
		r := p.ask(t, "parameters", "argocd", c.application, c.parameters)
		var answer struct{ ParameterAnnouncements []struct{ Name string } }
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
			t.Fatalf("%v\n%s%s", err, r.stdout, r.stderr)
		}
		var names []string
		for _, a := range answer.ParameterAnnouncements {
			names = append(names, a.Name)
		}
		if got := strings.Join(names, " "); got != c.announced {
			t.Errorf("%s: announced %q, want %q", c.name, got, c.announced)
		}
	}

	repository := copied(t, "argocd")
	if err := os.Mkdir(filepath.Join(repository, "docs"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(repository, "docs/index.md"), "# Shop\n")
	if r := p.ask(t, "match", repository, "docs", "null"); !strings.Contains(r.stdout, `"isDiscoveryEnabled":true`) || strings.Contains(r.stdout, `"isSupported":true`) {
		t.Errorf("a directory without YAML:\n%s%s", r.stdout, r.stderr)
	}
}

// TestArgoCDSnapshot runs the plugin with a snapshot of a cluster in place of the policies. The manifests
// are the same.
func TestArgoCDSnapshot(t *testing.T) {
	p := startPlugin(t, "argocd/cluster")
	if got, want := p.generated(t, "argocd", "apps/plain", "null"), read(t, "argocd/expected/plain.yaml"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestArgoCDFailure checks that the plugin fails instead of returning no manifests.
func TestArgoCDFailure(t *testing.T) {
	p := startPlugin(t, "argocd/sidecar/policies")
	const secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web\nstringData:\n  PASSWORD: correct-horse\n"
	for _, c := range []struct{ name, application, file, text, says string }{
		{"kustomize fails", "kustomization", "kustomization.yaml", "resources: [missing.yaml]\n", "missing.yaml"},
		{"kustomize prints nothing", "kustomization", "kustomization.yaml", "namePrefix: a-\n", "there are no manifests in the output of kustomize"},
		{"Helm fails", "chart", "templates/web.yaml", "{{ .Values.missing.field }}\n", "nil pointer evaluating"},
		{"Helm prints nothing", "chart", "templates/web.yaml", "# nothing\n", "no manifests"},
		{"no manifests", "plain", "web.yaml", "# nothing\n", "no manifests"},
		{"denied", "plain", "web.yaml", secret, "Secret/shop/web: policy 'owner.example.com' with binding 'owner.example.com' denied request"},
		{"denied after kustomize", "kustomization", "web.yaml", strings.Replace(secret, "web", "other", 1), "Secret/shop/other: policy 'owner.example.com' with binding 'owner.example.com' denied request"},
		{"duplicate key", "plain", "web.yaml", secret + "  PASSWORD: correct-horse\n", "the key is repeated"},
		{"unreadable", "plain", "web.yaml", "kind: Secret\n  stringData: {PASSWORD: correct-horse}\n", "web.yaml:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repository := copied(t, "argocd")
			application := filepath.Join("apps", c.application)
			write(t, filepath.Join(repository, application, c.file), c.text)
			r := p.ask(t, "generate", repository, application, "null")
			if r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, c.says) {
				t.Errorf("exit status %d\n%s\n%s", r.status, r.stdout, r.stderr)
			}
			if strings.Contains(r.stderr, "correct-horse") {
				t.Errorf("the value of a Secret is shown:\n%s", r.stderr)
			}
		})
	}
}

// TestArgoCDInstall builds the two components with the resources that they patch.
func TestArgoCDInstall(t *testing.T) {
	clients(t, "kustomize")
	const install = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-repo-server
spec:
  template:
    spec:
      containers:
      - name: argocd-repo-server
        image: quay.io/argoproj/argocd
      volumes:
      - {name: var-files, emptyDir: {}}
      - {name: plugins, emptyDir: {}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
`
	for _, component := range []string{"sidecar", "build-options"} {
		directory := copied(t, "argocd")
		if err := os.Mkdir(filepath.Join(directory, "install"), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(directory, "install/install.yaml"), install)
		write(t, filepath.Join(directory, "install/kustomization.yaml"), "resources: [install.yaml]\ncomponents: [../"+component+"]\n")
		golden(t, "argocd/expected/"+component+".yaml", output(t, directory, "kustomize", "build", "install"))
	}
}
