package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/internal/archive"
)

// TestRecordingsTable checks the numbers in the table of testdata/README.md, and in pages that repeat
// them: the sum, and the answers to MutatingAdmissionPolicies.
func TestRecordingsTable(t *testing.T) {
	text, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sum, total := 0, 0
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \| (\d+) \|`).FindAllStringSubmatch(string(text), -1) {
		cases, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatal(err)
		}
		if row[1] == "all" {
			total = cases
			break
		}
		sum += cases
	}
	if sum == 0 || sum != total {
		t.Errorf("the table counts %d cases, its lines %d", total, sum)
	}
	says(t, "../README.md", "["+thousands(total)+" recorded answers]")
	says(t, "../CONTRIBUTING.md", thousands(total)+" recorded answers")
	cases, policies, manifests := 0, 0, 0
	for _, dir := range recordedCases(t) {
		if strings.Contains(dir, "shared") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "server", "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		var summary struct{ Policies, Manifests map[string]any }
		if err := json.Unmarshal(data, &summary); err != nil {
			t.Fatal(dir, err)
		}
		cases, policies, manifests = cases+1, policies+len(summary.Policies), manifests+len(summary.Manifests)
	}
	says(t, "testdata/README.md", fmt.Sprintf("| %d | kube-apiserver 1.36.3: MutatingAdmissionPolicies, %s answers to policies and %d to manifests |", cases, thousands(policies), manifests))
}

// TestRecordingsRows counts the cases of the other lines of the table, and of the pages that repeat
// them.
func TestRecordingsRows(t *testing.T) {
	const readme, policies = "testdata/README.md", "../krmfn/docs/policies.md"
	admission := filepath.Join("internal", "admission", "testdata")
	views, validating := archived(t, filepath.Join(admission, "defaulting")), archived(t, "testdata/validating")
	says(t, readme, fmt.Sprintf("(../internal/admission/testdata/defaulting) | %d |", views))
	says(t, readme, fmt.Sprintf("(validating) | %d |", validating))
	says(t, policies, fmt.Sprintf("compare with %d recorded cases of kube-apiserver", validating))
	says(t, readme, fmt.Sprintf("(gatekeeper) | %d |", archived(t, "testdata/gatekeeper")))
	differ, everywhere := 0, strings.Count(textOf(t, filepath.Join(admission, "defaulting/index.json")), `"source": "webhook"`)
	for _, version := range []string{"1.34", "1.35", "1.37"} {
		differ += archived(t, filepath.Join("testdata/versions", version)) + archived(t, filepath.Join(admission, "versions", version))
	}
	newest := 0
	for _, dir := range recordedCases(t) {
		switch {
		case strings.Contains(dir, "shared"), newestOnly.MatchString(filepath.Base(dir)):
		case aboutGoValues.MatchString(filepath.Base(dir)):
			newest++
		default:
			everywhere++
		}
	}
	says(t, readme, fmt.Sprintf("(../internal/admission/testdata/versions) | %d | %d of these cases on kube-apiserver 1.34.3, 1.35.4 and 1.37.1, and %d more on 1.37.1", differ, everywhere, newest))
	printed, twice, rules := archived(t, "testdata/kyverno/recorded"), archived(t, "testdata/kyverno/unordered"), len(matching(t, "testdata/kyverno/*/*/meta.json"))
	says(t, readme, fmt.Sprintf("(kyverno) | %d | Kyverno 1.19.0: %d cases with what its command printed, %d with two answers to the same input, and %d rules", printed+twice+rules, printed, twice, rules))
	says(t, policies, fmt.Sprintf("[%d recordings]", twice))
	made := len(matching(t, "testdata/controllers/*.yaml"))
	says(t, readme, fmt.Sprintf("(controllers) | %d |", made))
	says(t, policies, fmt.Sprintf("in %d recorded cases", made))
}

// TestRecordingsInJSON counts the cases of the lines whose recordings are JSON.
func TestRecordingsInJSON(t *testing.T) {
	const readme, policies = "testdata/README.md", "../krmfn/docs/policies.md"
	plugins, all := -1, 0 // without policies.json
	for _, file := range matching(t, "testdata/builtin/*.json") {
		plugins, all = plugins+1, all+len(listsOf(t, file)["cases"])
	}
	stock := len(listsOf(t, "testdata/builtin/policies.json")["cases"])
	says(t, readme, fmt.Sprintf("(builtin) | %d | kube-apiserver 1.36.3: 100 objects through each of %d admission plug-ins, and %d Pods", all, plugins, stock))
	if all != 100*plugins+stock {
		t.Error("a plug-in has more or less than 100 objects")
	}
	security := listsOf(t, "testdata/podsecurity/recorded.json")
	sent, mutated := len(security["cases"]), len(security["mutated"])
	says(t, readme, fmt.Sprintf("(podsecurity) | %d |", sent+mutated), fmt.Sprintf("%d of them changed by policies", mutated))
	says(t, policies, fmt.Sprintf("%d recorded objects in %d kinds of namespaces, and %d that policies changed", sent, len(security["namespaces"]), mutated))
	files, records := matching(t, "testdata/custom/*.json*"), 0
	for _, file := range files {
		var lists struct{ Records []json.RawMessage }
		if err := json.Unmarshal(readCustom(t, file), &lists); err != nil {
			t.Fatal(err)
		}
		records += len(lists.Records)
	}
	says(t, readme, fmt.Sprintf("(custom) | %d | kube-apiserver 1.36.3: custom resources with %d sets", records, len(files)))
	says(t, policies, fmt.Sprintf("%d recorded answers of kube-apiserver 1.36.3", records))
	definitions := recordedDefinitions(t)
	refused := 0
	for _, r := range definitions {
		refused += min(len(r.Denied), 1)
	}
	says(t, readme, fmt.Sprintf("(definitions.jsonl) | %d | kube-apiserver 1.36.3: CustomResourceDefinitions, %d of them refused", len(definitions), refused))
	says(t, policies, fmt.Sprintf("compare with the answers to %d definitions, %d of them refused", len(definitions), refused))
	sentFields := 0
	for _, file := range matching(t, "testdata/fields/*.json") {
		sentFields += len(listsOf(t, file)["records"])
	}
	says(t, readme, fmt.Sprintf("(fields) | %d |", sentFields))
	says(t, policies, fmt.Sprintf("compare with %d recorded objects, each with the three", sentFields))
	webhooks := listsOf(t, "testdata/webhooks/recorded.json")
	says(t, readme, fmt.Sprintf("(webhooks) | %d | kube-apiserver 1.36.3 with mutating webhooks: %d objects, with the requests to the webhooks and their answers, and %d answers to configurations",
		len(webhooks["cases"]), len(webhooks["cases"]), len(webhooks["configurations"])))
	says(t, policies, fmt.Sprintf("%d recorded answers of kube-apiserver 1.36.3, the requests to the webhooks included, and with %d answers to configurations", len(webhooks["cases"]), len(webhooks["configurations"])))
	patches := strings.Count(textOf(t, "internal/jsonpatch/testdata/apiserver.jsonl"), "\n")
	says(t, readme, "has "+thousands(patches)+" JSON patches")
}

// says checks that a page has each of the texts, whose lines may be broken elsewhere.
func says(t *testing.T, page string, texts ...string) {
	t.Helper()
	words := strings.Join(strings.Fields(textOf(t, page)), " ")
	for _, text := range texts {
		if !strings.Contains(words, text) {
			t.Errorf("%s does not say %q", page, text)
		}
	}
}

// archived returns the number of cases in the archives of a directory.
func archived(t *testing.T, directory string) int {
	return len(matching(t, filepath.Join(archive.Unpack(t, directory, 1), "*")))
}

// matching returns the files that match a pattern.
func matching(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s matches nothing: %v", pattern, err)
	}
	return files
}

// listsOf returns the lists in the top level of a file with JSON.
func listsOf(t *testing.T, file string) map[string][]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(textOf(t, file)), &fields); err != nil {
		t.Fatal(file, err)
	}
	lists := map[string][]json.RawMessage{}
	for name, value := range fields {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) == nil { // other fields are no lists
			lists[name] = list
		}
	}
	return lists
}

// thousands returns a number from 1,000 to 999,999 with a comma.
func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
