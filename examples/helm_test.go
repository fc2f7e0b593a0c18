package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// helm is how a version of Helm runs preadmit on the example.
type helm struct {
	client   string
	args     []string
	expected string
}

var helms = map[string]helm{
	"v3": {"helm3", []string{"template", "shop", "chart", "-n", "shop", "--post-renderer", "preadmit", "--post-renderer-args", "render"}, "helm/expected-v3.yaml"},
	"v4": {"helm", []string{"template", "shop", "chart", "-n", "shop", "--post-renderer", "preadmit"}, "helm/expected.yaml"},
}

// run runs Helm, with arguments for preadmit.
func (h helm) run(t *testing.T, directory string, args ...string) result {
	t.Helper()
	clients(t, h.client)
	all := slices.Clone(h.args)
	for _, arg := range append([]string{"--namespace=shop"}, args...) {
		all = append(all, "--post-renderer-args", arg)
	}
	// As in 'helm plugin install plugin'.
	return command(t, directory, "", "bash", append([]string{"-c", `HELM_PLUGINS=$PWD exec "$@"`, "bash", h.client}, all...)...)
}

var (
	sourceComment = regexp.MustCompile(`(?m)^# Source: .*$`)
	hookLine      = regexp.MustCompile(`(?m)^    helm.sh/hook.*$`)
)

// TestHelmTogether shows that Helm 3 and 4 work in the same home directory if the plugin is installed
// as in the README, and that Helm 3 fails otherwise.
func TestHelmTogether(t *testing.T) {
	clients(t, "helm", "helm3")
	home := t.TempDir()
	run := func(variables, line string) result {
		return command(t, "helm", "", "bash", "-c", "export HOME="+home+" "+variables+"; unset HELM_PLUGINS; "+line)
	}
	own := "HELM_DATA_HOME=" + filepath.Join(home, "helm4")
	if r := run(own, "helm plugin install $PWD/plugin"); r.status != 0 {
		t.Fatalf("%s", r.stderr)
	}
	render := func(h helm, variables string) string {
		line := h.client
		for _, arg := range append(slices.Clone(h.args), "--post-renderer-args", "--policy=policies", "--post-renderer-args", "--namespace=shop") {
			line += " " + arg
		}
		r := run(variables, line)
		if r.status != 0 || r.stderr != "" {
			t.Errorf("%s: exit status %d\n%s", h.client, r.status, r.stderr)
		}
		return r.stdout
	}
	for range 2 { // in any order
		golden(t, helms["v4"].expected, render(helms["v4"], own))
		golden(t, helms["v3"].expected, render(helms["v3"], ""))
		if r := run("", "helm3 plugin list"); r.status != 0 || r.stderr != "" || strings.Contains(r.stdout, "preadmit") {
			t.Errorf("Helm 3 lists plugins with exit status %d: %s%s", r.status, r.stdout, r.stderr)
		}
	}
	if r := run("", "helm plugin install $PWD/plugin && helm3 plugin list"); r.status == 0 {
		t.Error("Helm 3 loads plugins of Helm 4: the README need not say more than 'helm plugin install'")
	}
}

func TestHelm(t *testing.T) {
	for version, h := range helms {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := h.run(t, "helm", "--policy=policies")
			if r.status != 0 {
				t.Fatalf("exit status %d\n%s", r.status, r.stderr)
			}
			golden(t, h.expected, r.stdout)

			// Files and hooks are the same as without preadmit.
			plain := output(t, "helm", h.client, h.args[:5]...)
			for what, pattern := range map[string]*regexp.Regexp{"files": sourceComment, "hooks": hookLine} {
				got, want := pattern.FindAllString(r.stdout, -1), pattern.FindAllString(plain, -1)
				if !slices.Equal(got, want) || len(want) == 0 {
					t.Errorf("%s are %q, without preadmit %q", what, got, want)
				}
			}
		})
	}
}

// TestHelmFailure shows that Helm fails if preadmit fails.
func TestHelmFailure(t *testing.T) {
	const noNamespace = "expression: namespaceObject.metadata.labels[\"example.com/team\"]"
	for version, h := range helms {
		for _, c := range []struct {
			name, file, text string
			says             string
		}{
			{
				"denied", "policies/team.yaml", strings.Replace(strings.Replace(read(t, "helm/policies/team.yaml"),
					`expression: namespaceObject.metadata.?labels["example.com/team"].orValue("")`, noNamespace, 1), "example.com/team: payments", "example.com/other: x", 1),
				"Secret/shop/shop-web: ",
			},
			// Helm 3 accepts empty output as an empty chart.
			{"nothing to render", "chart/templates/web.yaml", "# nothing\n", "there are no manifests"},
			{"duplicate key", "chart/templates/more.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  PASSWORD: correct-horse\n  PASSWORD: correct-horse\n", "the key is repeated"},
		} {
			t.Run(version+" "+c.name, func(t *testing.T) {
				t.Parallel()
				directory := copied(t, "helm")
				write(t, filepath.Join(directory, c.file), c.text)
				if c.name == "nothing to render" {
					if err := os.Remove(filepath.Join(directory, "chart/templates/migrate.yaml")); err != nil {
						t.Fatal(err)
					}
				}
				r := h.run(t, directory, "--policy=policies", "--report=report.txt")
				report := read(t, filepath.Join(directory, "report.txt"))
				if r.status == 0 || r.stdout != "" || !strings.Contains(report, c.says) {
					t.Errorf("exit status %d, output:\n%s\nmessages:\n%s\nreport:\n%s", r.status, r.stdout, r.stderr, report)
				}
				if version == "v3" && !strings.Contains(r.stderr, c.says) {
					t.Errorf("Helm 3 says:\n%s", r.stderr)
				}
				if strings.Contains(r.stderr+report, "correct-horse") {
					t.Errorf("the value of a Secret is shown:\n%s\n%s", r.stderr, report)
				}
			})
		}
	}
}
