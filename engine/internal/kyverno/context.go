package kyverno

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// entry is a variable that is evaluated when an expression first names it: an entry of a
// context, or the images of an object.
type entry struct {
	name string
	// kind is configMap, variable, apiCall, imageRegistry or globalReference.
	kind   string
	body   policy.Node
	rule   *rule
	images map[string]any
}

// context checks the entries of a context.
func (r *reader) context(n policy.Node) {
	for _, item := range r.doc.List(n) {
		if !r.doc.Fields(item, entryFields()) {
			continue
		}
		if item.At("name").Text() == "" {
			r.doc.Invalid(item.At("name"), "the field is required")
		}
		given := 0
		for _, kind := range entryKinds {
			if body := item.At(kind); body.Given() {
				given++
				r.doc.Fields(body, typeAt("rules", "context", kind).FieldNames())
			}
		}
		if given != 1 {
			r.doc.Advise(item.Path, "policy-invalid", "expected exactly one of variable, configMap, apiCall, globalReference and imageRegistry", "")
		}
		if v := item.At("variable"); v.Given() && !v.At("value").Given() && !v.At("jmesPath").Given() && !v.At("default").Given() {
			r.doc.Advise(v.Path, "policy-invalid", "the variable has no value", "give it value, jmesPath or default")
		}
		if path := item.At("variable", "jmesPath"); path.Given() && !hasVariables(path.Text()) {
			r.expression(path, path.Text(), 0)
		}
		r.expressions(item)
	}
}

// addContext adds the entries of a context to the scope.
func (s *scope) addContext(r *rule, n policy.Node) {
	for _, item := range n.Items() {
		e := &entry{name: item.At("name").Text(), rule: r}
		for _, kind := range entryKinds {
			if body := item.At(kind); body.Given() {
				e.kind, e.body = kind, body
			}
		}
		if e.kind != "variable" && s.given[e.name] {
			continue // the user gave its value
		}
		s.pending = append(s.pending, e)
	}
}

// loadEntry evaluates an entry.
func (s *scope) loadEntry(e *entry) (any, error) {
	var value any
	var err error
	switch {
	case e.images != nil:
		s.observeImages(e.images)
		value, err = imagesOf(s.evaluation.request.Kind.Kind, e.images)
	case e.kind == "variable":
		value, err = s.variable(e)
	case e.kind == "configMap":
		value, err = s.configMap(e)
	case e.kind == "apiCall":
		value, err = s.apiCall(e)
	default:
		err = errAsk(asks[e.kind])
	}
	if err != nil {
		return nil, fmt.Errorf("context entry %s: %w", e.name, err)
	}
	return value, nil
}

// errAsk returns an error about a value that only a cluster can provide.
func errAsk(how string) error {
	return fmt.Errorf("a cluster would get it by %s: give its value among the values, under its name", how)
}

var asks = map[string]string{
	"globalReference": "an entry of its global context",
	"imageRegistry":   "asking an image registry",
}

// text returns a field of an entry with its variables replaced.
func (s *scope) text(e *entry, n policy.Node) (string, error) {
	value, err := s.substitute(n.Value, alone(n))
	if err != nil {
		return "", err
	}
	if o := s.evaluation.observer(); o.IsActive() {
		o.Use(value) // names what to look up
	}
	return jmespath.Text(value), nil
}

func (s *scope) variable(e *entry) (any, error) {
	fallback, err := s.substitute(e.body.At("default").Value, alone(e.body.At("default")))
	if err != nil {
		return nil, err
	}
	value, err := s.variableValue(e)
	if (err != nil || value == nil) && fallback != nil {
		return fallback, nil
	}
	if err == nil && value == nil {
		err = errors.New("the value is null, and there is no default")
	}
	return value, err
}

func (s *scope) variableValue(e *entry) (any, error) {
	n := e.body.At("value")
	value, err := s.substitute(n.Value, alone(n))
	written := e.body.At("jmesPath")
	if err != nil || !written.Given() {
		return value, err
	}
	path, err := s.text(e, written)
	if err != nil {
		return nil, err
	}
	if n.Given() {
		value, err = s.search(path, value)
	} else {
		value, err = s.query(path)
	}
	if err != nil {
		err = explain(path, err, path != written.Text())
	}
	return value, err
}

// search evaluates an expression on a value.
func (s *scope) search(text string, value any) (any, error) {
	expression, err := s.evaluation.program.env.Compile(text)
	if err != nil {
		return nil, err
	}
	data := jmespath.Input(value)
	s.observe(text, data)
	return s.evaluation.program.env.Search(expression, data)
}

func (s *scope) configMap(e *entry) (any, error) {
	name, err := s.text(e, e.body.At("name"))
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(e.rule.policy.namespace, "default")
	if n := e.body.At("namespace"); n.Given() {
		if namespace, err = s.text(e, n); err != nil {
			return nil, err
		}
	}
	s.evaluation.request.Snapshot.Ask()
	object, err := s.evaluation.request.Snapshot.Get(configMapKind, namespace, name)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return nil, source.Messagef("there is no ConfigMap %s/%s in the input; give it as context", source.Result(namespace), source.Result(name))
	}
	result := map[string]any{"data": map[string]any{}, "metadata": object["metadata"]}
	if data, ok := object["data"].(map[string]any); ok {
		result["data"] = maps.Clone(data)
	}
	return result, nil
}

// hasImages are the kinds that have the variable images.
var hasImages = map[string]bool{
	"Pod": true, "Deployment": true, "DaemonSet": true, "StatefulSet": true, "ReplicaSet": true,
	"ReplicationController": true, "Job": true, "CronJob": true,
}

// PodPath returns the path of the pod spec in objects of a kind.
func PodPath(kind string) change.Path {
	switch kind {
	case "Pod":
		return change.Keys("spec")
	case "CronJob":
		return change.Keys("spec", "jobTemplate", "spec", "template", "spec")
	}
	return change.Keys("spec", "template", "spec")
}
