package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/archive"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestGatekeeperCases runs the cases that were recorded with Gatekeeper's own code (see
// testdata/README.md), without the defaults of the API, as in the recording.
func TestGatekeeperCases(t *testing.T) {
	agree := map[string]int{}
	forGatekeeper(t, func(t *testing.T, dir string, c gatekeeperCase) {
		if problem := c.asWritten(t, dir); problem != "" {
			t.Error(problem)
			return
		}
		agree[c.Suite]++
	})
	for _, suite := range slices.Sorted(maps.Keys(agree)) {
		t.Logf("%-20s agree %3d", suite, agree[suite])
	}
}

// TestGatekeeperOnServer runs the cases that were also recorded on a real server, with the defaults
// of the API. A server must make the same object from our output as from the expectation, except
// where the recording says that it does not. Custom resources are left out, because the recording
// compares only parts of them.
func TestGatekeeperOnServer(t *testing.T) {
	agree := 0
	forGatekeeper(t, func(t *testing.T, dir string, c gatekeeperCase) {
		manifests := readNamed(t, dir, "resource.yaml")
		for _, d := range documentsOf(manifests) {
			if c.Server == "" || schema.Builtin().Lookup(d.Kind()) == nil {
				t.Skip("no server was asked, or about a custom resource")
			}
		}
		if problem := c.onServer(t, dir, manifests); problem != "" {
			t.Error(problem)
			return
		}
		agree++
	})
	t.Logf("%d agree", agree)
}

// onServer returns the difference between the server's results for our output and for the
// expectation.
func (c gatekeeperCase) onServer(t *testing.T, dir string, manifests []*manifest.Stream) string {
	set, diagnostics := c.compile(t, dir, "on")
	if set == nil {
		return fmt.Sprintf("policies refused: %v", diagnostics)
	}
	outcome := set.Run(context.Background(), manifests)
	context := readNamed(t, dir, "context.yaml")
	want := View(readNamed(t, dir, "expected.yaml"), context, Options{})
	_, recorded, _ := strings.Cut(c.ServerDifference, "(expected | server): ")
	if refused := c.Error.Stage == "request" && recorded != "not denied" || want.Failed(); refused != outcome.Failed() {
		return fmt.Sprintf("refused: want %v, got %v", refused, outcome.Diagnostics)
	} else if refused || recorded == "not denied" {
		return ""
	}
	got := View(rewritten(t, manifests), context, Options{})
	var differences []string
	for i, m := range want.Manifests {
		var inDocument []string
		for _, d := range change.Diff(m.Before, got.Manifests[i].Before, nil) {
			inDocument = append(inDocument, fmt.Sprintf(".%s %s|%s", d.Path, manifest.JSON(d.Old), manifest.JSON(d.New)))
		}
		if len(inDocument) > 0 {
			differences = append(differences, fmt.Sprintf("doc %d: %s", i, strings.Join(inDocument, "; ")))
		}
	}
	if all := strings.Join(differences, "; "); all != recorded {
		return fmt.Sprintf("got  %s\nwant %s", all, recorded)
	}
	return ""
}

// rewritten returns streams read again from their output.
func rewritten(t *testing.T, streams []*manifest.Stream) []*manifest.Stream {
	var again []*manifest.Stream
	for _, stream := range streams {
		s, diagnostics := manifest.Read(stream.Name(), stream.Bytes())
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		again = append(again, s)
	}
	return again
}

// gatekeeperCase has the fields of a meta.json that the tests use.
type gatekeeperCase struct {
	Suite, Mode, Expect, Operation, Server string
	Features                               []string
	Conflicts                              []string
	PrunedFields                           map[string][]string
	NotSentToWebhook                       map[string]string
	ServerDifference                       string
	Error                                  struct {
		Stage, Policy, Message string
		Document               int
	}
}

// forGatekeeper calls test for each case, except cases of a command that we do not have.
func forGatekeeper(t *testing.T, test func(t *testing.T, dir string, c gatekeeperCase)) {
	ours, err := filepath.Glob(filepath.Join(archive.Unpack(t, "testdata/gatekeeper", 253), "*", "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	// The cases from Gatekeeper's tests and documentation are not in this repository.
	theirs, err := filepath.Glob("../../shared/corpus/gatekeeper/*/*/meta.json")
	if err != nil {
		t.Fatal(err)
	}
	theirs = slices.DeleteFunc(theirs, func(file string) bool { return strings.Contains(filepath.ToSlash(file), "/behaviour/") })
	t.Logf("%d cases here, and %d of Gatekeeper's", len(ours), len(theirs))
	for _, file := range racing.Sample(slices.Concat(ours, theirs)) {
		var c gatekeeperCase
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.Mode == "" {
			dir := filepath.Dir(file)
			t.Run(c.Suite+"/"+filepath.Base(dir), func(t *testing.T) { test(t, dir, c) })
		}
	}
}

func (c gatekeeperCase) compile(t *testing.T, dir string, defaulting Defaulting) (*Set, []source.Diagnostic) {
	return Compile(readNamed(t, dir, "policy.yaml"), readNamed(t, dir, "context.yaml"), Options{
		Defaulting: defaulting, NonIdempotent: "skip", Operation: policy.Operation(c.Operation), Old: readNamed(t, dir, "old.yaml"),
		User: policy.User{Name: "oracle-admin"},
	})
}

// asWritten returns the difference between the result of a case and its expectation, without the
// defaults of the API.
func (c gatekeeperCase) asWritten(t *testing.T, dir string) string {
	set, diagnostics := c.compile(t, dir, "off")
	if c.Error.Stage == "policy" {
		return c.refused(diagnostics)
	}
	if set == nil {
		return fmt.Sprintf("policies refused: %v", diagnostics)
	}
	if problem := c.warned(set.problems); problem != "" {
		return problem
	}
	manifests := readNamed(t, dir, "resource.yaml")
	outcome := set.Run(context.Background(), manifests)
	if c.Error.Stage == "request" {
		return c.denied(outcome)
	}
	if outcome.Failed() {
		return fmt.Sprintf("failed: %v", outcome.Diagnostics)
	}
	got, want := documentsOf(rewritten(t, manifests)), documentsOf(readNamed(t, dir, "expected.yaml"))
	if len(got) != len(want) {
		return fmt.Sprintf("got %d documents, want %d", len(got), len(want))
	}
	for i := range got {
		if differences := change.Diff(want[i].Object(), got[i].Object(), nil); len(differences) > 0 {
			return fmt.Sprintf("document %d: %v", i, differences)
		}
	}
	return ""
}

// refused compares the errors of policies with the error in a cluster.
func (c gatekeeperCase) refused(diagnostics []source.Diagnostic) string {
	for _, d := range diagnostics {
		subject := strings.Replace(d.Subject, " ", "/", 1)
		if d.Severity != source.Error || !d.At.IsKnown() || subject != c.Error.Policy {
			continue
		}
		if d.Message == c.Error.Message || d.Field+": "+d.Message == c.Error.Message {
			return ""
		}
	}
	return fmt.Sprintf("got  %v\nwant %s: %s", diagnostics, c.Error.Policy, c.Error.Message)
}

// denied compares the errors of a run with the error of the request.
func (c gatekeeperCase) denied(outcome *Outcome) string {
	want := strings.ReplaceAll(c.Error.Message, "<uuid> ", "")
	for _, cause := range []string{"value assigned to external data placeholder is not a string", "expected value at AssignImage location to be a string"} {
		if before, _, ok := strings.Cut(want, cause); ok {
			want = before + cause // an address in memory may follow
		}
	}
	if strings.HasPrefix(want, "failed to resolve external data") {
		want = "asks provider" // without a provider there is no answer
	}
	for _, d := range outcome.Diagnostics {
		if d.Severity == source.Error && d.Code == "denied" && d.At.IsKnown() && strings.Contains(d.Message, want) {
			return ""
		}
	}
	return fmt.Sprintf("got  %v\nwant %s", outcome.Diagnostics, want)
}

// warned compares the warnings about policies.
func (c gatekeeperCase) warned(diagnostics []source.Diagnostic) string {
	var conflicts []string
	pruned := map[string][]string{}
	for _, d := range diagnostics {
		subject := strings.Replace(d.Subject, " ", "/", 1)
		switch d.Code {
		case "mutators-conflict":
			conflicts = append(conflicts, subject)
		case "policy-field-unknown":
			pruned[subject] = append(pruned[subject], d.Field)
		}
	}
	slices.Sort(conflicts)
	if !slices.Equal(conflicts, c.Conflicts) {
		return fmt.Sprintf("conflicts: got %v, want %v", conflicts, c.Conflicts)
	}
	if !maps.EqualFunc(pruned, c.PrunedFields, slices.Equal) {
		return fmt.Sprintf("pruned: got %v, want %v", pruned, c.PrunedFields)
	}
	return ""
}
