// Package given reads the files in which users of Kyverno's command-line tool provide what only
// a cluster knows: documents of kind Values, UserInfo and Context (cli.kyverno.io/v1alpha1). All
// languages of Kyverno share them.
//
// Values and Context may have apiCallResponses and globalContextEntries, which Kyverno supports
// only in its tests.
//
// The files in order: given.go (Values), user.go (UserInfo), context.go (Context), answers.go
// (the answers of API calls and of the global context).
package given

import (
	"maps"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Values has the contents of values files. The format is that of the Values of Kyverno's
// command-line tool.
type Values struct {
	// Global are globalValues, by name.
	Global   map[string]any
	Policies []PolicyValues
	// Namespaces are the described namespaces, by name: whole objects, or only their names and
	// labels.
	Namespaces map[string]map[string]any
	Answers    Answers
}

// PolicyValues are the values for one policy, with the document that contains them.
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
	for _, n := range r.List(r.Root.At("namespaces")) { // these win
		if name := n.At("metadata", "name").Text(); name != "" {
			v.Namespaces[name] = n.Object()
		}
	}
	v.Answers.read(r, r.Root)
}

// Labels returns the labels of a namespace; ok is false if the values do not describe it.
func (v *Values) Labels(namespace string) (map[string]any, bool) {
	object, ok := v.Namespaces[namespace]
	metadata, _ := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	return labels, ok
}

// Answer returns the value of a function whose result differs in every run. It is the global
// value with the name of the function, or the entry for the argument in it.
func (v *Values) Answer(call, argument string) (any, bool) {
	value, ok := v.Global[call]
	if byArgument, isMap := value.(map[string]any); isMap {
		value, ok = byArgument[argument]
	}
	return value, ok
}
