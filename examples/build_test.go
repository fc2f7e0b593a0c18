package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildFiles are a repository with a base, an overlay that renames and patches it, and a chart.
var buildFiles = map[string]string{
	"policies/deny.yaml": buildPolicy("deny", "configmaps, services, deployments", `[JSONPatch{op: "remove", path: "/metadata/labels/none"}]`),
	"policies/team.yaml": buildPolicy("team", "deployments", `[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror/" + object.spec.template.spec.containers[0].image}]`),
	"base/kustomization.yaml": `resources: [web.yaml]
configMapGenerator:
- name: other
  literals: [a=b]
- name: settings
  literals: [a=b]
`,
	"base/web.yaml": `# The shop.
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {b: "1", a: 'x'}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: web
        image: web:1
`,
	"prod/kustomization.yaml": `resources: [../base]
namePrefix: prod-
namespace: shop
sortOptions: {order: legacy}
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {replicas: 3}
`,
	"asked/kustomization.yaml": "resources: [own.yaml]\nbuildMetadata: [originAnnotations]\n",
	"asked/own.yaml":           "\n\napiVersion: v1\nkind: Service\nmetadata: {name: asked}\nspec: {ports: [{port: 80}]}\n",
	"charts/beside.yaml":       "\napiVersion: v1\nkind: Service\nmetadata: {name: beside}\nspec: {ports: [{port: 80}]}\n",
	"charts/kustomization.yaml": `helmCharts:
- name: inner
  releaseName: web
- name: inner
  releaseName: web-two
  valuesFile: values.yaml
`,
	"charts/values.yaml":                       "a: b\n",
	"charts/charts/inner/Chart.yaml":           "apiVersion: v2\nname: inner\nversion: 1.0.0\n",
	"charts/charts/inner/values.yaml":          "a: c\n",
	"charts/charts/inner/templates/inner.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-inner}\ndata: {a: {{ .Values.a }}}\n",
	"needy/Chart.yaml":                         "apiVersion: v2\nname: needy\nversion: 1.0.0\nkubeVersion: '>=1.36'\n",
	"needy/templates/host.yaml":                "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\ndata: {host: {{ required \"host is required\" .Values.host }}}\n",
	"twice/Chart.yaml":                         "apiVersion: v2\nname: twice\nversion: 1.0.0\n",
	"twice/templates/good.yaml":                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n",
	"twice/templates/twice.yaml":               "apiVersion: v1\nkind: Service\nmetadata: {name: twice, name: twice}\n",
	"hosts/blue.yaml":                          "host: blue\n",
	"chart/Chart.yaml":                         "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
	"chart/templates/web.yaml": `{{- if true }}
# one
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}-one}
spec: {ports: [{port: 80}]}
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: web, image: "web:1"}]}
`,
	"chart/templates/two.yaml": `{{- range list "a" "b" }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ . }}}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-c}
`,
	"chart/templates/plain.yaml": "# plain\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: plain\n",
	"chart/templates/hidden.yaml": `{{- define "object" }}
kind: ConfigMap
{{- end }}
apiVersion: v1
{{ include "object" . }}
metadata: {name: hidden}
`,
}

func buildPolicy(name, resources, patch string) string {
	return strings.NewReplacer("NAME", name, "RESOURCES", resources, "PATCH", patch).Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [RESOURCES]}]}
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: 'PATCH'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
`)
}

// repository writes buildFiles to a directory.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeAll(t, dir, buildFiles)
	return dir
}

// writeAll writes files below a directory, with texts replaced.
func writeAll(t *testing.T, dir string, files map[string]string, replaced ...string) {
	t.Helper()
	with := strings.NewReplacer(replaced...)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, with.Replace(text))
	}
}

// TestBuildPositions checks that messages about rendered objects begin in the files of the repository, in
// all formats, with the real clients.
func TestBuildPositions(t *testing.T) {
	clients(t, "kustomize", "helm3")
	dir := repository(t)
	run := withHelm(t, "helm3", dir)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"check", "-v", "--build", "-p", "policies/deny.yaml", "prod", "chart", "asked"}, []string{
			"base/web.yaml:2:1: Service/shop/prod-web, rendered in prod\n", "base/web.yaml:7:1: apps/Deployment/shop/prod-web, rendered in prod\n", "base/kustomization.yaml:5:3: ConfigMap/shop/prod-settings-",
			"base/kustomization.yaml:3:3: ConfigMap/shop/prod-other-", "    asked: rendered here\n", "asked/own.yaml:3:1: error[denied]: Service/default/asked:",
			"chart/templates/hidden.yaml:1:1: ConfigMap/default/hidden, rendered in chart\n", "chart/templates/plain.yaml:2:1: ConfigMap/default/plain, rendered in chart\n",
			"chart/templates/two.yaml:1:1: ConfigMap/default/a, rendered in chart\n", "chart/templates/two.yaml:1:1: ConfigMap/default/chart-c, rendered in chart\n",
			"chart/templates/web.yaml:3:1: Service/default/chart-one, rendered in chart\n", "chart/templates/web.yaml:9:1: apps/Deployment/default/chart, rendered in chart\n",
		}},
		{[]string{"check", "-v", "--build", "-p", "policies/deny.yaml", "charts"}, []string{
			"charts/beside.yaml:2:1: error[denied]: Service/default/beside: ", "charts/kustomization.yaml:2:3: error[denied]: ConfigMap/default/web-inner: ",
			"charts/kustomization.yaml:4:3: error[denied]: ConfigMap/default/web-two-inner: ",
		}},
		{[]string{"check", "-v", "--build", "-p", "policies/deny.yaml", "twice"}, []string{"twice/templates/twice.yaml:1:1: error[duplicate-key]: metadata.name: the key is repeated\n    twice: rendered here\n"}},
		{[]string{"diff", "--build", "-o", "github", "-p", "policies/team.yaml", "prod"}, []string{"::warning title=preadmit mutation,file=base/web.yaml,line=19,col=16::apps/Deployment/shop/prod-web:"}},
		{[]string{"diff", "--build", "-o", "json", "-p", "policies/team.yaml", "prod"}, []string{`"renderedIn": "prod"`, `"line": 19`}},
		{[]string{"diff", "--build", "-o", "sarif", "-p", "policies/team.yaml", "prod"}, []string{`"uri": "base/web.yaml"`, `"startLine": 19`}},
		{[]string{"diff", "--build", "-o", "junit", "-p", "policies/team.yaml", "prod"}, []string{`base/web.yaml`}},
		{[]string{"diff", "--build", "-p", "policies/team.yaml", "prod"}, []string{"--- a/prod\twritten", "by team"}},
		{[]string{"explain", "--build", "-p", "policies/team.yaml", "prod"}, []string{"apps/Deployment/shop/prod-web  base/web.yaml:7:1, rendered in prod"}},
		{[]string{"report", "--build", "-p", "policies/team.yaml", "prod"}, []string{"apps/Deployment/shop/prod-web  base/web.yaml:7:1"}},
	} {
		got := run(c.args...)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("preadmit %v: there is no %q in\n%s", c.args, want, got)
			}
		}
		if strings.Contains(got, "preadmit-build") || strings.Contains(got, dir) {
			t.Errorf("preadmit %v names a temporary directory:\n%s", c.args, got)
		}
	}
}

// withHelm returns a function that runs preadmit in a directory with a version of Helm, and returns all
// that it prints.
func withHelm(t *testing.T, helm, dir string) func(args ...string) string {
	t.Helper()
	bin := t.TempDir()
	path, _ := exec.LookPath(helm)
	if err := os.Symlink(path, filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) string {
		command := exec.Command("preadmit", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		output, _ := command.CombinedOutput() // denials are what is expected
		return string(output)
	}
}

// TestBuildReleases renders several releases of a chart with both versions of Helm: what they have in
// common is at one place of the template, and a release without its values is an error by itself.
func TestBuildReleases(t *testing.T) {
	clients(t, "helm3", "helm4")
	dir := repository(t)
	write(t, filepath.Join(dir, ".preadmit.yaml"), `directories:
- path: needy
  chart: [{release: one, namespace: shop, values: [hosts/blue.yaml]}, {release: two, values: [hosts/blue.yaml]}, {release: three}]
`)
	for _, helm := range []string{"helm3", "helm4"} {
		got := withHelm(t, helm, dir)("check", "-v", "--build", "-p", "policies/deny.yaml", "needy")
		for _, want := range []string{
			"needy/templates/host.yaml:2:1: error[denied]: ConfigMap/shop/one: ", "    needy@shop/one: rendered here\n",
			"    the same in 1 more place:\n    needy/templates/host.yaml:2:1: ConfigMap/default/two, rendered in needy@two\n",
			"needy@three: error[command-failed]: helm template failed: exit status 1\n    Error: execution error at (needy/templates/host.yaml:5:16): host is required\n    if the chart needs values, name their files in .preadmit.yaml: ",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: there is no %q in\n%s", helm, want, got)
			}
		}
	}
}

// TestBuildAccepted checks that findings are accepted by the file that they begin in, and by the
// application.
func TestBuildAccepted(t *testing.T) {
	clients(t, "kustomize")
	dir := repository(t)
	for path, want := range map[string]string{"base/web.yaml": "2 findings are accepted", "prod": "4 findings are accepted", "base": "4 findings are accepted"} {
		write(t, filepath.Join(dir, ".preadmit.yaml"), "accepted: [{code: denied, path: "+path+", reason: known}]\n")
		command := exec.Command("preadmit", "check", "--build", "-p", "policies/deny.yaml", "prod")
		command.Dir = dir
		if output, _ := command.CombinedOutput(); !strings.Contains(string(output), want) || strings.Contains(string(output), "acceptance-unused") {
			t.Errorf("%s: there is no %q in\n%s", path, want, output)
		}
	}
}

// TestBuildOutput checks that what is evaluated is, byte for byte, what kustomize prints.
func TestBuildOutput(t *testing.T) {
	clients(t, "kustomize")
	dir := repository(t)
	write(t, filepath.Join(dir, "policies/none.yaml"), buildPolicy("none", "nodes", "[]"))
	for _, name := range []string{"base", "prod", "asked"} {
		command := exec.Command("kustomize", "build", name)
		command.Dir = dir
		want, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		command = exec.Command("preadmit", "diff", "--build", "--full", "-p", "policies/touch.yaml", name)
		command.Dir = dir
		write(t, filepath.Join(dir, "policies/touch.yaml"), buildPolicy("touch", "services", `[JSONPatch{op: "add", path: "/metadata/labels", value: {"a": "b"}}]`))
		got, _ := command.Output()
		var written strings.Builder
		for line := range strings.Lines(string(got)) {
			if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "--- a/") {
				written.WriteString(line[1:])
			}
		}
		if written.String() != string(want) {
			t.Errorf("%s: evaluated\n%s\nkustomize prints\n%s", name, &written, want)
		}
	}
}

// varyingChart is a chart whose values and names are other ones in each rendering, with a test.
var varyingChart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: dice\nversion: 1.0.0\n",
	"values.yaml": "{}\n",
	"templates/secret.yaml": `apiVersion: v1
kind: Secret
metadata: {name: dice}
data:
  password: {{ randAlphaNum 20 | b64enc }}
  user: {{ b64enc "USER" }}
`,
	"templates/settings.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  {{ randAlpha 8 | lower }}: key
  fixed: "FIXED"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data:
  app.conf: |
    seed={{ randNumeric 12 }}
    mode=MODE
`,
	"templates/web.yaml": `{{- $name := printf "web-%s" (randAlpha 10 | lower) }}
apiVersion: v1
kind: Pod
metadata:
  name: {{ $name }}
  annotations: {made: {{ now | unixEpoch | quote }}}
spec: {containers: [{name: web, image: "IMAGE"}]}
`,
	"templates/tests/test.yaml": `apiVersion: v1
kind: Pod
metadata:
  name: dice-test-{{ randAlpha 5 | lower }}
  annotations: {helm.sh/hook: "test, test-success"}
spec: {containers: [{name: test, image: "test:1"}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: dice-job
  annotations: {helm.sh/hook: "post-install, test"}
spec: {containers: [{name: test, image: "test:1"}]}
`,
}

// TestBuildVarying shows that diff --base does not take what Helm renders otherwise each time for a change,
// and that it shows the changes beside.
func TestBuildVarying(t *testing.T) {
	clients(t, "helm3", "helm4")
	for _, helm := range []string{"helm3", "helm4"} {
		for name, test := range map[string]struct {
			replaced, want, not []string
		}{
			"head": {nil, []string{
				"0 of 5 objects differ",
				"dice/templates/tests/test.yaml:1:1: info[not-rendered]: Pod/dice-test-", "helm creates this object only for helm test",
				"Secret/default/dice: data.password: Helm renders another value each time", "ConfigMap/default/settings: data, rendered in dice", "ConfigMap/default/app: data[app.conf], rendered in dice", ": metadata.name, rendered in dice",
			}, []string{"data.user", "data.fixed", "dice-job"}},
			"image":   {[]string{"IMAGE", "web:2"}, []string{"-    image: web:1\n", "+    image: web:2\n", "1 of 5 objects differ"}, []string{"dice-job", "-  password"}},
			"mode":    {[]string{"MODE", "n"}, []string{"-    mode=m\n", "+    mode=n\n", "1 of 5 objects differ"}, []string{"-    seed="}},
			"user":    {[]string{"USER", "other"}, []string{"1 of 5 objects differ"}, []string{"-  password"}},
			"lines":   {[]string{"MODE", "m\n    more=1"}, []string{"+    more=1\n", "1 of 5 objects differ"}, nil},
			"fixed":   {[]string{"{{ randAlphaNum 20 | b64enc }}", "Zml4ZWQ="}, []string{"1 of 5 objects differ"}, []string{"Secret/default/dice: data.password"}},
			"removed": {[]string{"kind: Pod\nmetadata:\n  name: {{", "kind: Node\nmetadata:\n  name: {{"}, []string{"1 added, 1 removed"}, nil},
		} {
			t.Run(helm+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				policies := map[string]string{"name.yaml": buildPolicy("name", "pods", `[JSONPatch{op: "add", path: "/metadata/labels", value: {"name": object.metadata.name}}]`)}
				writeAll(t, dir, policies)
				writeAll(t, filepath.Join(dir, "base"), policies)
				usual := []string{"USER", "u", "FIXED", "f", "MODE", "m", "IMAGE", "web:1"}
				writeAll(t, filepath.Join(dir, "base/dice"), varyingChart, usual...)
				writeAll(t, filepath.Join(dir, "dice"), varyingChart, append(test.replaced, usual...)...)
				got := withHelm(t, helm, dir)("diff", "-v", "--base", "base", "--build", "-p", "name.yaml", "dice")
				for _, want := range test.want {
					if !strings.Contains(got, want) {
						t.Errorf("there is no %q in\n%s", want, got)
					}
				}
				for _, not := range test.not {
					if strings.Contains(got, not) {
						t.Errorf("there is %q in\n%s", not, got)
					}
				}
			})
		}
	}
}

// TestBuildVaryingCharts is TestBuildVarying for a chart of a kustomization, which has the tests, too.
func TestBuildVaryingCharts(t *testing.T) {
	clients(t, "helm3", "kustomize")
	dir := t.TempDir()
	for _, state := range []string{"base/app", "app"} {
		writeAll(t, filepath.Join(dir, state, "charts/dice"), varyingChart, "USER", "u", "FIXED", "f", "MODE", "m", "IMAGE", "web:1")
		writeAll(t, filepath.Join(dir, state), map[string]string{"kustomization.yaml": "helmCharts: [{name: dice, releaseName: dice}]\n"})
	}
	writeAll(t, dir, map[string]string{"base/name.yaml": buildPolicy("name", "pods", `[JSONPatch{op: "test", path: "/kind", value: "Pod"}]`), "name.yaml": buildPolicy("name", "pods", `[JSONPatch{op: "test", path: "/kind", value: "Pod"}]`)})
	got := withHelm(t, "helm3", dir)("diff", "-v", "--base", "base", "--build", "-p", "name.yaml", "app")
	for _, want := range []string{"app/kustomization.yaml:1:14: Pod/default/dice-test-", "0 of 6 objects differ"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}

// TestBuildFolded shows that a denial of one manifest in several overlays is one message in all formats, at the
// manifest, with the value there.
func TestBuildFolded(t *testing.T) {
	clients(t, "kustomize")
	dir := t.TempDir()
	writeAll(t, dir, map[string]string{
		"old/none.txt":            "",
		"base/kustomization.yaml": "resources: [web.yaml]\n",
		"base/web.yaml":           "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: web:latest\n",
		"policy.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: tag}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers.all(c, !c.image.endsWith(':latest'))"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: tag}
spec: {policyName: tag, validationActions: [Deny]}
`,
	})
	for _, name := range []string{"one", "two", "three"} {
		writeAll(t, dir, map[string]string{name + "/kustomization.yaml": "resources: [../base]\nnamePrefix: " + name + "-\n"})
	}
	run := withHelm(t, "kustomize", dir)
	for _, command := range []string{"check", "diff --base old"} {
		for format, want := range map[string]string{"text": "\n    base/web.yaml:7:12: object.spec.containers[0].image: ", "json": `"count": 3`, "sarif": "the same in 2 more places", "github": "the same in 2 more places", "junit": `failures="1"`, "markdown": "the same in 2 more places"} {
			if command == "check" && format == "markdown" {
				continue
			}
			got := run(append(strings.Fields(command), "--build", "-o", format, "-p", "policy.yaml", "one", "two", "three")...)
			if n := strings.Count(got, "rendered in t"); !strings.Contains(got, want) || n == 0 || strings.Contains(got, "rendered in one") {
				t.Errorf("%s -o %s: %d overlays, or there is no %q in\n%s", command, format, n, want, got)
			}
		}
	}
}
