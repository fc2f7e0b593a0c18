package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/internal/archive"
	"github.com/preadmit/preadmit/internal/racing"
)

// judged are the recorded answers of a server with validating policies.
type judged struct {
	Operation string
	Manifests map[string]judgement
}

type judgement struct {
	Result           int
	Message          string            `json:"result_message"`
	Reason           string            `json:"result_reason"`
	Warnings         []string          `json:"result_warnings"`
	BaselineWarnings []string          `json:"baseline_warnings"`
	Audit            map[string]string `json:"result_audit"`
	Also             []struct {
		Message  string
		Warnings []string
	} `json:"result_also"`
}

// validatingExceptions are objects about which preadmit says something else.
var validatingExceptions = map[string]string{
	"67-api-validation-first/bad-key": "the hand-written validation of ConfigMaps is not predicted",
	"67-api-validation-first/broken":  "the hand-written validation of Deployments is not predicted",
}

// TestValidating compares the verdicts of ValidatingAdmissionPolicies with recorded answers of
// kube-apiserver 1.36.3: refusals with their texts and reasons, warnings, and annotations of the
// audit event. All but the exceptions are the same, at least 99 of 100. Cases with policies that
// others have published may be missing.
func TestValidating(t *testing.T) {
	cases := map[string]string{} // by name
	for _, root := range []string{"../../shared/corpus/vap", archive.Unpack(t, "testdata/validating", 60)} {
		found, err := filepath.Glob(filepath.Join(root, "*", "server", "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			dir := filepath.Dir(filepath.Dir(file))
			cases[filepath.Base(dir)] = dir
		}
	}
	compared := 0
	for _, name := range racing.Sample(slices.Sorted(maps.Keys(cases))) {
		if change.Reference && strings.Contains(name, "cost") {
			continue // slow
		}
		t.Run(name, func(t *testing.T) {
			for object, problems := range compareJudgements(t, cases[name]) {
				compared++
				if excepted := validatingExceptions[name+"/"+object] != ""; excepted != (len(problems) > 0) {
					t.Errorf("%s: listed as an exception: %v, but %s", object, excepted, strings.Join(problems, "\n"))
				}
			}
		})
	}
	mostlyTheSame(t, compared, validatingExceptions)
}

// mostlyTheSame checks that at least 99 of 100 answers of a server that a test compares are no exceptions.
func mostlyTheSame(t *testing.T, compared int, exceptions map[string]string) {
	t.Helper()
	if differing := racing.Least(len(exceptions)); compared == 0 || 100*differing > compared {
		t.Errorf("of %d answers, %d differ from ours", compared, differing)
	}
}

// compareJudgements returns the differences between our answers and the recorded ones, by the kind and
// name of the policy or the name of the object.
func compareJudgements(t *testing.T, dir string) map[string][]string {
	var want recorded
	var answers judged
	data, err := os.ReadFile(filepath.Join(dir, "server", "summary.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err == nil {
		err = json.Unmarshal(data, &answers)
	}
	if err != nil {
		t.Fatal(err)
	}
	policies, refused := acceptedPolicies(t, dir, want, recordedRequest)
	for _, problem := range refused {
		t.Error(problem)
	}
	problems := map[string][]string{}
	for id := range want.Policies {
		problems[id] = nil // the same, or refused has it
	}
	for name, answer := range answers.Manifests {
		options := recordedRequest
		if answers.Operation == "UPDATE" {
			options.Operation, options.Old = policy.Update, []*manifest.Stream{readCase(t, dir, "old", name)}
		}
		set, diagnostics := Compile(policies, nil, options)
		if set == nil {
			t.Fatal(diagnostics)
		}
		outcome := set.Run(t.Context(), []*manifest.Stream{readCase(t, dir, "manifests", name)}, Explain())
		problems[name] = answer.compare(outcome)
	}
	return problems
}

// readCase reads the document of a case that a recording calls name.
func readCase(t *testing.T, dir, kind, name string) *manifest.Stream {
	files, err := filepath.Glob(filepath.Join(dir, kind, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(file), ".yaml")
		documents := splitDocuments(t, file, text)
		for i, document := range documents {
			if base == name || fmt.Sprintf("%s-%d", base, i) == name {
				stream, diagnostics := manifest.Read(file, document)
				if len(diagnostics) > 0 {
					t.Fatal(diagnostics)
				}
				return stream
			}
		}
	}
	t.Fatalf("%s: there is no %s/%s", dir, kind, name)
	return nil
}

// randomSuffix matches a generated name.
var randomSuffix = regexp.MustCompile(`\b(gen-[a-z]*-?)[a-z0-9]{5}\b`)

func (want judgement) compare(outcome *Outcome) (problems []string) {
	var refusal string
	if refusals := refusals(outcome); len(refusals) > 0 {
		refusal = refusals[0]
	}
	message := want.Message
	if want.Result < 300 {
		message = ""
	}
	mask := func(text string) string { return randomSuffix.ReplaceAllString(text, "${1}00000") }
	possible := []string{mask(message)}
	warnings := [][]string{want.Warnings}
	for _, also := range want.Also {
		possible, warnings = append(possible, mask(also.Message)), append(warnings, also.Warnings)
	}
	if !slices.Contains(possible, mask(refusal)) && !strings.Contains(refusal, "the message is left out") {
		problems = append(problems, fmt.Sprintf("refused with %q\nthe server said %q", refusal, possible))
	}
	m := &Manifest{}
	if len(outcome.Manifests) > 0 { // policies are not judged
		m = outcome.Manifests[0]
	}
	got := slices.Clone(want.BaselineWarnings)
	for _, w := range m.Warnings {
		got = append(got, `299 - "`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w.Text)+`"`)
	}
	slices.Sort(got)
	if !slices.ContainsFunc(warnings, func(w []string) bool { return slices.Equal(slices.Sorted(slices.Values(w)), got) }) {
		problems = append(problems, fmt.Sprintf("warned %q\nthe server warned %q", got, want.Warnings))
	}
	if want.Result >= 300 && m.Reason != want.Reason && refusal != "" {
		problems = append(problems, fmt.Sprintf("refused with the reason %q\nthe server had %q", m.Reason, want.Reason))
	}
	audit := map[string]string{}
	for _, a := range m.Audit {
		audit[a.Key] = a.Value
	}
	maps.DeleteFunc(want.Audit, func(key, _ string) bool {
		return strings.HasPrefix(key, "apiserver.latency.k8s.io/") || strings.HasPrefix(key, "mutation.")
	})
	if !maps.Equal(audit, want.Audit) {
		problems = append(problems, fmt.Sprintf("annotated %q\nthe server annotated %q", audit, want.Audit))
	}
	return problems
}
