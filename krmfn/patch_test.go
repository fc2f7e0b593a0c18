package krmfn

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffApplies shows that git can apply a diff, and that the result is the rendered text. The
// manifest has lines that CI systems take for commands, beside a line that a policy changes.
func TestDiffApplies(t *testing.T) {
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # comment\ndata:\n  text: |\n    one\n    ::error::x\n    ##[group]x\n    ##vso[task]x\n    ##teamcity[x]\n"
	r := newRepository(t)
	r.commit(map[string]string{"a.yaml": manifest, "policy.yaml": strings.ReplaceAll(basePolicy, "{metadata: {labels: {team: TEAM}}}", `{data: {above: "1", zebra: "2"}}`)})
	run := func(args ...string) string {
		var out, said bytes.Buffer
		p := &Process{Args: args, Dir: r.dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Run: RunProgram, Now: fakeClock()}
		if status := Main(context.Background(), p); status > 1 {
			t.Fatalf("%v: status %d: %s", args, status, said.String())
		}
		return out.String()
	}
	patch, want := run("diff", "-p", "policy.yaml", "a.yaml"), run("render", "-p", "policy.yaml", "a.yaml")
	if !strings.Contains(patch, "\n-    ##teamcity[x]\n") {
		t.Fatalf("the diff has no command as a line of context:\n%s", patch)
	}
	name := filepath.Join(t.TempDir(), "patch")
	writeFile(t, name, patch)
	r.git("apply", name)
	if got, err := os.ReadFile(filepath.Join(r.dir, "a.yaml")); err != nil || string(got) != want {
		t.Errorf("git apply gives:\n%s\nwant:\n%s\n%v", got, want, err)
	}
}
