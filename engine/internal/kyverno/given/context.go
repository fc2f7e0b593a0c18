package given

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Group is the API group of the kinds of Kyverno's command-line tool.
const Group = "cli.kyverno.io"

// IsContext reports whether documents of a kind are Contexts.
func IsContext(kind gvk.Kind) bool { return kind.Group == Group && kind.Kind == "Context" }

// Context has the contents of documents of kind Context.
type Context struct {
	// Resources are the objects in the cluster. Namespaced objects have an explicit namespace.
	Resources []Resource
	Answers   Answers
}

// Resource is an object in a Context, with a name for messages that says where it is.
type Resource struct {
	Name  string
	Value map[string]any
}

// ReadContext reads documents of kind Context.
func ReadContext(documents []*manifest.Document) (*Context, []source.Diagnostic) {
	c := &Context{}
	var problems []source.Diagnostic
	for _, d := range documents {
		r := newReader(d)
		if r.Fields(r.Root, []string{"apiVersion", "kind", "metadata", "spec"}) {
			if spec := r.Root.At("spec"); spec.Given() && r.Fields(spec, []string{"resources", "images", calls, entries}) {
				for _, n := range r.List(spec.At("resources")) {
					if n.At("apiVersion").Text() == "" || n.At("kind").Text() == "" || n.At("metadata", "name").Text() == "" {
						r.Advise(n.Path, "values-invalid", "expected an object", "give it apiVersion, kind and metadata.name")
						continue
					}
					c.Resources = append(c.Resources, Resource{fmt.Sprintf("%s, %s", d.Stream().Name(), n.Path), n.Object()})
				}
				c.Answers.read(r, spec)
			}
		}
		problems = append(problems, r.Problems...)
	}
	return c, problems
}
