package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var (
	usesAction = regexp.MustCompile(`(?m)^[ -]*uses: *(\S+?)@(\S+)(.*)$`)
	isCommit   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	hasVersion = regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
)

// TestPinnedActions checks that workflows, templates, examples and documentation name actions of
// others by their commit, with the version in a comment, and each action by one commit.
func TestPinnedActions(t *testing.T) {
	commits, files := map[string]string{}, 0
	err := filepath.WalkDir("..", func(name string, e fs.DirEntry, err error) error {
		extension := filepath.Ext(name)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git"):
			return fs.SkipDir
		case e.IsDir() || extension != ".yml" && extension != ".yaml" && extension != ".md":
			return nil
		}
		for _, match := range usesAction.FindAllStringSubmatch(read(t, name), -1) {
			action, commit, comment := match[1], match[2], match[3]
			if strings.HasPrefix(action, "preadmit/") {
				continue
			}
			files++
			if !isCommit.MatchString(commit) || !hasVersion.MatchString(comment) {
				t.Errorf("%s: %s@%s%s: name the commit, and the version in a comment", name, action, commit, comment)
			}
			if other := commits[action]; other != "" && other != commit+comment {
				t.Errorf("%s: %s is %s%s, elsewhere %s", name, action, commit, comment, other)
			}
			commits[action] = commit + comment
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Errorf("%d actions in workflows: %v", files, err)
	}
}

// TestTokens checks the workflows: only single jobs may write, checkout leaves no token in the
// working tree, and only steps that need a secret get it.
func TestTokens(t *testing.T) {
	type env struct{ Env map[string]string }
	type workflow struct {
		env
		Permissions map[string]string
		Jobs        map[string]struct {
			env
			Steps []struct {
				Name, Uses, Run string
				With            map[string]any
			}
		}
	}
	names, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	examples, err := filepath.Glob("*/.github/workflows/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	for _, name := range append(names, examples...) {
		var w workflow
		if err := yaml.Unmarshal([]byte(read(t, name)), &w); err != nil {
			t.Fatal(err)
		}
		if w.Permissions == nil || len(w.Env) > 0 {
			t.Errorf("%s: the workflow has no permissions, or an environment for all jobs", name)
		}
		for permission, access := range w.Permissions {
			if access != "read" {
				t.Errorf("%s: all jobs may %s %s", name, access, permission)
			}
		}
		for id, job := range w.Jobs {
			if len(job.Env) > 0 {
				t.Errorf("%s: job %s has an environment for all steps", name, id)
			}
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("%s: job %s: checkout leaves its token to later steps", name, id)
				}
				if strings.Contains(step.Run, "secrets.") || strings.Contains(step.Run, "github.token") || strings.Contains(step.Run, "remote set-url origin \"https://x-access-token") {
					t.Errorf("%s: job %s: a token is in a command or in the configuration of git", name, id)
				}
			}
		}
	}
}

// TestGeneratedFiles checks that .gitattributes hides large recorded and generated files in reviews:
// nobody can read their diffs. Code and prose must be read.
func TestGeneratedFiles(t *testing.T) {
	if _, err := os.Stat("../.git"); err != nil {
		t.Skip("this is not a clone: ", err)
	}
	const large = 32 << 10
	var names strings.Builder
	for name := range strings.SplitSeq(output(t, "..", "git", "ls-files", "-z"), "\x00") {
		info, err := os.Stat(filepath.Join("..", name))
		read := slices.Contains([]string{".go", ".css", ".ts", ".html"}, filepath.Ext(name)) || slices.Contains(prose, name)
		if name != "" && err == nil && info.Size() > large && !read {
			names.WriteString(name + "\x00")
		}
	}
	r := command(t, "..", names.String(), "git", "check-attr", "--stdin", "-z", "linguist-generated", "binary")
	fields := strings.Split(r.stdout, "\x00")
	if r.status != 0 || len(fields) < 100 {
		t.Fatalf("git check-attr: %d\n%s", r.status, r.stderr)
	}
	for i := 0; i+6 <= len(fields); i += 6 { // name, attribute and value, twice
		if fields[i+2] != "set" && fields[i+5] != "set" {
			t.Errorf("%s has more than %d bytes: add it to .gitattributes as linguist-generated", fields[i], large)
		}
	}
}

// prose are large pages that people write.
var prose = []string{"CHANGELOG.md", "krmfn/docs/policies.md", "krmfn/docs/performance.md"}

// TestFormula checks the formula for Homebrew against the sums of a release.
func TestFormula(t *testing.T) {
	sums := filepath.Join(t.TempDir(), "sums")
	var lines strings.Builder
	for i, system := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "linux_amd64.tar.gz.sbom.json"} {
		lines.WriteString(strings.Repeat(string(rune('a'+i)), 64) + "  preadmit_1.2.3_" + strings.TrimSuffix(system, ".tar.gz") + ".tar.gz\n")
	}
	write(t, sums, lines.String())
	r := command(t, "..", "", "bash", ".ci/formula", "1.2.3", sums)
	for i, system := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		want := "/v1.2.3/preadmit_1.2.3_" + system + ".tar.gz\"\n      sha256 \"" + strings.Repeat(string(rune('a'+i)), 64) + "\"\n"
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("the formula has no %q: %d\n%s%s", want, r.status, r.stdout, r.stderr)
		}
	}
	if r := command(t, "..", "", "bash", ".ci/formula", "1.2.4", sums); r.status == 0 || !strings.Contains(r.stderr, "has no preadmit_1.2.4_") {
		t.Errorf("a missing archive: status %d\n%s", r.status, r.stderr)
	}
}

// TestSecrets checks that CONTRIBUTING.md lists the secrets that workflows need, and no others.
func TestSecrets(t *testing.T) {
	find := func(pattern, text string) []string {
		var names []string
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	workflows, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	var used strings.Builder
	for _, name := range workflows {
		used.WriteString(read(t, name))
	}
	_, releases, _ := strings.Cut(read(t, "../CONTRIBUTING.md"), "## Releases")
	releases, _, _ = strings.Cut(releases, "\n## ")
	want, got := find(`secrets\.(\w+)`, used.String()), find("`([A-Z]+_[A-Z_]+)`", releases)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("CONTRIBUTING.md has the secrets %q, the workflows need %q", got, want)
	}
}
