package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/archive"
	"github.com/preadmit/preadmit/internal/racing"
)

// recorded has the answers of a real API server in a case (see testdata/README.md).
type recorded struct {
	Manifests map[string]struct {
		Result  int
		Message string `json:"result_message"`
	}
	Policies map[string]struct {
		Code    int
		Message string
	}
}

// recordedRequest is the request with which the corpus was recorded.
var recordedRequest = Options{
	DryRun:     true,
	Authorizer: "allow",
	User:       policy.User{Name: "oracle-admin", UID: "oracle-uid", Groups: []string{"system:masters", "system:authenticated"}},
}

// recordedCases returns the directories of the recorded cases. Cases with policies that others have
// published are not in this repository, so they may be missing.
func recordedCases(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, root := range []struct {
		dir  string
		want int
	}{
		{"testdata/recorded", 89},
		{archive.Unpack(t, "testdata/behaviour", 136), 136},
		{"../../shared/corpus/map/realworld", 0},
	} {
		cases, err := filepath.Glob(filepath.Join(root.dir, "*", "server", "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		if len(cases) < root.want {
			t.Fatalf("%s: %d cases, want at least %d", root.dir, len(cases), root.want)
		}
		if len(cases) == 0 {
			t.Logf("%s: not there, skipped", root.dir)
		}
		for _, summary := range cases {
			all = append(all, filepath.Dir(filepath.Dir(summary)))
		}
	}
	return all
}

// TestRecorded runs the policies and manifests of every recorded case and compares the results with
// the answers of kube-apiserver. Known differences are in testdata/exceptions.txt, with the
// reasons. An exception that no longer differs fails the test.
func TestRecorded(t *testing.T) {
	exceptions := readExceptions(t, "testdata/exceptions.txt")
	cases, agree := racing.Sample(recordedCases(t)), 0
	for _, dir := range cases {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			problems := runRecorded(t, dir, recordedRequest)
			reason, excepted := exceptions[name]
			switch {
			case excepted && len(problems) == 0:
				t.Errorf("listed as an exception (%s), but agrees with the recording", reason)
			case excepted:
				t.Logf("differs, as listed: %s", reason)
			case len(problems) > 0:
				t.Error(strings.Join(problems, "\n"))
			default:
				agree++
			}
		})
	}
	t.Logf("%d cases, %d agree", len(cases), agree)
}

// readExceptions reads lines of the form "case: reason".
func readExceptions(t *testing.T, file string) map[string]string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	exceptions := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.HasPrefix(line, "#") {
			exceptions[name] = reason
		}
	}
	return exceptions
}

// runRecorded returns the differences between our answers and the recorded ones.
func runRecorded(t *testing.T, dir string, options Options) []string {
	data, err := os.ReadFile(filepath.Join(dir, "server", "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want recorded
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	policies, problems := acceptedPolicies(t, dir, want, options)
	files, err := filepath.Glob(filepath.Join(dir, "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests (%v)", err)
	}
	for _, file := range files {
		set, diagnostics := Compile(policies, nil, options)
		if set == nil {
			return append(problems, fmt.Sprintf("policies refused: %v", diagnostics))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(file), ".yaml")
		for i, document := range splitDocuments(t, file, text) {
			name := base
			if _, ok := want.Manifests[name]; !ok {
				name = fmt.Sprintf("%s-%d", base, i)
			}
			answer, ok := want.Manifests[name]
			if !ok {
				t.Fatalf("no recording for %s", name)
			}
			stream, diagnostics := manifest.Read(file, document)
			if len(diagnostics) > 0 {
				problems = append(problems, fmt.Sprintf("%s: %v", name, diagnostics))
				continue
			}
			outcome := set.Run(context.Background(), []*manifest.Stream{stream}, Explain(), Views())
			p := compareAnswer(t, set, filepath.Join(dir, "server", name), answer.Result, answer.Message, outcome)
			if p == "" && !outcome.Failed() && len(outcome.Manifests) > 0 {
				p = explained(stream, outcome)
			}
			if p == "" && !outcome.Failed() {
				p = staysTheSame(set, stream, outcome)
			}
			if p != "" {
				problems = append(problems, name+": "+p)
			}
		}
	}
	return problems
}

// plainLetter matches a y or n that PyYAML, which read the manifests for the recording, reads as a
// string, and a server as a boolean.
var plainLetter = regexp.MustCompile(`([:,\[]) ([yn])([],}\n])`)

// splitDocuments splits a file into its non-empty documents.
func splitDocuments(t *testing.T, file string, text []byte) [][]byte {
	text = plainLetter.ReplaceAll(text, []byte(`$1 "$2"$3`))
	var documents [][]byte
	for document := range strings.SplitSeq("\n"+strings.TrimSuffix(string(text), "\n"), "\n---") {
		document += "\n" // which the value of a block scalar at the end needs
		stream, diagnostics := manifest.Read(file, []byte(document))
		if len(diagnostics) > 0 {
			t.Logf("%v", diagnostics)
		} else if len(stream.Documents()) == 0 {
			continue
		}
		documents = append(documents, []byte(document))
	}
	return documents
}

// acceptedPolicies compiles every document of the case separately. A document that the server
// refused must be refused with the same words, and is left out.
func acceptedPolicies(t *testing.T, dir string, want recorded, options Options) (accepted []*manifest.Stream, problems []string) {
	files, err := filepath.Glob(filepath.Join(dir, "policies", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range splitDocuments(t, file, text) {
			stream, diagnostics := manifest.Read(file, document)
			if len(diagnostics) > 0 {
				t.Fatal(diagnostics)
			}
			d := stream.Documents()[0]
			answer := want.Policies[d.Kind().Kind+"/"+d.Name()]
			_, diagnostics = Compile([]*manifest.Stream{stream}, nil, options)
			diagnostics = slices.DeleteFunc(diagnostics, func(d source.Diagnostic) bool { return d.Severity != source.Error })
			if answer.Code < 300 {
				accepted = append(accepted, stream)
				if len(diagnostics) > 0 {
					problems = append(problems, fmt.Sprintf("%s was accepted by the server, but: %v", d.Name(), diagnostics))
				}
				continue
			}
			if len(diagnostics) == 0 {
				problems = append(problems, fmt.Sprintf("%s was refused by the server: %s", d.Name(), answer.Message))
			}
			for _, diagnostic := range diagnostics {
				if strings.Contains(answer.Message, "cannot unmarshal") && !strings.Contains(diagnostic.Message, "cannot unmarshal") {
					continue // the server reports only the first value of a wrong type
				}
				if !refusedAlike(diagnostic, answer.Message) {
					problems = append(problems, fmt.Sprintf("%s: refused with\n%s: %s\nthe server said\n%s", d.Name(), diagnostic.Field, diagnostic.Message, answer.Message))
				}
			}
		}
	}
	return accepted, problems
}

// refusedAlike reports whether the server's message contains the field and the text of a
// diagnostic. The server repeats the expression before the text of a CEL error.
func refusedAlike(d source.Diagnostic, message string) bool {
	if text, ok := strings.CutPrefix(d.Message, "Invalid value: "); ok && strings.Contains(message, d.Field+": Invalid value: ") {
		return strings.Contains(squeeze(message), squeeze(text))
	}
	return strings.Contains(message, d.Field+": "+d.Message) || strings.Contains(message, "cannot be handled as") && strings.Contains(message, d.Message)
}

// squeeze makes the two forms of trailing blanks in excerpts equal.
func squeeze(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

func compareAnswer(t *testing.T, set *Set, files string, code int, message string, outcome *Outcome) string {
	refusals := refusals(outcome)
	switch {
	case code == 422 || code == 409: // refused after admission; the mutation is complete
		if outcome.Failed() && !refusedWith(refusals, message) { // the validation of custom resources is known
			return fmt.Sprintf("failed with %q, but the server said %q", refusals, message)
		}
		return ""
	case code >= 300:
		if !refusedWith(refusals, message) {
			return fmt.Sprintf("got %q\nthe server said %q", refusals, message)
		}
		return ""
	case outcome.Failed():
		return fmt.Sprintf("failed: %v", outcome.Diagnostics)
	}
	if len(outcome.Manifests) == 0 {
		return "" // a policy among the manifests, which no policy changes
	}
	before := recordedObject(t, files+".baseline.json")
	after := recordedObject(t, files+".result.json")
	m := outcome.Manifests[0]
	want, got := effect(before, after), effect(m.Before, m.After)
	if want != got {
		return "effect\n" + got + "\nthe server's\n" + want
	}
	return closesLoop(set, m)
}

// refusedWith reports whether a server's message is one of our refusals. A server returns only the
// first error, and runs policies in random order.
func refusedWith(refusals []string, message string) bool {
	message = inOrder(message)
	who, _, _ := strings.Cut(message, " denied request: ")
	first := slices.IndexFunc(refusals, func(refusal string) bool { return strings.HasPrefix(refusal, who) })
	return first >= 0 && refusals[first] == message
}

// refusals returns the errors of an outcome.
func refusals(outcome *Outcome) []string {
	var messages []string
	for _, d := range outcome.Diagnostics {
		if d.Severity == source.Error {
			messages = append(messages, inOrder(d.Message))
		}
	}
	return messages
}

// closesLoop reports whether an API server that gets our output sees the object that the policies
// made.
func closesLoop(set *Set, m *Manifest) string {
	if m.After == nil {
		return ""
	}
	output := m.Document.Stream().Bytes()
	stream, diagnostics := manifest.Read("output", output)
	if len(diagnostics) > 0 {
		return fmt.Sprintf("the output cannot be read: %v\n%s", diagnostics, output)
	}
	d := stream.Documents()[0]
	p := set.placeOf(d, set.schemas)
	view, err := admission.View(nil, p.kind, d.Object(), p.namespace)
	if err != nil {
		return fmt.Sprintf("the output is not valid: %v\n%s", err, output)
	}
	if difference := effect(view, m.After); difference != "" {
		return "the view of the output is not the mutated view\n" + difference
	}
	return ""
}

// explained reports edits without a cause, and edits that do not turn the manifest into the output.
func explained(stream *manifest.Stream, outcome *Outcome) string {
	output, diagnostics := manifest.Read("output", stream.Bytes())
	if len(diagnostics) > 0 {
		return fmt.Sprint(diagnostics)
	}
	m := outcome.Manifests[0]
	folded := m.Document.Object()
	for _, e := range m.Edits {
		if len(e.Causes) == 0 {
			return fmt.Sprintf("nothing caused %s", e.Change)
		}
		if err := change.Apply(folded, []change.Change{e.Change}); err != nil {
			return err.Error()
		}
	}
	if want := output.Documents()[0].Object(); string(manifest.JSON(folded)) != string(manifest.JSON(want)) {
		return "the edits do not lead to the output: " + effect(folded, want)
	}
	return ""
}

// staysTheSame runs the policies on their own output. They must not change it, unless a diagnostic
// said so.
func staysTheSame(set *Set, stream *manifest.Stream, outcome *Outcome) string {
	for _, d := range outcome.Diagnostics {
		if d.Code == "not-idempotent" {
			return ""
		}
	}
	output := stream.Bytes()
	again, diagnostics := manifest.Read("output", output)
	if len(diagnostics) > 0 {
		return fmt.Sprintf("the output cannot be read: %v\n%s", diagnostics, output)
	}
	if second := set.Run(context.Background(), []*manifest.Stream{again}, Explain(), Views()); second.Failed() {
		return fmt.Sprintf("the second run fails: %v", second.Diagnostics)
	}
	if got := again.Bytes(); string(got) != string(output) {
		return fmt.Sprintf("the second run changes the output\n%s\nto\n%s", output, got)
	}
	return ""
}

// address is the address of a pointer in a message.
var address = regexp.MustCompile(`\b0x[0-9a-f]+`)

// inOrder sorts the lists in a message that the server prints in the order of its maps or Go types.
// It replaces addresses, and the no-break space that package protobuf prints in some builds.
func inOrder(message string) string {
	message = address.ReplaceAllString(strings.ReplaceAll(message, "\u00a0", " "), "0x…")
	for _, list := range []struct{ start, separator string }{
		{"may not mutate atomic arrays, maps or structs: ", ", "},
		{"typed object: errors:\n", "\n"},
		{"strict decoding error: ", ", "},
	} {
		if before, after, ok := strings.Cut(message, list.start); ok {
			items := strings.Split(after, list.separator)
			slices.Sort(items)
			return before + list.start + strings.Join(items, list.separator)
		}
	}
	return message
}

func recordedObject(t *testing.T, file string) map[string]any {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stream, diagnostics := manifest.Read(file, data)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return stream.Documents()[0].Object()
}

// jobLabel matches labels that the server sets on Jobs after the policies.
var jobLabel = regexp.MustCompile(`controller-uid|job-name`)

// afterAdmission are fields that the server sets after the policies.
var afterAdmission = map[string]bool{
	"metadata.generation": true, "metadata.uid": true, "spec.clusterIP": true, "spec.clusterIPs": true,
	"spec.ipFamilies": true, "spec.ipFamilyPolicy": true, "status": true,
}

// effect returns the difference of two objects as text.
func effect(before, after map[string]any) string {
	var lines []string
	for _, c := range change.Diff(before, after, nil) {
		path := c.Path.String()
		generated := path == "metadata.name" && before["metadata"].(map[string]any)["generateName"] != nil
		if afterAdmission[path] || strings.HasPrefix(path, "status.") || generated || jobLabel.MatchString(path) || strings.HasSuffix(path, "].nodePort") {
			continue
		}
		old, _ := json.Marshal(c.Old)
		value, _ := json.Marshal(c.New)
		lines = append(lines, fmt.Sprintf("  %s %s %s -> %s", c.Op, path, old, value))
	}
	return strings.Join(lines, "\n")
}
