package krmfn

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBaselineTwoWriters lets another run write the baseline after a run has read it: the run fails, says so and keeps
// what the other has written, unless both write the same.
func TestBaselineTwoWriters(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: accepted}\n"
	for name, c := range map[string]struct {
		others string // the manifest that the other run reads
		fails  bool
	}{
		"other findings": {"b.yaml", true},
		"same findings":  {"a.yaml", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("testdata/shared")); err != nil {
				t.Fatal(err)
			}
			for _, one := range []string{"old", "a", "b"} {
				makeFile(t, dir, one+".yaml", strings.ReplaceAll(manifest, "NAME", one))
			}
			makeFile(t, dir, ".preadmit.yaml", "accepted: [{code: denied, object: ConfigMap/accepted, reason: old}]\n")
			baseline := filepath.Join(dir, "baseline.yaml")
			write := func(stderr *noticed, file string) int {
				p := &Process{
					Args: []string{"check", "-p", "deny.yaml", "--baseline", "baseline.yaml", "--write-baseline", file},
					Dir:  dir, Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: stderr,
				}
				return Main(context.Background(), p)
			}
			if status := write(&noticed{}, "old.yaml"); status != exitDone {
				t.Fatalf("status %d", status)
			}
			var theirs []byte
			stderr := &noticed{text: "is accepted in", then: func() { // the baseline has been read
				if status := write(&noticed{}, c.others); status != exitDone {
					t.Errorf("the other run has status %d", status)
				}
				theirs, _ = os.ReadFile(baseline)
			}}
			status := write(stderr, "a.yaml")
			ours, _ := os.ReadFile(baseline)
			switch said := stderr.String(); {
			case theirs == nil:
				t.Fatalf("the other run has not begun: %s", said)
			case !bytes.Equal(ours, theirs):
				t.Errorf("the baseline is\n%s\nand the other run has written\n%s", ours, theirs)
			case c.fails && (status != exitInvalid || !strings.Contains(said, "baseline.yaml: error[path-unwritable]: the file has changed since it was read")):
				t.Errorf("status %d: %s", status, said)
			case !c.fails && status != exitDone:
				t.Errorf("status %d: %s", status, said)
			}
		})
	}
}

// noticed is a text. When it has a part for the first time, something else happens.
type noticed struct {
	bytes.Buffer
	text string
	then func()
}

// Write implements io.Writer.
func (n *noticed) Write(b []byte) (int, error) {
	size, err := n.Buffer.Write(b)
	if then := n.then; then != nil && strings.Contains(n.String(), n.text) {
		n.then = nil
		then()
	}
	return size, err
}
