// Package given reads the files with which users of Kyverno's own command say what only a
// cluster knows: documents of kind Values, UserInfo and Context (cli.kyverno.io/v1alpha1).
// All languages of Kyverno share them.
//
// Values and Context may have apiCallResponses and globalContextEntries, which Kyverno
// knows in its tests only.
//
// The files in order: given.go (Values), user.go (UserInfo), context.go (Context),
// answers.go (what calls and entries of the global context give).
package given

import (
	"maps"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Values are what values files say. Their shape is that of the Values of Kyverno's own
// command.
type Values struct {
	// Global are globalValues, by name.
	Global   map[string]any
	Policies []PolicyValues
	// Namespaces are those that the values describe, by name: whole objects, or what there is
	// to say of their labels.
	Namespaces map[string]map[string]any
	Answers    Answers
}

// PolicyValues are the values for one policy, and the document that they stand in.
type PolicyValues struct {
	Document *manifest.Document
	Node     policy.Node
}

// ReadValues reads documents of kind Values.
func ReadValues(documents []*manifest.Document) (*Values, []source.Diagnostic) {
	v := &Values{Global: map[string]any{}, Namespaces: map[string]map[string]any{}}
	var problems []source.Diagnostic
	for _, d := range documents {
		r := newReader(d)
		if r.Fields(r.Root, []string{"apiVersion", "kind", "metadata", "globalValues", "policies", "namespaceSelector", "namespaces", "subresources", calls, entries}) {
			v.read(r)
		}
		problems = append(problems, r.Problems...)
	}
	return v, problems
}

// newReader reads a document whose lines are not quoted.
func newReader(d *manifest.Document) *policydoc.Reader {
	r := policydoc.New(d)
	r.Values = true
	return r
}

func (v *Values) read(r *policydoc.Reader) {
	maps.Copy(v.Global, r.Root.At("globalValues").Object())
	for _, n := range r.List(r.Root.At("policies")) {
		if !r.Fields(n, []string{"name", "resources", "rules"}) {
			continue
		}
		for _, item := range r.List(n.At("resources")) {
			r.Fields(item, []string{"name", "values"})
		}
		for _, item := range r.List(n.At("rules")) {
			r.Fields(item, []string{"name", "values", "foreachValues"})
		}
		v.Policies = append(v.Policies, PolicyValues{r.Document, n})
	}
	for _, n := range r.List(r.Root.At("namespaceSelector")) {
		if r.Fields(n, []string{"name", "labels"}) {
			name, labels := n.At("name").Text(), n.At("labels").Object()
			v.Namespaces[name] = map[string]any{"metadata": map[string]any{"name": name, "labels": labels}}
		}
	}
	for _, n := range r.List(r.Root.At("namespaces")) { // which win
		if name := n.At("metadata", "name").Text(); name != "" {
			v.Namespaces[name] = n.Object()
		}
	}
	v.Answers.read(r, r.Root)
}

// Labels are the labels of a namespace, if the values describe it.
func (v *Values) Labels(namespace string) (map[string]any, bool) {
	object, ok := v.Namespaces[namespace]
	metadata, _ := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	return labels, ok
}

// Answer is the value of a function that has another one in every run: a global value of
// its name, or for each argument.
func (v *Values) Answer(call, argument string) (any, bool) {
	value, ok := v.Global[call]
	if byArgument, isMap := value.(map[string]any); isMap {
		value, ok = byArgument[argument]
	}
	return value, ok
}
