package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/internal/output"
)

const basePolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: TEAM}}}}
`

// repository is a git repository for tests.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	r := repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	command.Dir = r.dir
	output, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return string(output)
}

// commit writes files and commits them.
func (r repository) commit(files map[string]string) {
	for name, text := range files {
		writeFile(r.t, filepath.Join(r.dir, name), text)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "a commit")
}

// diff runs preadmit diff in a directory of the repository.
func (r repository) diff(ctx context.Context, dir string, args ...string) (status int, stdout, stderr string) {
	var out, said bytes.Buffer
	p := &Process{Args: append([]string{"diff"}, args...), Dir: filepath.Join(r.dir, dir), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Run: RunProgram, Now: fakeClock()}
	status = Main(ctx, p)
	return status, out.String(), said.String()
}

// TestBaseSubmodules shows that the base has the submodules of the working tree, each at its own commit, and
// that nothing in their repositories changes.
func TestBaseSubmodules(t *testing.T) {
	inner, middle, r := newRepository(t), newRepository(t), newRepository(t)
	inner.commit(map[string]string{"a.yaml": configMap("inner", "a")})
	middle.commit(map[string]string{"a.yaml": configMap("middle", "a")})
	middle.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.dir, "inner")
	middle.commit(nil)
	r.commit(map[string]string{"a.yaml": configMap("a", "a"), "policy.yaml": basePolicy})
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", middle.dir, "sub")
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	r.git("config", "submodule.recurse", "true")
	r.commit(nil)
	status := func() string {
		return r.git("status", "--porcelain") + r.git("submodule", "status", "--recursive") + r.git("-C", "sub", "config", "core.worktree")
	}
	before := status()
	if status, stdout, stderr := r.diff(t.Context(), "", "--base", "HEAD", "-p", "policy.yaml", "."); status != 0 || stdout != "" {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	writeFile(t, filepath.Join(r.dir, "sub/inner/a.yaml"), configMap("inner", "b"))
	r.git("-C", "sub/inner", "commit", "-q", "-a", "-m", "b")
	if status, stdout, stderr := r.diff(t.Context(), "sub", "--base", "HEAD", "-p", "../policy.yaml", "."); status != 1 || !strings.Contains(stdout, "-  value: a\n+  value: b\n") {
		t.Errorf("within the submodule: status %d: %s%s", status, stdout, stderr)
	}
	if status, stdout, stderr := r.diff(t.Context(), "", "--base", "HEAD", "-p", "policy.yaml", "."); status != 1 || !strings.Contains(stdout, "-  value: a\n+  value: b\n") || strings.Contains(stdout, "middle") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	r.git("-C", "sub/inner", "reset", "-q", "--hard", "HEAD~1")
	if after := status(); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: shop}\ndata: {value: " + value + "}\n"
}

// TestBase compares commits with the working tree.
func TestBase(t *testing.T) {
	r := newRepository(t)
	team := func(name string) string { return strings.ReplaceAll(basePolicy, "TEAM", name) }
	r.commit(map[string]string{"policies/team.yaml": team("one"), "apps/web.yaml": configMap("web", "one"), "README.md": "text"})
	r.git("checkout", "-q", "-b", "branch")
	r.commit(map[string]string{"apps/web.yaml": configMap("web", "two")})
	r.git("checkout", "-q", "main")
	r.commit(map[string]string{"apps/main.yaml": configMap("main", "one")})
	r.git("checkout", "-q", "branch")
	writeFile(t, filepath.Join(r.dir, ".git/hooks/post-checkout"), "#!/bin/sh\ntouch "+r.dir+"/hooked\n")
	if err := os.Chmod(filepath.Join(r.dir, ".git/hooks/post-checkout"), 0o777); err != nil {
		t.Fatal(err)
	}
	untouched := contentsIn(t, filepath.Join(r.dir, ".git"))
	outside := filepath.Join(t.TempDir(), "team.yaml")
	writeFile(t, outside, team("outside"))
	for name, c := range map[string]struct {
		dir    string
		args   []string
		status int
		want   []string
		not    string
	}{
		"same commit":       {"", []string{"--base", "HEAD", "-p", "policies", "apps"}, 0, []string{"0 of 1 objects differ"}, "@@"},
		"commit":            {"", []string{"--base", "HEAD~1", "-p", "policies", "apps"}, 1, []string{"HEAD~1", "-  value: one", "+  value: two", "by the manifest"}, "by policy"},
		"tip of main":       {"", []string{"--base", "main", "-p", "policies", "apps"}, 1, []string{"1 changed, 0 added, 1 removed", "+++ /dev/null"}, ""},
		"merge base":        {"", []string{"--base", "main...", "-p", "policies", "apps"}, 1, []string{"1 changed, 0 added, 0 removed"}, ""},
		"subdirectory":      {"apps", []string{"--base", "main...", "-p", "../policies", "."}, 1, []string{"1 changed, 0 added, 0 removed", "team: one"}, ""},
		"no operands":       {"", []string{"--base", "main...", "-p", "policies"}, 1, []string{"1 changed, 0 added, 0 removed"}, ""},
		"absolute paths":    {"", []string{"--base", "main...", "-p", filepath.Join(r.dir, "policies"), filepath.Join(r.dir, "apps")}, 1, []string{"1 changed, 0 added, 0 removed"}, ""},
		"absolute, removed": {"", []string{"--base", "main", "-o", "github", filepath.Join(r.dir, "apps")}, 1, []string{"file=main%3Aapps/main.yaml,", "file=apps/web.yaml,"}, "tree"},
		"policies outside":  {"", []string{"--base", "main...", "-p", outside, "apps"}, 1, []string{"team: outside", "by the manifest"}, "by policy"},
		"no such commit":    {"", []string{"--base", "nosuch", "-p", "policies", "apps"}, 2, []string{`"nosuch" is neither a directory nor a commit of this repository; git log`}, "@@"},
		"near commit":       {"", []string{"--base", "brnch", "-p", "policies", "apps"}, 2, []string{"did you mean branch?"}, "@@"},
		"two dots":          {"", []string{"--base", "main..", "-p", "policies", "apps"}, 2, []string{"did you mean main...?"}, "@@"},
		"tree":              {"", []string{"--base", "HEAD^{tree}", "-p", "policies", "apps"}, 2, []string{"expected commit type"}, "@@"},
		"file":              {"", []string{"--base", "apps/web.yaml", "-p", "policies", "apps"}, 2, []string{"is a file; expected a commit"}, "@@"},
		"like an option":    {"", []string{"--base", "--output=x", "-p", "policies", "apps"}, 2, []string{"neither a directory nor a commit"}, "@@"},
		"empty":             {"", []string{"--base", "", "-p", "policies", "apps"}, 2, []string{"expected a commit or a directory"}, "@@"},
		"standard input":    {"", []string{"--base", "HEAD", "-p", "policies", "-"}, 2, []string{"--base needs files"}, "@@"},
		"also with against": {"", []string{"--base", "HEAD", "--against", "policies", "-p", "policies", "apps"}, 2, []string{"exclude each other"}, "@@"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := r.diff(t.Context(), c.dir, c.args...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("there is no %q in\n%s%s", want, stdout, stderr)
				}
			}
			if c.not != "" && strings.Contains(stdout, c.not) {
				t.Errorf("there is %q in\n%s", c.not, stdout)
			}
		})
	}

	writeFile(t, filepath.Join(r.dir, "policies/team.yaml"), team("three"))
	writeFile(t, filepath.Join(r.dir, "new/dir/web.yaml"), configMap("fresh", "one"))
	if status, stdout, _ := r.diff(t.Context(), "new/dir", "--base", "HEAD", "-p", "../../policies", ".", "../../apps"); status != 1 ||
		!strings.Contains(stdout, "ConfigMap shop/web by policy team") || !strings.Contains(stdout, "+  name: fresh") {
		t.Errorf("status %d, in a directory that the base lacks:\n%s", status, stdout)
	}

	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if status, _, stderr := r.diff(context.Background(), "", "--base", "main", "-p", "policies", "apps"); status != 1 {
				t.Errorf("status %d at the same time as others: %s", status, stderr)
			}
		})
	}
	wait.Wait()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if status, _, _ := r.diff(cancelled, "", "--base", "main", "-p", "policies", "apps"); status != 2 {
		t.Errorf("status %d of a cancelled run", status)
	}
	if got := contentsIn(t, filepath.Join(r.dir, ".git")); !maps.Equal(got, untouched) {
		t.Errorf("the repository has %v, before the runs it had %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(untouched)))
	}
	if isFile(filepath.Join(r.dir, "hooked")) {
		t.Error("a hook of the repository has run")
	}
}

// TestBaseImpossible shows what is said of commits that cannot be compared with, and nothing is left of them.
func TestBaseImpossible(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"apps/web.yaml": configMap("web", "one")})
	r.git("checkout", "-q", "--orphan", "other")
	r.commit(map[string]string{"apps/web.yaml": configMap("web", "two")})
	shallow := repository{t, filepath.Join(t.TempDir(), "shallow")}
	r.git("clone", "-q", "--depth", "1", "file://"+filepath.ToSlash(r.dir), shallow.dir)
	filtered := newRepository(t)
	filtered.commit(map[string]string{".gitattributes": "*.yaml filter=big\n", "apps/web.yaml": configMap("web", "one")})
	filtered.git("config", "filter.big.smudge", "false")
	filtered.git("config", "filter.big.required", "true")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, c := range []struct {
		r          repository
		base, want string
	}{
		{r, "main...", "main and HEAD have no commit in common; --base main compares with its tip"},
		{shallow, "origin/main...", "this clone is shallow"},
		{filtered, "HEAD", `"HEAD" cannot be checked out`},
	} {
		if status, _, stderr := c.r.diff(t.Context(), "", "--base", c.base, "apps"); status != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("status %d, there is no %q in %s", status, c.want, stderr)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v %v is left", left, err)
	}
}

// putInPath puts programs with shell scripts in front of others of their names, until the test ends.
func putInPath(t *testing.T, scripts map[string]string) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range scripts {
		writeFile(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestBaseShards checks that shards of both states have the same applications.
func TestBaseShards(t *testing.T) {
	r := newRepository(t)
	files := map[string]string{"policies/team.yaml": strings.ReplaceAll(basePolicy, "TEAM", "one")}
	for _, name := range []string{"a", "c", "d"} {
		files["apps/"+name+"/kustomization.yaml"] = "resources: [web.yaml]\n"
		files["apps/"+name+"/web.yaml"] = configMap(name, "one")
	}
	r.commit(files)
	r.commit(map[string]string{"apps/b/kustomization.yaml": "resources: [web.yaml]\n", "apps/b/web.yaml": configMap("b", "one"), "apps/d/web.yaml": configMap("d", "two")})
	putInPath(t, map[string]string{"kustomize": "cat web.yaml"})
	var all strings.Builder
	for _, shard := range []string{"1/3", "2/3", "3/3"} {
		_, stdout, stderr := r.diff(t.Context(), "", "--base", "HEAD~1", "--build", "--stat", "--shard", shard, "-p", "policies", "apps")
		all.WriteString(stdout + stderr)
	}
	got := all.String()
	for _, c := range []struct {
		text string
		want int
	}{{"ConfigMap/shop/b |", 1}, {"ConfigMap/shop/d |", 1}, {"ConfigMap/shop/a |", 0}, {"ConfigMap/shop/c |", 0}} {
		if n := strings.Count(got, c.text); n != c.want {
			t.Errorf("%q is in the shards %d times, want %d:\n%s", c.text, n, c.want, got)
		}
	}
}

// changed returns documents as a pull request may leave them: most as they are, others with another
// number, with a comment, in another place or gone.
func changed(random *rand.Rand, documents []string) []string {
	var kept []string
	for _, d := range documents {
		switch random.IntN(8) {
		case 0:
		case 1:
			kept = append(kept, strings.NewReplacer("1", "2", "app", "web").Replace(d))
		case 2:
			kept = append(kept, "# A comment.\n"+d)
		case 3:
			kept = slices.Insert(kept, 0, d)
		default:
			kept = append(kept, d)
		}
	}
	return kept
}

// caseDocuments returns the documents in the files of cases that match a pattern.
func caseDocuments(t *testing.T, pattern string) (documents []string) {
	files, err := filepath.Glob(filepath.Join("../testdata/cases", pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, strings.Split(string(data), "\n---\n")...)
	}
	return documents
}

// TestBaseReuse checks that diff --base says the same if it evaluates what is equal in both states
// twice.
func TestBaseReuse(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pool := caseDocuments(t, "*/manifests/*.yaml")
	cases, err := filepath.Glob("../testdata/cases/*/policies")
	if err != nil || len(pool) == 0 || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, dir := range cases {
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name, func(t *testing.T) {
			policies, base := caseDocuments(t, name+"/policies/*.yaml"), caseDocuments(t, name+"/manifests/*.yaml")
			for range 8 {
				base = append(base, pool[random.IntN(len(pool))])
			}
			for range 2 {
				head := t.TempDir()
				writeState(t, head, changed(random, base))
				writeState(t, filepath.Join(head, "base"), base)
				writeFile(t, filepath.Join(head, "base/policies.yaml"), strings.Join(policies, "\n---\n"))
				if random.IntN(2) == 0 {
					policies = changed(random, policies)
				}
				writeFile(t, filepath.Join(head, "policies.yaml"), strings.Join(policies, "\n---\n"))
				for _, flags := range []string{"-o json --pods -v", "-p apps/a.yaml"} {
					args := strings.Fields("--base base -p policies.yaml apps " + flags)
					once, twice := since(t, head, args, &engine.Results{}), since(t, head, args, nil)
					if once != twice {
						t.Errorf("diff %v\nevaluated once:\n%s\nevaluated twice:\n%s", args, once, twice)
					}
				}
			}
		})
	}
}

// writeState writes documents to two files.
func writeState(t *testing.T, dir string, documents []string) {
	half := len(documents) / 2
	writeFile(t, filepath.Join(dir, "apps/a.yaml"), strings.Join(documents[:half], "\n---\n"))
	writeFile(t, filepath.Join(dir, "apps/b.yaml"), strings.Join(documents[half:], "\n---\n"))
}

// since returns what diff --base says in a directory.
func since(t *testing.T, dir string, args []string, results *engine.Results) string {
	var out bytes.Buffer
	p := &Process{Dir: dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Run: RunProgram, Now: fakeClock(), ledger: output.NewLedger(), callers: &callers{}}
	given, err := parseFlags(commandNamed("diff"), args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.reportSince(t.Context(), given, results)
	if err != nil {
		t.Fatal(err)
	}
	r.report.Diagnostics = r.run.diagnostics
	return fmt.Sprint(p.tellDifferences(r, r.run.status()), "\n", out.String())
}
