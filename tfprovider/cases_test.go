package tfprovider

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/settings"
	"github.com/preadmit/preadmit/krmfn"
)

const cases = "../testdata/cases"

// render runs the command line on a case.
func render(t *testing.T, directory string, arguments ...string) (stdout, stderr string, status int) {
	t.Helper()
	absolute, err := filepath.Abs(directory)
	if err != nil {
		t.Fatal(err)
	}
	var out, messages bytes.Buffer
	p := &krmfn.Process{Args: append([]string{"render"}, arguments...), Dir: absolute, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages}
	status = krmfn.Main(t.Context(), p)
	return out.String(), messages.String(), status
}

// TestCases compares the provider with the command line: the data source and the functions must return
// the same bytes, and an error if the command line has one.
func TestCases(t *testing.T) {
	directories, err := filepath.Glob(filepath.Join(cases, "*"))
	if err != nil || len(directories) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	s := newServer(t)
	for _, directory := range directories {
		t.Run(filepath.Base(directory), func(t *testing.T) {
			t.Parallel()
			var flags []string
			config := map[string]any{"manifest_files": []string{directory + "/manifests"}, "outputs": []string{"yaml"}}
			if _, err := os.Stat(directory + "/policies"); err == nil {
				flags = []string{"-p", "policies"}
				config["policy_files"] = []string{directory + "/policies"}
			}
			yaml, stderr, status := render(t, directory, append(flags, "manifests")...)
			state, messages := s.read(t, config)
			if status != 0 {
				if state != nil {
					t.Fatalf("no error, but the command line has status %d\n%s", status, stderr)
				}
				return
			}
			if state == nil {
				t.Fatal(messages)
			}
			if got := state["yaml"]; got != yaml {
				t.Errorf("yaml:\n%s\nrender:\n%s", got, yaml)
			}
			json, _, _ := render(t, directory, append(flags, "-o", "json", "manifests")...)
			want := map[string]any{}
			for i, line := range strings.Split(strings.TrimSuffix(json, "\n"), "\n") {
				want[state["ids"].([]any)[i].(string)] = line
			}
			checkResults(t, state, want)
			checkFunctions(t, s, directory, want)
		})
	}
}

// checkResults checks the results, and that Secrets are among the sensitive results.
func checkResults(t *testing.T, state, want map[string]any) {
	t.Helper()
	results := map[string]any{}
	for _, name := range []string{"results", "sensitive_results"} {
		for key, result := range state[name].(map[string]any) {
			if isSecret := strings.HasPrefix(key, "_/Secret/"); isSecret != (name == "sensitive_results") {
				t.Errorf("%s has %s", name, key)
			}
			results[key] = result
		}
	}
	if !reflect.DeepEqual(results, want) {
		t.Errorf("results:\n%v\nrender -o json:\n%v", results, want)
	}
}

// checkFunctions checks the functions with a case: split must return the keys, mutate_all the results,
// and mutate the same results with the other manifests as context.
func checkFunctions(t *testing.T, s *server, directory string, want map[string]any) {
	t.Helper()
	policies := contents(t, directory+"/policies")
	stream := strings.Join(contents(t, directory+"/manifests"), "\n---\n")
	parts, err := s.call(t, "split", stream)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.call(t, "mutate_all", parts, policies, map[string]any{"allow_no_policies": true})
	if err != nil {
		t.Fatal(err)
	}
	if got := all; !reflect.DeepEqual(got, any(want)) {
		t.Errorf("mutate_all:\n%v\nrender -o json:\n%v", got, values(want))
	}
	if strings.HasSuffix(filepath.Base(directory), "-targets") {
		return // a single manifest cannot change others
	}
	for key, part := range parts.(map[string]any) {
		given, context := slices.Clone(policies), []string{}
		for other, text := range parts.(map[string]any) {
			stream, _ := manifest.Read("", []byte(text.(string)))
			switch {
			case other == key:
			case engine.IsPolicy(stream.Documents()[0].Kind()):
				given = append(given, text.(string))
			default:
				context = append(context, text.(string))
			}
		}
		if got := s.text(t, "mutate", part, given, map[string]any{"context": context, "allow_no_policies": true}); got != all.(map[string]any)[key] {
			t.Errorf("mutate %s:\n%s\nmutate_all:\n%s", key, got, all.(map[string]any)[key])
		}
		explained, err := s.call(t, "explain", part, given, map[string]any{"context": context, "allow_no_policies": true})
		if err != nil {
			t.Fatal(err)
		}
		if e := explained.(map[string]any); e["json"] != all.(map[string]any)[key] || e["changed"] != (part != e["json"]) {
			t.Errorf("explain %s: %v\nmutate_all:\n%s", key, e, all.(map[string]any)[key])
		}
	}
}

// contents returns the files in a directory and its subdirectories, in the order of their names.
func contents(t *testing.T, directory string) []string {
	t.Helper()
	texts := []string{}
	if _, err := os.Stat(directory); err != nil {
		return texts
	}
	files, problems := readFiles([]pattern{{text: directory}}, settings.Manifests, inputReader(t, 0))
	for _, problem := range problems {
		t.Fatal(problem.detail)
	}
	for _, file := range files {
		texts = append(texts, file.data)
	}
	return texts
}

func values(of map[string]any) []string {
	var texts []string
	for _, v := range of {
		texts = append(texts, v.(string))
	}
	slices.Sort(texts)
	return texts
}
