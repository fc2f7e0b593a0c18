package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/mutatingpolicy"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/archive"
	"github.com/preadmit/preadmit/internal/racing"
)

// leastRecorded is the least number of recorded cases.
const leastRecorded = 646

// leastUnordered is the least number of cases with two answers.
const leastUnordered = 48

// TestKyvernoRecorded compares with what Kyverno 1.19.0's command printed. An error of the command
// is a denied request.
func TestKyvernoRecorded(t *testing.T) {
	cases := archive.Unpack(t, "testdata/kyverno/recorded", leastRecorded)
	dirs, err := filepath.Glob(filepath.Join(cases, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range racing.Sample(dirs) {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			if problem := comparePrinted(t, dir, "printed.txt"); problem != "" {
				t.Error(problem)
			}
			if strings.HasPrefix(name, "order.") && findsOrder(t, dir) {
				t.Error("200 runs of the command gave the same answer, but there is a finding")
			}
		})
	}
}

// TestKyvernoUnordered has cases to which two runs of Kyverno 1.19.0's command gave different answers.
// Ours is one of them, and check says that the result depends on a random order.
func TestKyvernoUnordered(t *testing.T) {
	cases := archive.Unpack(t, "testdata/kyverno/unordered", leastUnordered)
	for _, dir := range matching(t, filepath.Join(cases, "*")) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			first, second := comparePrinted(t, dir, "printed-1.txt"), comparePrinted(t, dir, "printed-2.txt")
			if (first == "") == (second == "") {
				t.Errorf("one of the answers must be ours:\n%s\n%s", first, second)
			}
			if !findsOrder(t, dir) {
				t.Error("check does not find it")
			}
		})
	}
}

// findsOrder reports whether a check of a case says that the result depends on a random order.
func findsOrder(t *testing.T, dir string) bool {
	t.Helper()
	set, _ := Compile(readNamed(t, dir, "policy.yaml"), nil, Options{Defaulting: DefaultingOff})
	if set == nil {
		return false
	}
	found := set.Check(t.Context(), readNamed(t, dir, "resource.yaml")).Diagnostics
	return slices.ContainsFunc(found, func(d source.Diagnostic) bool { return d.Code == source.CodeOrderDependent })
}

// comparePrinted returns the difference between our result and what the command printed.
func comparePrinted(t *testing.T, dir, printedIn string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, printedIn))
	if err != nil {
		t.Fatal(err)
	}
	input := readNamed(t, dir, "resource.yaml")
	if strings.Contains(string(text), "Policies Skipped:") {
		return mustRefuse(t, dir, string(text))
	}
	want, failed := printed(t, string(text), input[0].Documents()[0].Object())
	set, diagnostics := Compile(readNamed(t, dir, "policy.yaml", "exceptions.yaml"), nil, Options{Defaulting: DefaultingOff, NonIdempotent: NonIdempotentSkip})
	if set == nil {
		if failed {
			return ""
		}
		return "refused: " + diagnostics[0].String()
	}
	outcome := set.Run(context.Background(), input, Explain(), Views())
	switch {
	case outcome.Failed() && failed:
		return ""
	case outcome.Failed():
		return "failed: " + outcome.Diagnostics[0].String()
	case failed:
		return "the command failed"
	}
	stream, problems := manifest.Read("output", input[0].Bytes())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var lines []string
	for _, c := range change.Diff(want, stream.Documents()[0].Object(), nil) {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}

// mustRefuse wants an error about a policy that Kyverno refuses. In the cases "refused", it is in the
// words of Kyverno.
func mustRefuse(t *testing.T, dir, printed string) string {
	t.Helper()
	set, diagnostics := Compile(readNamed(t, dir, "policy.yaml"), nil, Options{})
	switch {
	case set != nil:
		return "Kyverno refuses the policy"
	case !strings.HasPrefix(filepath.Base(dir), "refused."):
		return ""
	}
	if !slices.ContainsFunc(diagnostics, func(d source.Diagnostic) bool { return strings.Contains(printed, d.Message) }) {
		return fmt.Sprintf("the errors have other words: %v", diagnostics)
	}
	return ""
}

// printed returns the object that the command printed last, or the input if it printed none.
func printed(t *testing.T, text string, input map[string]any) (object map[string]any, failed bool) {
	t.Helper()
	if !strings.Contains(text, "\nexit status 0\n") {
		return nil, true
	}
	_, text, found := strings.Cut(text, " applied to ")
	for found {
		_, text, _ = strings.Cut(text, ":\n")
		document, rest, _ := strings.Cut(text, "\n---\n")
		value, err := manifest.Value(document)
		if err != nil {
			t.Fatal(err)
		}
		input, _ = value.(map[string]any)
		_, text, found = strings.Cut(rest, " applied to ")
	}
	return input, false
}

// TestRecordings requires three recorded cases of every deviation of Kyverno, or the source of what
// only a cluster does.
func TestRecordings(t *testing.T) {
	for _, d := range slices.Concat(kyverno.Deviations, mutatingpolicy.Deviations) {
		cases := 0
		for _, name := range d.Recordings {
			text, err := os.ReadFile("testdata/kyverno/recorded/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			cases += strings.Count(string(text), "/printed.txt --\n")
		}
		if cases < 3 && d.Source == "" || !slices.Contains(d.Versions, "1.19") {
			t.Errorf("%s: %d recorded cases", d, cases)
		}
	}
}
