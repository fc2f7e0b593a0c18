package match

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/archive"
)

// recorded is a case: the server's answer to each policy document, and to each manifest.
type recorded struct {
	Policies  map[string]struct{ Message string }
	Manifests map[string]struct{ Effect []any }

	kinds      *schema.Registry
	namespaces map[string]map[string]string
	// The match blocks by policy: of the policy, and of its bindings.
	constraints map[string]*Resources
	bindings    map[string][]*Resources
}

// TestCorpus checks recorded policies: Parse refuses the match blocks that the server refuses,
// in the same words; and where the server changed a manifest, some policy matches.
func TestCorpus(t *testing.T) {
	var cases []string
	for _, root := range []string{
		archive.Unpack(t, "../../testdata/behaviour", 133),
		"../../testdata/recorded",
		"../../../../shared/corpus/map/realworld", // not part of this repository
	} {
		found, err := filepath.Glob(filepath.Join(root, "*", "server", "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, found...)
	}
	changed := 0
	for _, summary := range cases {
		text, err := os.ReadFile(summary)
		if err != nil {
			t.Fatal(err)
		}
		r := recorded{
			kinds: schema.Builtin().Clone(), namespaces: map[string]map[string]string{},
			constraints: map[string]*Resources{}, bindings: map[string][]*Resources{},
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", summary, err)
		}
		dir := filepath.Dir(filepath.Dir(summary))
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for _, d := range documents(t, filepath.Join(dir, "policies")) {
				r.policy(t, d)
			}
			for _, d := range documents(t, filepath.Join(dir, "manifests")) {
				name := strings.TrimSuffix(filepath.Base(d.At(nil).File), ".yaml")
				kind := r.kinds.Lookup(d.Kind())
				if kind != nil && len(r.Manifests[name].Effect) > 0 && len(r.constraints) > 0 {
					changed++
					r.changed(t, d, kind)
				}
			}
		})
	}
	if changed < 100 {
		t.Errorf("only %d manifests were changed: the corpus is not what it was", changed)
	}
}

func documents(t *testing.T, dir string) []*manifest.Document {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*manifest.Document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stream, problems := manifest.Read(file, text)
		for _, p := range problems {
			t.Log(p)
		}
		all = append(all, stream.Documents()...)
	}
	return all
}

// policy reads a policy or binding of a case.
func (r *recorded) policy(t *testing.T, d *manifest.Document) {
	spec, _ := d.Object()["spec"].(map[string]any)
	said := r.Policies[d.Kind().Kind+"/"+d.Name()].Message
	switch d.Kind().Kind {
	case "CustomResourceDefinition":
		r.kinds.AddCRD(d.Object())
	case "Namespace":
		r.namespaces[d.Name()] = map[string]string{}
		metadata, _ := d.Object()["metadata"].(map[string]any)
		given, _ := metadata["labels"].(map[string]any)
		for key, value := range given {
			r.namespaces[d.Name()][key], _ = value.(string)
		}
	case "MutatingAdmissionPolicy":
		m, errs := Mutating.Parse(spec["matchConstraints"])
		compare(t, errs, said, "spec.matchConstraints.")
		if m != nil && said == "" {
			r.constraints[d.Name()] = m
		}
	case "MutatingAdmissionPolicyBinding":
		m, errs := Mutating.Parse(spec["matchResources"])
		compare(t, errs, said, "spec.matchResources.")
		name, _ := spec["policyName"].(string)
		if m != nil && said == "" {
			r.bindings[name] = append(r.bindings[name], m)
		}
	}
}

// compare compares errors with the answer of the server, which may contain other errors.
func compare(t *testing.T, errs []Problem, said, field string) {
	t.Helper()
	if strings.Contains(said, "strict decoding error") {
		return // an earlier error kept the server from validating
	}
	for _, e := range errs {
		if !strings.Contains(said, field+e.Field+": "+e.Text) {
			t.Errorf("%s%s: %s\nthe server said %q", field, e.Field, e.Text, said)
		}
	}
	if len(errs) == 0 && strings.Contains(said, field) && !strings.Contains(said, field+"resourceRules: Required") {
		t.Errorf("no errors, but the server said %q", said)
	}
}

// changed checks that a policy matches a manifest that the server changed.
func (r *recorded) changed(t *testing.T, d *manifest.Document, kind *schema.Kind) {
	request := Request{
		Kind: kind, Name: d.Name(), Operation: "CREATE", Object: d.Object(), Schemas: r.kinds,
		NamespaceLabels: func(name string) (map[string]string, error) { return r.namespaces[name], nil },
	}
	if kind.Namespaced {
		if request.Namespace = d.Namespace(); request.Namespace == "" {
			request.Namespace = "default"
		}
	} else if kind.Kind == (gvk.Kind{Version: "v1", Kind: "Namespace"}) {
		request.Namespace = d.Name()
	}
	var reasons []string
	for name, m := range r.constraints {
		if decision := m.Matches(request); !decision.Matched {
			reasons = append(reasons, name+": "+decision.Reason.String())
			continue
		}
		for _, bound := range r.bindings[name] {
			decision := bound.Matches(request)
			if decision.Matched {
				return
			}
			reasons = append(reasons, "binding of "+name+": "+decision.Reason.String())
		}
	}
	t.Errorf("%s: no policy matches: %q", d.At(nil), reasons)
}
