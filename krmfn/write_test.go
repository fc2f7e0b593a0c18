package krmfn

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
)

// policyText returns a policy with an ApplyConfiguration, and its binding.
func policyText(name, resource, expression string) string {
	return strings.NewReplacer("NAME", name, "RESOURCE", resource, "EXPRESSION", expression).Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [RESOURCE]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |-
        EXPRESSION
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
`)
}

var teamPolicy = policyText("team", "configmaps", `Object{metadata: Object.metadata{labels: {"team": "web"}}}`)

// inPlace runs render --in-place in a directory and returns its status and messages.
func inPlace(dir string, args ...string) (int, string) {
	var stdout, stderr bytes.Buffer
	status := Main(context.Background(), &Process{
		Args: append([]string{"render", "--in-place", "-p", "policy.txt"}, args...),
		Dir:  dir, Stdout: &stdout, Stderr: &stderr,
	})
	return status, stdout.String() + stderr.String()
}

func TestInPlace(t *testing.T) {
	const plain = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n"
	const labelled = plain + "  labels:\n    team: web\n"
	crlf := strings.NewReplacer("\n", "\r\n")
	dir := tree(t, map[string]string{
		"policy.txt":           teamPolicy,
		"m/plain.yaml":         plain,
		"m/crlf.yaml":          crlf.Replace(plain),
		"m/bom.yaml":           "\ufeff" + plain,
		"m/open-end.yaml":      strings.TrimSuffix(plain, "\n"),
		"m/empty.yaml":         "",
		"m/comment.yaml":       "# nothing here",
		"m/labelled.yaml":      labelled,
		"m/two.yaml":           plain + "---\n" + labelled,
		"m/link.yaml":          "-> ../elsewhere/target.txt",
		"m/again.yaml":         "-> plain.yaml",
		"elsewhere/target.txt": plain,
	})
	status, messages := inPlace(dir, "m", "m/plain.yaml", "elsewhere/target.txt")
	if want := "preadmit: 6 of 9 files written\n"; status != exitDone || messages != want {
		t.Fatalf("status %d, %s", status, messages)
	}
	got := filesIn(t, dir)
	for name, want := range map[string]string{
		"m/plain.yaml":         labelled,
		"m/crlf.yaml":          crlf.Replace(labelled),
		"m/bom.yaml":           "\ufeff" + labelled,
		"m/open-end.yaml":      labelled, // added lines end in a line break
		"m/empty.yaml":         "",
		"m/comment.yaml":       "# nothing here",
		"m/labelled.yaml":      labelled,
		"m/two.yaml":           labelled + "---\n" + labelled,
		"elsewhere/target.txt": labelled,
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 12 {
		t.Errorf("other files than before: %q", got)
	}
	for name, target := range map[string]string{"m/link.yaml": "../elsewhere/target.txt", "m/again.yaml": "plain.yaml"} {
		if link, err := os.Readlink(filepath.Join(dir, name)); err != nil || link != target {
			t.Errorf("%s is no link to %s any more: %q %v", name, target, link, err)
		}
	}
	if status, messages := inPlace(dir, "m"); status != exitDone || messages != "preadmit: 0 of 9 files written\n" {
		t.Errorf("again: status %d, %s", status, messages)
	}
}

// TestInPlaceTouches shows that modes are kept, and that a file without changes is not written.
func TestInPlaceTouches(t *testing.T) {
	const plain = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n"
	dir := tree(t, map[string]string{"policy.txt": teamPolicy, "m/plain.yaml": plain, "m/labelled.yaml": plain + "  labels: {team: web}\n", "m/comment.yaml": "# nothing"})
	past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, name := range []string{"m/plain.yaml", "m/labelled.yaml", "m/comment.yaml"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if status, messages := inPlace(dir, "m"); status != exitDone || messages != "preadmit: 1 of 3 files written\n" {
		t.Errorf("status %d, %s", status, messages)
	}
	for name, touched := range map[string]bool{"m/plain.yaml": true, "m/labelled.yaml": false, "m/comment.yaml": false} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o640 || info.ModTime().Equal(past) == touched {
			t.Errorf("%s: mode %v, changed at %v", name, info.Mode(), info.ModTime())
		}
	}
}

// TestInPlaceMeanwhile shows that a file that changed during the run is not overwritten.
func TestInPlaceMeanwhile(t *testing.T) {
	dir := tree(t, map[string]string{"policy.txt": teamPolicy, "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	var stderr bytes.Buffer
	p := &Process{Dir: dir, Stderr: &stderr, ledger: output.NewLedger()}
	c := config{options: settings.Config{InPlace: true}}
	f := p.files(&c)
	streams := f.stream([]string{"a.yaml"}, &c)
	writeFile(t, filepath.Join(dir, "a.yaml"), "theirs\n")
	if status := p.writeFiles(context.Background(), &c, f, streams); status != exitInvalid || !strings.Contains(stderr.String(), "a.yaml: error[path-unwritable]: the file has changed since it was read") {
		t.Errorf("status %d, %s", status, &stderr)
	}
	if got := filesIn(t, dir)["a.yaml"]; got != "theirs\n" {
		t.Errorf("%q", got)
	}
}

// TestInPlaceTwice has two runs at once that read the same files and write the same results: the
// second finds its results written, and has nothing to do.
func TestInPlaceTwice(t *testing.T) {
	dir := tree(t, map[string]string{"policy.yaml": teamPolicy, "d/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	var runs []func() int
	var stderr bytes.Buffer
	for range 2 {
		p := &Process{Dir: dir, Stderr: &stderr, ledger: output.NewLedger()}
		c := config{options: settings.Config{InPlace: true}}
		c.documents[settings.Policies].paths = []path{{name: "policy.yaml"}}
		f := p.files(&c)
		streams := f.stream([]string{"d"}, &c)
		p.admit(t.Context(), &c, f, streams, nil)
		runs = append(runs, func() int { return p.writeFiles(t.Context(), &c, f, streams) })
	}
	for _, run := range runs {
		if status := run(); status != exitDone {
			t.Errorf("status %d", status)
		}
	}
	if got, want := stderr.String(), "preadmit: 1 of 1 file written\npreadmit: 0 of 1 file written\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestInPlaceMeanwhileMany shows that messages name only some of many files that changed.
func TestInPlaceMeanwhileMany(t *testing.T) {
	texts := map[string]string{}
	for i := range 40 {
		texts[fmt.Sprintf("d/%02d.yaml", i)] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a" + strconv.Itoa(i) + "}\n"
	}
	dir := tree(t, texts)
	for _, verbose := range []bool{false, true} {
		var stderr bytes.Buffer
		p := &Process{Dir: dir, Stderr: &stderr, ledger: output.NewLedger()}
		c := config{options: settings.Config{InPlace: true, Verbose: verbose}}
		f := p.files(&c)
		streams := f.stream([]string{"d"}, &c)
		for name := range texts {
			writeFile(t, filepath.Join(dir, name), "theirs: "+strconv.FormatBool(verbose)+"\n")
		}
		status := p.writeFiles(context.Background(), &c, f, streams)
		want := map[bool]int{false: source.FewPlaces, true: 40}[verbose]
		if got := strings.Count(stderr.String(), ".yaml"); status != exitInvalid || got != want {
			t.Errorf("status %d, %d files are named\n%s", status, got, &stderr)
		}
		if folded := strings.Contains(stderr.String(), "and 37 more\n"); folded == verbose {
			t.Errorf("%s", &stderr)
		}
		for name, text := range texts {
			writeFile(t, filepath.Join(dir, name), text)
		}
	}
}

// TestRunsAtOnce shows that concurrent runs on the same files lose no reported changes.
func TestRunsAtOnce(t *testing.T) {
	files := map[string]string{}
	const runs = 8
	for i := range runs {
		files[fmt.Sprintf("policy%d.txt", i)] = strings.ReplaceAll(teamPolicy, `"team"`, fmt.Sprintf(`"team%d"`, i))
		files[fmt.Sprintf("m/%d.yaml", i)] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	}
	dir := tree(t, files)
	var wait sync.WaitGroup
	var done [runs]bool
	for i := range runs {
		wait.Go(func() {
			var stderr bytes.Buffer
			status := Main(context.Background(), &Process{Args: []string{"render", "--in-place", "-p", fmt.Sprintf("policy%d.txt", i), "m"}, Dir: dir, Stderr: &stderr})
			done[i] = status == exitDone
			if !done[i] && !strings.Contains(stderr.String(), "the file has changed since it was read") {
				t.Errorf("%s", &stderr)
			}
		})
	}
	wait.Wait()
	after := filesIn(t, dir)
	for i := range runs {
		for j := range runs {
			if text := after[fmt.Sprintf("m/%d.yaml", j)]; strings.Contains(text, fmt.Sprintf("team%d: web", i)) != done[i] {
				t.Errorf("run %d is done: %v, but file %d has\n%s", i, done[i], j, text)
			}
		}
	}
	if !slices.Contains(done[:], true) || len(after) != 2*runs {
		t.Errorf("%v, %d files", done, len(after))
	}
}

// TestRunWaits shows that a run waits for another run in the same directory, and then sees its
// changes.
func TestRunWaits(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	if runtime.GOOS == "windows" {
		t.Skip("this system has no locks")
	}
	other, err := output.Lock(t.Context(), dir, ".", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	said, stderr := io.Pipe()
	status := make(chan int)
	go func() {
		status <- Main(context.Background(), &Process{Args: []string{"render", "--in-place", "--allow-empty", "a.yaml"}, Dir: dir, Stderr: stderr})
		stderr.Close()
	}()
	lines := bufio.NewScanner(said)
	waiting := false
	for !waiting && lines.Scan() {
		waiting = lines.Text() == "preadmit: waiting for another run that writes to ."
	}
	go io.Copy(io.Discard, said)
	writeFile(t, filepath.Join(dir, "a.yaml"), "theirs\n")
	other.Close()
	if got := <-status; !waiting || got != exitInvalid {
		t.Errorf("waited %v, status %d", waiting, got)
	}
	if got := filesIn(t, dir); got["a.yaml"] != "theirs\n" || len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestManyFiles shows that many files in a directory are written, and that temporary files of killed
// runs are removed.
func TestManyFiles(t *testing.T) {
	const count = 1100
	files := map[string]string{"policy.txt": teamPolicy, "m/.preadmit-staged-0": "left", "m/.preadmit-staged-1099": "left", "m/.preadmit": "not ours"}
	for i := range count {
		files[fmt.Sprintf("m/%d.yaml", i)] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	}
	dir := tree(t, files)
	if status, messages := inPlace(dir, "m"); status != exitDone || messages != "preadmit: 1100 of 1100 files written\n" {
		t.Fatalf("status %d, %s", status, messages)
	}
	if got := filesIn(t, dir); len(got) != count+2 || got["m/.preadmit"] != "not ours" {
		t.Errorf("%d files are there", len(got))
	}
}

// TestHardLinks shows that hard links are recognized as the same file.
func TestHardLinks(t *testing.T) {
	dir := tree(t, map[string]string{"policy.txt": teamPolicy, "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	if err := os.Link(filepath.Join(dir, "policy.txt"), filepath.Join(dir, "other.txt")); err != nil {
		t.Skip(err)
	}
	for _, flag := range []string{"--report", "--stats-file"} {
		var stdout, stderr bytes.Buffer
		status := Main(context.Background(), &Process{Args: []string{"render", "-p", "policy.txt", flag, "other.txt", "a.yaml"}, Dir: dir, Stdout: &stdout, Stderr: &stderr, Now: time.Now})
		if status != exitInvalid || stdout.Len() > 0 || !strings.Contains(stderr.String(), "was read in this run") || filesIn(t, dir)["policy.txt"] != teamPolicy {
			t.Errorf("%s: status %d, %s%s", flag, status, &stdout, &stderr)
		}
	}
}

// TestOutputDirModes shows that new files have the default mode.
func TestOutputDirModes(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "other": ""})
	status := Main(context.Background(), &Process{Args: []string{"render", "--output-dir", "out", "a.yaml"}, Dir: dir, Stderr: &bytes.Buffer{}})
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if status != exitDone || mode("out/a.yaml") != mode("other") {
		t.Errorf("status %d, mode %v, not %v", status, mode("out/a.yaml"), mode("other"))
	}
}

// TestUpdateSame shows that test --update does not write a file that is already correct.
func TestUpdateSame(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {team: web}}\n"
	dir := tree(t, map[string]string{
		"policy.txt": teamPolicy, "a.yaml": text, "expected.yaml": text,
		"preadmit-test.yaml": "apiVersion: preadmit.dev/v1alpha1\nkind: PreadmitTest\nmetadata: {name: same}\nspec: {policyPaths: [policy.txt], manifests: [a.yaml], expected: expected.yaml}\n",
	})
	past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "expected.yaml"), past, past); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	status := Main(context.Background(), &Process{Args: []string{"test", "--update"}, Dir: dir, Stdout: &stdout, Stderr: &stdout})
	info, err := os.Stat(filepath.Join(dir, "expected.yaml"))
	if err != nil || status != exitDone || !info.ModTime().Equal(past) {
		t.Errorf("%v, status %d, changed at %v\n%s", err, status, info.ModTime(), &stdout)
	}
}

// TestOutputWithoutCase shows that two files whose names differ only by case are not written to a directory that
// has one file for both. A link lets the name of the directory be written in the other case, as there.
func TestOutputWithoutCase(t *testing.T) {
	for _, isCaseless := range []bool{true, false} {
		dir := tree(t, map[string]string{
			"policy.txt": teamPolicy, "out/.keep": "",
			"m/sub/a.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n",
			"m/Sub/A.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: b\n",
		})
		if isCaseless {
			if err := os.Symlink("out", filepath.Join(dir, "OUT")); err != nil {
				t.Fatal(err)
			}
		}
		var stderr bytes.Buffer
		status := Main(context.Background(), &Process{Args: []string{"render", "-p", "policy.txt", "--output-dir", "out/new", "m"}, Dir: dir, Stdout: io.Discard, Stderr: &stderr})
		written, _ := filepath.Glob(filepath.Join(dir, "out/new/*/*.yaml"))
		want := "preadmit: 2 of 2 files written\n"
		if isCaseless {
			want = "preadmit: 1 error: nothing written\nout/new/sub/a.yaml: error[path-unwritable]: m/Sub/A.yaml and m/sub/a.yaml would both be written there\n    name a different file for each; for manifests, name the directory that contains both\n"
		}
		if stderr.String() != want || (status == exitDone) == isCaseless || (len(written) == 2) == isCaseless {
			t.Errorf("status %d, %q written\n%s", status, written, &stderr)
		}
	}
}
