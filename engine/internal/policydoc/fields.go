package policydoc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/dns"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Fields reports a value that is not a map, and unknown fields of a map.
func (r *Reader) Fields(n policy.Node, known []string) bool {
	object, ok := n.Value.(map[string]any)
	if !ok {
		if n.Given() {
			r.Invalid(n, "expected a map")
		} else {
			r.Invalid(n, "the field is required")
		}
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, key) {
			r.UnknownField(n, key, known)
		}
	}
	return true
}

// UnknownField reports a field of the map at n that is not one of the known fields.
func (r *Reader) UnknownField(n policy.Node, name string, known []string) {
	r.Mistaken(n.Path.Key(name), "policy-field-unknown", fmt.Sprintf("unknown field %q", name), source.Expected("expected "+strings.Join(known, ", "), name, known))
}

// Name returns the name of the policy. It reports a name that an API server rejects.
func (r *Reader) Name() string {
	n := r.Root.At("metadata", "name")
	if n.Text() == "" {
		d := source.Errorf(r.Document.At(n.Path), "policy-invalid", "Required value: name or generateName is required")
		metadata := r.Root.At("metadata")
		for _, key := range slices.Sorted(maps.Keys(metadata.Object())) {
			if source.Misspelt(key, []string{"name"}) != "" && key != "name" {
				d = d.AdvisedAt(r.Document.Key(metadata.Path.Key(key)), source.Meant(key, "name"))
			}
		}
		r.Report(d, n.Path)
		return ""
	}
	advice := source.Advice{}
	if lower := strings.ToLower(n.Text()); len(dns.Subdomain(lower)) == 0 {
		advice = source.Advice{Text: "use lower case: " + lower, Old: n.Text(), New: lower}
	}
	for _, problem := range dns.Subdomain(n.Text()) {
		d := source.Diagnostic{At: r.Document.At(n.Path), Severity: source.Error, Code: "policy-invalid", Message: fmt.Sprintf("Invalid value: %q: %s", n.Text(), problem)}
		r.Report(d.Advised(advice), n.Path)
	}
	return n.Text()
}

// List returns the items of a list, and reports a value that is not a list.
func (r *Reader) List(n policy.Node) []policy.Node {
	if _, ok := n.Value.([]any); n.Given() && !ok {
		r.Report(r.Document.Listed(source.Errorf(r.Document.At(n.Path), "policy-invalid", "expected a list"), n.Path), n.Path)
	}
	return n.Items()
}

// Strings returns the items of a list of strings, and reports values of other types.
func (r *Reader) Strings(n policy.Node) []string {
	var texts []string
	for _, item := range r.List(n) {
		texts = append(texts, r.String(item))
	}
	return texts
}

// String returns a string, and reports a value of another type.
func (r *Reader) String(n policy.Node) string {
	if _, ok := n.Value.(string); n.Given() && !ok {
		d := source.Errorf(r.Document.At(n.Path), "policy-invalid", "expected a string")
		switch n.Value.(type) {
		case map[string]any, []any:
		default:
			d = r.Document.Quoted(d.With("quote the value"), n.Path)
		}
		r.Report(d, n.Path)
	}
	return n.Text()
}
