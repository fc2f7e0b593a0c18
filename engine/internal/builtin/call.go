package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/podspec"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// call is one call of a plug-in.
type call struct {
	request *policy.Request
	// object is the object of the request, for the plug-in to change.
	object map[string]any
	minor  int
	config *Config
	// warnings and annotations accompany the answer of a plug-in that refuses.
	warnings    []string
	annotations []policy.Annotation
}

// spec is the spec of the object.
func (c *call) spec() map[string]any { return podspec.Ensure(c.object, "spec") }

// creating reports whether the object is new.
func (c *call) creating() bool { return c.request.Operation == policy.Create }

// forbidden returns the error with which a server forbids the request.
func (c *call) forbidden(err error) error {
	name := cmp.Or(c.request.Name, podspec.Text(c.object, "metadata", "name"), podspec.Text(c.object, "metadata", "generateName"), "Unknown")
	return c.forbiddenNamed(name, err)
}

// forbiddenNamed is forbidden with a given name of the object.
func (c *call) forbiddenNamed(name string, err error) error {
	resource := c.request.Kind.Resource
	if c.request.Kind.Group != "" {
		resource += "." + c.request.Kind.Group
	}
	return fmt.Errorf("%s %q is forbidden: %w", resource, name, err)
}

// answered is a refusal with the reason of the server's answer.
type answered struct {
	error
	status string
}

// missing reports that an object that a plug-in looks up does not exist.
type missing struct{ problem, advice string }

// Error implements error.
func (m *missing) Error() string { return m.problem }

// missing returns the error about an object that does not exist, in the words of the server.
func (c *call) missing(kind, format string, args ...any) error {
	return &missing{fmt.Sprintf(format, args...), fmt.Sprintf("if the cluster has the %s, give it with the option context", kind)}
}

// get returns an object, or nil if it does not exist.
func (c *call) get(kind gvk.Kind, namespace, name string) (map[string]any, error) {
	return c.request.Lookup(c.request.Schemas.Lookup(kind), namespace, name)
}

// list returns the objects of a kind in a namespace, sorted by name.
func (c *call) list(kind gvk.Kind, namespace string) ([]map[string]any, error) {
	objects, _, err := c.request.LookupAll(c.request.Schemas.Lookup(kind), namespace, func(string, string) bool { return true })
	return objects, err
}

// namespaceAnnotations returns the annotations of the namespace of the object.
func (c *call) namespaceAnnotations(plugin string) (map[string]any, error) {
	c.request.Snapshot.Ask()
	namespace, known, err := c.request.NamespaceObject()
	if err != nil {
		return nil, err
	}
	if !known {
		c.request.WarnAssumed(c.request.Namespace, source.Position{}, "admission plug-in "+plugin+" reads the annotations of namespaces")
	}
	return podspec.Map(namespace, "metadata", "annotations"), nil
}

// newestDefault returns the name of the default class: the class with one of some annotations.
// The newest class wins, and then the first by name.
func (c *call) newestDefault(kind gvk.Kind, annotations ...string) (string, error) {
	classes, err := c.list(kind, "")
	if err != nil {
		return "", err
	}
	classes = slices.DeleteFunc(classes, func(class map[string]any) bool {
		return !slices.ContainsFunc(annotations, func(name string) bool { return podspec.Text(class, "metadata", "annotations", name) == "true" })
	})
	if len(classes) == 0 {
		return "", nil
	}
	newest := slices.MinFunc(classes, func(a, b map[string]any) int {
		return -cmp.Compare(podspec.Text(a, "metadata", "creationTimestamp"), podspec.Text(b, "metadata", "creationTimestamp"))
	})
	return podspec.Text(newest, "metadata", "name"), nil
}

// aggregate combines errors into one as a server prints them, without duplicates; nil for no
// errors.
func aggregate(errs []error) error {
	var texts []string
	for _, err := range errs {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	switch len(texts) {
	case 0:
		return nil
	case 1:
		return errors.New(texts[0])
	}
	all := texts[0]
	for _, text := range texts[1:] {
		all += ", " + text
	}
	return errors.New("[" + all + "]")
}
