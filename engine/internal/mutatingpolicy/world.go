package mutatingpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// world answers the functions of one evaluation: from the manifests and the context, or else
// from the user's values.
type world struct {
	evaluation *evaluation
}

var _ celenv.World = (*world)(nil)

func newWorld(e *evaluation) *world { return &world{evaluation: e} }

// Where users can provide what cannot be looked up.
const (
	inContext   = "give it in a document of kind Context, as spec.images, with the option context"
	inResponses = "give it in the values, as apiCallResponses"
	inEntries   = "give the GlobalContextEntry as context, or its value in the values, as globalContextEntries"
)

// Get implements celenv.World. An object that is not in the input is assumed not to exist.
func (w *world) Get(apiVersion, resource, namespace, name string) (map[string]any, error) {
	namespace = cmp.Or(w.evaluation.unit.policy.namespace, namespace)
	if body, _, ok := w.evaluation.language.answers.Call("GET", path(apiVersion, resource, namespace, name)); ok {
		object, _ := body.(map[string]any)
		return object, nil
	}
	kind, err := w.kind(apiVersion, resource)
	if err != nil {
		return nil, err
	}
	r := w.evaluation.request
	if kind.Kind == namespaceKind {
		r.Snapshot.Ask()
		object, known, err := r.Snapshot.Namespace(name)
		if err == nil && !known {
			r.WarnAssumed(name, w.evaluation.unit.policy.at, "policy "+w.evaluation.unit.policy.key()+" looks it up")
		}
		return object, err
	}
	object, err := r.Lookup(kind, namespace, name)
	if err == nil && object == nil {
		w.warnMissing(fmt.Sprintf("looks up %s %s, which is not in the input and is taken not to exist", resource, strings.TrimPrefix(namespace+"/"+name, "/")))
	}
	return object, err
}

func (w *world) warnMissing(what string) {
	d := w.evaluation.unit.policy
	w.evaluation.request.Warn(source.Warningf(d.at, "api-call-assumed", "policy %s %s", source.Name(d.key()), what).
		With("give it as context, if the cluster has it"))
}

var namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}

// kind returns the kind of a plural resource. If the resource is not defined, it is guessed from
// the kinds of the objects in the input.
func (w *world) kind(apiVersion, resource string) (*schema.Kind, error) {
	group, version := gvk.Parse(apiVersion, "").Group, gvk.Parse(apiVersion, "").Version
	if name, sub, found := strings.Cut(resource, "/"); found {
		return nil, fmt.Errorf("what a cluster has as %s of %s is not known; %s, with the urlPath of the request", sub, name, inResponses)
	}
	if kind := w.evaluation.request.KindOf(gvk.Resource{Group: group, Version: version, Resource: resource}); kind != nil {
		return kind, nil
	}
	return nil, fmt.Errorf("there is no resource %s of %s; if the cluster has it, give its CustomResourceDefinition as context", resource, apiVersion)
}

// List implements celenv.World.
func (w *world) List(apiVersion, resource, namespace string, labels map[string]string) ([]any, error) {
	namespace = cmp.Or(w.evaluation.unit.policy.namespace, namespace)
	if body, _, ok := w.evaluation.language.answers.Call("GET", path(apiVersion, resource, namespace, "")); ok {
		object, _ := body.(map[string]any)
		items, _ := object["items"].([]any)
		return withLabels(items, labels), nil
	}
	items, err := w.list(apiVersion, resource, namespace)
	return withLabels(items, labels), err
}

// list lists the objects of a resource in the input.
func (w *world) list(apiVersion, resource, namespace string) ([]any, error) {
	kind, err := w.kind(apiVersion, resource)
	if err != nil {
		return nil, err
	}
	objects, _, err := w.evaluation.request.LookupAll(kind, namespace, func(string, string) bool { return true })
	if err != nil {
		return nil, err
	}
	items := change.List(objects)
	if len(items) == 0 {
		where := ""
		if namespace != "" {
			where = " in namespace " + namespace
		}
		w.warnMissing(fmt.Sprintf("lists %s%s, of which there are none in the input", resource, where))
	}
	return items, nil
}

func withLabels(items []any, labels map[string]string) []any {
	if len(labels) == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(item any) bool {
		object, _ := item.(map[string]any)
		has := policy.LabelsOf(object)
		for key, value := range labels {
			if actual, ok := has[key]; !ok || actual != value {
				return true
			}
		}
		return false
	})
}

// path returns the path of objects in an API server.
func path(apiVersion, resource, namespace, name string) string {
	p := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		p = "/api/" + apiVersion
	}
	if namespace != "" {
		p += "/namespaces/" + namespace
	}
	resource, sub, _ := strings.Cut(resource, "/")
	for _, part := range []string{resource, name, sub} {
		if part != "" {
			p += "/" + part
		}
	}
	return p
}

// Resource implements celenv.World.
func (w *world) Resource(apiVersion, kind string) (gvk.Resource, error) {
	known := w.evaluation.request.Schemas.Lookup(gvk.Parse(apiVersion, kind))
	if known == nil || known.Resource == "" {
		return gvk.Resource{}, fmt.Errorf("no matches for kind %q in version %q; if the cluster has it, give its CustomResourceDefinition as context", kind, apiVersion)
	}
	return gvk.Resource{Group: known.Group, Version: known.Version, Resource: known.Resource}, nil
}

// Post implements celenv.World.
func (w *world) Post(apiVersion, resource, namespace string) (map[string]any, error) {
	url := path(apiVersion, resource, cmp.Or(w.evaluation.unit.policy.namespace, namespace), "")
	body, _, ok := w.evaluation.language.answers.Call("POST", url)
	if !ok {
		return nil, fmt.Errorf("the answer of a cluster to POST %s is not known; %s, with that urlPath", url, inResponses)
	}
	object, ok := body.(map[string]any)
	if !ok {
		return nil, errors.New("the answer that is given is not an object")
	}
	return object, nil
}

// Request implements celenv.World.
func (w *world) Request(method, url string) (any, int64, error) {
	body, status, ok := w.evaluation.language.answers.Call(method, url)
	if !ok {
		return nil, 0, fmt.Errorf("no connection is made; what http.%s would be answered by %s is not known: %s", method[:1]+strings.ToLower(method[1:]), url, inResponses)
	}
	return body, status, nil
}

// Image implements celenv.World.
func (w *world) Image(reference string) (map[string]any, error) {
	image, ok := w.evaluation.language.answers.Image(reference)
	if !ok {
		return nil, fmt.Errorf("no registry is asked, and the metadata of image %s are not known: %s", reference, inContext)
	}
	return image, nil
}

// The global values that replace the clock and random numbers.
const (
	nowValue    = "time.now()"
	randomValue = "random()"
)

// Now implements celenv.World.
func (w *world) Now() (time.Time, error) {
	given, ok := w.evaluation.language.values.Answer(nowValue, "")
	if !ok {
		given, ok = w.evaluation.language.values.Answer("time_now()", "") // the name in rules of ClusterPolicies
	}
	if !ok {
		return time.Time{}, fmt.Errorf("time.now() has another value in every run: give it in the values, as the global value %q", nowValue)
	}
	text, _ := given.(string)
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("the global value %q is not a time like 2006-01-02T15:04:05Z", nowValue)
	}
	return now, nil
}

// Random implements celenv.World.
func (w *world) Random(pattern string) (string, error) {
	given, ok := w.evaluation.language.values.Answer(randomValue, pattern)
	text, isText := given.(string)
	if !ok || !isText {
		return "", fmt.Errorf("random() has another value in every run: give it in the values, as the global value %q, or below it for the expression %q", randomValue, pattern)
	}
	return text, nil
}
