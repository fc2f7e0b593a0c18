package mapolicy

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

var update = flag.Bool("update", false, "rewrite what the policies that are refused are told")

// TestRefused shows every error about a policy or binding, with its position: one document for
// each rule. The texts were recorded from kube-apiserver 1.36.3 with the documents, and package
// engine compares them.
func TestRefused(t *testing.T) {
	files, err := filepath.Glob("../../testdata/recorded/refused-*/policies/p.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no documents (%v)", err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(filepath.Dir(file)))
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			stream, diagnostics := manifest.Read("p.yaml", text)
			if len(diagnostics) > 0 {
				t.Fatal(diagnostics)
			}
			var b strings.Builder
			refused := map[string]bool{}
			_, diagnostics = New(36, 0).Compile(stream.Documents(), nil)
			source.Sort(diagnostics)
			for _, d := range diagnostics {
				if d.Severity == source.Error {
					b.WriteString(d.String() + "\n\n")
					refused[d.Subject] = true
				}
			}
			for _, d := range stream.Documents() {
				if subject := strings.TrimSpace(d.Kind().Kind + " " + d.Name()); !refused[subject] {
					t.Errorf("%s is accepted", subject)
				}
			}
			golden := filepath.Join("testdata/refused", strings.TrimPrefix(name, "refused-")+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("got (run with -update to accept it)\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
}
