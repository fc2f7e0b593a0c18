package engine

import (
	"cmp"
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
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestKyvernoCases runs our cases, and the cases of Kyverno's suites, which are not in this
// repository (see testdata/README.md), and compares the results with the expectations.
func TestKyvernoCases(t *testing.T) {
	exceptions := readExceptions(t, "testdata/kyverno-exceptions.txt")
	agree, differ := map[string]int{}, map[string]int{}
	for _, root := range []string{"testdata/kyverno", "../../shared/corpus/kyverno", "../../shared/corpus/kyverno-mpol"} {
		cases, err := filepath.Glob(filepath.Join(root, "*", "*", "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		if root == "testdata/kyverno" && len(cases) < 26 {
			t.Errorf("%s: %d cases, want at least 26", root, len(cases))
		}
		if len(cases) == 0 {
			t.Logf("%s: not there, skipped", root)
		}
		for _, file := range racing.Sample(cases) {
			dir := filepath.Dir(file)
			suite := filepath.Base(filepath.Dir(dir))
			name := suite + "/" + filepath.Base(dir)
			t.Run(name, func(t *testing.T) {
				problem := runKyverno(t, dir)
				reason, excepted := exceptions[name]
				switch {
				case excepted && problem == "":
					t.Errorf("listed as an exception (%s), but agrees", reason)
				case excepted:
					differ[suite]++
				case problem != "":
					differ[suite]++
					t.Error(problem)
				default:
					agree[suite]++
				}
			})
		}
	}
	for _, suite := range slices.Sorted(maps.Keys(agree)) {
		t.Logf("%-26s agree %3d  differ %3d", suite, agree[suite], differ[suite])
	}
}

// kyvernoCase has the fields of a meta.json that the tests use.
type kyvernoCase struct {
	Use                        bool
	Match                      string
	Features, ReferenceDefects []string
	// Denied is the error of a case in which Kyverno denies the request; expected.yaml is then the
	// manifest.
	Denied string
}

// unserved are the cases with an object that no server of a supported version serves, here an Ingress of
// extensions/v1beta1. Kyverno's command asks no server.
var unserved = map[string]Validation{"test-preprocessstrategicmergepatch-multipleanchors__552": ValidationOff}

func readNamed(t *testing.T, dir string, names ...string) []*manifest.Stream {
	t.Helper()
	var streams []*manifest.Stream
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		stream, diagnostics := manifest.Read(name, data)
		if source.HasErrors(diagnostics) {
			t.Fatal(diagnostics)
		}
		streams = append(streams, stream)
	}
	return streams
}

// runKyverno returns the difference between the result of a case and its expectation.
func runKyverno(t *testing.T, dir string) string {
	var c kyvernoCase
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !c.Use {
		t.Skip("not for use")
	}
	set, diagnostics := Compile(readNamed(t, dir, "earlier.yaml", "policy.yaml", "exceptions.yaml"), readNamed(t, dir, "cluster.yaml", "context.yaml"), Options{
		Validation: unserved[filepath.Base(dir)],
		Defaulting: "off", NonIdempotent: "skip",
		Values: readNamed(t, dir, "values.yaml"), UserInfo: readNamed(t, dir, "userinfo.yaml"),
	})
	if set == nil {
		return fmt.Sprintf("policies refused: %v", diagnostics)
	}
	manifests := readNamed(t, dir, "resource.yaml", "targets.yaml")
	outcome := set.Run(context.Background(), manifests, Explain(), Views())
	if outcome.Failed() != (c.Denied != "") || !strings.Contains(fmt.Sprint(outcome.Diagnostics), c.Denied) {
		return fmt.Sprintf("failed: %v, expected %q: %v", outcome.Failed(), c.Denied, outcome.Diagnostics)
	}
	var got []map[string]any
	for _, stream := range manifests {
		again, diagnostics := manifest.Read(stream.Name(), stream.Bytes())
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		for _, d := range again.Documents() {
			got = append(got, d.Object())
		}
	}
	// A defect D of Kyverno is Kyverno's behaviour: what it prints counts, not its documentation.
	deviates := slices.ContainsFunc(c.ReferenceDefects, func(defect string) bool { return strings.HasPrefix(defect, "D") })
	for _, stream := range readNamed(t, dir, "expected.yaml") {
		if deviates {
			break
		}
		for _, d := range stream.Documents() {
			if problem := compareKyverno(got, d.Object(), c.Match == "chainsaw-subset"); problem != "" {
				return problem + notAppliedText(outcome)
			}
		}
	}
	if slices.ContainsFunc(c.Features, func(f string) bool { return strings.HasPrefix(f, "legacy-") }) || len(c.ReferenceDefects) > 0 && !deviates {
		return "" // the reference does not support it, or only the command has the defect
	}
	for _, stream := range readNamed(t, dir, "reference.yaml") {
		for _, d := range stream.Documents() {
			if problem := compareKyverno(got, d.Object(), false); problem != "" {
				return "the reference prints another object\n" + problem + notAppliedText(outcome)
			}
		}
	}
	return ""
}

func notAppliedText(outcome *Outcome) string {
	var b strings.Builder
	for _, m := range outcome.Manifests {
		for _, n := range m.NotApplied {
			fmt.Fprintf(&b, "\n  %s: %s", n.ID, n.Reason)
		}
	}
	return b.String()
}

// compareKyverno finds the expected object among the results and compares the two.
func compareKyverno(got []map[string]any, expected map[string]any, partial bool) string {
	for _, object := range got {
		if object["kind"] != expected["kind"] || nameOf(object) != nameOf(expected) || namespaceOf(object) != namespaceOf(expected) {
			continue
		}
		a, b := tidy(object), tidy(expected)
		dropDefaultNamespace(a)
		dropDefaultNamespace(b)
		if partial {
			return subset(a, b, nil)
		}
		var lines []string
		for _, d := range change.Diff(b.(map[string]any), a.(map[string]any), nil) {
			lines = append(lines, d.String())
		}
		return strings.Join(lines, "\n")
	}
	return "there is no " + nameOf(expected) + " in the result"
}

func nameOf(object map[string]any) string {
	name, _ := change.Keys("metadata", "name").Get(object)
	text, _ := name.(string)
	return text
}

func namespaceOf(object map[string]any) string {
	namespace, _ := change.Keys("metadata", "namespace").Get(object)
	text, _ := namespace.(string)
	return cmp.Or(text, "default")
}

func dropDefaultNamespace(value any) {
	object, _ := value.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	if metadata["namespace"] == "default" {
		delete(metadata, "namespace")
	}
}

// tidy removes nulls and empty maps and lists.
func tidy(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, member := range value {
			if member = tidy(member); member != nil {
				result[key] = member
			}
		}
		if len(result) > 0 {
			return result
		}
		return nil
	case []any:
		var result []any
		for _, item := range value {
			if item = tidy(item); item != nil {
				result = append(result, item)
			}
		}
		if len(result) > 0 {
			return result
		}
		return nil
	}
	return value
}

// subset returns the first place where a value lacks a part of the expected value. Maps may have
// more keys; lists may not have more items.
func subset(got, expected any, path change.Path) string {
	switch expected := expected.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(expected)) {
			if problem := subset(object[key], expected[key], path.Key(key)); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		list, _ := got.([]any)
		if len(list) != len(expected) {
			return fmt.Sprintf("%s has %d items, not %d", path, len(list), len(expected))
		}
		for i := range expected {
			if problem := subset(list[i], expected[i], path.Index(i)); problem != "" {
				return problem
			}
		}
		return ""
	}
	if !change.Equal(got, expected) {
		return fmt.Sprintf("%s is %v, not %v", path, got, expected)
	}
	return ""
}
