package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const cases = "../testdata/cases"

// TestCases runs every case through the command line and as a KRM function. A case is
// a directory:
//
//	policies/      given with -p; missing if they are in the manifests
//	manifests/     the input
//	expected.yaml  the output of the command line; missing if it is empty
//	expected.err   its standard error and exit status; missing if standard error is empty
func TestCases(t *testing.T) {
	entries, err := os.ReadDir(cases)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(cases, entry.Name())
			r := render(t, directory, "manifests")
			compare(t, directory, r)
			if r.status == 0 {
				checkDocuments(t, directory, r)
				checkStable(t, directory, r)
			}
			checkFunction(t, directory, r)
		})
	}
}

// policyFlags returns the flags for the policies of a case.
func policyFlags(directory string) []string {
	if _, err := os.Stat(filepath.Join(directory, "policies")); err != nil {
		return nil
	}
	return []string{"-p", "policies"}
}

func render(t *testing.T, directory, manifests string) result {
	t.Helper()
	return command(t, directory, "", "preadmit", slices.Concat([]string{"render"}, policyFlags(directory), []string{manifests})...)
}

// compare compares a result with the golden files of a case.
func compare(t *testing.T, directory string, r result) {
	t.Helper()
	messages := r.stderr
	if r.status != 0 {
		messages += fmt.Sprintf("exit status %d\n", r.status)
	}
	for name, got := range map[string]string{"expected.yaml": r.stdout, "expected.err": messages} {
		path := filepath.Join(directory, name)
		if got != "" {
			golden(t, path, got)
		} else if *update {
			os.Remove(path)
		} else if _, err := os.Stat(path); err == nil {
			t.Errorf("nothing was printed, expected:\n%s", read(t, path))
		}
	}
}

// checkDocuments checks that the output has as many documents as the input, and that documents with
// the same value have the same text.
func checkDocuments(t *testing.T, directory string, r result) {
	t.Helper()
	before, after := inputs(t, directory), documents(r.stdout)
	if len(before) != len(after) {
		t.Fatalf("%d documents became %d", len(before), len(after))
	}
	for i := range before {
		if before[i] != after[i] && reflect.DeepEqual(parse(t, before[i]), parse(t, after[i])) {
			t.Errorf("the text of a document changed, its value did not\nbefore:\n%s\nafter:\n%s", before[i], after[i])
		}
	}
}

// checkStable runs the policies on the output, which must not change, unless a warning said so.
func checkStable(t *testing.T, directory string, r result) {
	t.Helper()
	if strings.Contains(r.stderr, "would change its own output again") {
		return
	}
	file := filepath.Join(t.TempDir(), "output.yaml")
	if err := os.WriteFile(file, []byte(r.stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := render(t, directory, file); again.stdout != r.stdout {
		t.Errorf("a second run gives:\n%s\n%s", again.stdout, again.stderr)
	}
}

// checkFunction runs the case as a KRM function, which must agree with the command
// line: the same objects, or the same messages and the input unchanged.
func checkFunction(t *testing.T, directory string, r result) {
	t.Helper()
	input := resourceList(inputs(t, directory), len(policyFlags(directory)) > 0)
	f := command(t, directory, input, "preadmit", "fn")
	if f.status != r.status {
		t.Errorf("exit status %d as a function, %d on the command line", f.status, r.status)
	}
	if got, want := common(f.stderr), common(r.stderr); got != want {
		t.Errorf("messages as a function:\n%s\non the command line:\n%s", got, want)
	}
	if f.stdout == "" && f.status == 2 {
		return // the function cannot answer a ResourceList that cannot be read
	}
	answer := parse(t, f.stdout)
	want := parse(t, input)["items"].([]any)
	if r.status == 0 {
		want = nil
		for _, document := range documents(r.stdout) {
			want = append(want, parse(t, document))
		}
	} else if results, _ := answer["results"].([]any); len(results) == 0 {
		t.Errorf("a failed function says nothing in its results:\n%s", f.stdout)
	}
	if got := answer["items"]; !reflect.DeepEqual(got, any(want)) {
		t.Errorf("as a function:\ngot:\n%v\nwant:\n%v", got, want)
	}
}

// differences match the parts of messages that differ between the two frontends: positions in the
// manifests, which have different texts, and the consequence for the output.
var differences = regexp.MustCompile(`(?m)^(manifests/\S+?|-)(:\d+)*: |\bitems\[\d+\]\.|: (no output|the resources are unchanged)$`)

func common(messages string) string {
	return differences.ReplaceAllString(messages, "")
}

// resourceList returns the input of a KRM function with documents as items.
func resourceList(documents []string, policies bool) string {
	var b strings.Builder
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for _, document := range documents {
		b.WriteString("-\n")
		for line := range strings.Lines(document) {
			b.WriteString("  " + line)
		}
	}
	if policies {
		b.WriteString(`functionConfig:
  apiVersion: preadmit.dev/v1alpha1
  kind: Preadmit
  metadata:
    name: case
  spec:
    policyPaths: [policies]
`)
	}
	return b.String()
}

// inputs returns the documents of a case's manifests.
func inputs(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "manifests", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests in %s: %v", directory, err)
	}
	var found []string
	for _, file := range files {
		found = append(found, documents(read(t, file))...)
	}
	return found
}

var separator = regexp.MustCompile(`(?m)^(---|\.\.\.)\r?\n`)

// documents returns the documents of a stream that are not empty.
func documents(stream string) []string {
	var found []string
	for _, document := range separator.Split(stream, -1) {
		var value any
		if err := yaml.Unmarshal([]byte(document), &value); err != nil || value != nil {
			found = append(found, document)
		}
	}
	return found
}

func parse(t *testing.T, document string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := yaml.Unmarshal([]byte(document), &value); err != nil {
		t.Fatalf("%v in:\n%s", err, document)
	}
	return value
}
