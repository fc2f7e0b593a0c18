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
	for _, item := range n.Items() {
		if item.At("name").Text() == "" {
			r.doc.Invalid(item.At("name"), "the field is required")
		}
		if count(item, entryKinds...) != 1 {
			r.doc.Advise(item.Path, "policy-invalid", "expected exactly one of variable, configMap, apiCall, globalReference and imageRegistry", "")
		}
		v := item.At("variable")
		if _, isMap := v.Value.(map[string]any); isMap && !v.At("value").Given() && !v.At("jmesPath").Given() && !v.At("default").Given() {
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
	if err != nil && asks[e.kind] != "" {
		err = &notGiven{err}
	}
	if err != nil {
		return nil, fmt.Errorf("context entry %s: %w", e.name, err)
	}
	return value, nil
}

// notGiven is an error of an entry that a cluster looks up, and that may have a value there.
type notGiven struct{ err error }

// Error implements error.
func (e *notGiven) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *notGiven) Unwrap() error { return e.err }

// errAsk returns an error about a value that only a cluster can provide.
func errAsk(how string) error {
	return fmt.Errorf("a cluster would get it by %s: give its value among the values, under its name", how)
}

// asks says how a cluster gets what it looks up.
var asks = map[string]string{
	"configMap":       "reading a ConfigMap",
	"apiCall":         "calling an API",
	"globalReference": "an entry of its global context",
	"imageRegistry":   "asking an image registry",
}

// text returns a field of an entry, which may be missing, with its variables replaced.
func (s *scope) text(n policy.Node) (string, error) {
	if !n.Given() {
		return "", nil
	}
	value, err := s.substitute(n.Value, alone(n))
	if err != nil {
		return "", err
	}
	s.evaluation.observer().Use(value) // names what to look up
	text, isText := value.(string)
	if !isText {
		return "", fmt.Errorf("the value of %s must be a text", n.Key())
	}
	return text, nil
}

// variable evaluates an entry of kind variable. The default is for a jmesPath that fails, or that finds nothing in the
// variables; if it finds nothing in the value, the entry fails.
func (s *scope) variable(e *entry) (any, error) {
	written, given := e.body.At("jmesPath"), e.body.At("value")
	path, err := s.text(written)
	if err != nil {
		return nil, err
	}
	output, err := s.substitute(e.body.At("default").Value, alone(e.body.At("default")))
	if err != nil {
		return nil, err
	}
	value, err := s.substitute(given.Value, alone(given))
	switch {
	case err != nil:
		return nil, err
	case path == "" && given.Given():
		output = value
	case path != "":
		search := s.query
		if given.Given() {
			search = func(path string) (any, error) { return s.search(path, value) }
		}
		found, err := search(path)
		if err != nil && output == nil {
			return nil, explain(path, err, path != written.Text())
		}
		if err == nil && (found != nil || given.Given()) {
			output = found
		}
	}
	if output == nil {
		return nil, errors.New("the value is null, and there is no default for it")
	}
	return output, nil
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
	name, err := s.text(e.body.At("name"))
	if err != nil {
		return nil, err
	}
	namespace, err := s.text(e.body.At("namespace"))
	if err != nil {
		return nil, err
	}
	namespace = cmp.Or(namespace, e.rule.policy.namespace, "default")
	if own := e.rule.policy.namespace; own != "" && namespace != own {
		return nil, source.Messagef("the ConfigMap must be in namespace %s, to which the policy is confined", source.Name(own))
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
