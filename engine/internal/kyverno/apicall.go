package kyverno

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// errNotAnswered is the error of a call that only a cluster can answer.
var errNotAnswered = errAsk("a call to an API")

// absentError reports that the object or kind that a call requests is not in the input. A
// cluster that lacks it too uses the default.
type absentError struct {
	what   *source.Message
	advice string
}

// Error implements error.
func (e *absentError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the whole text.
func (e *absentError) Unwrap() error {
	return source.Messagef("%v; %s", e.what, source.Literal(e.advice))
}

const (
	giveObject = "give it as context, or the value of the entry among the values"
	giveKind   = "give its CustomResourceDefinition as context, or the value of the entry among the values"
)

// apiCall answers a call to the API of the cluster from the input, if the path is that of
// objects or of the version.
func (s *scope) apiCall(e *entry) (any, error) {
	method := e.body.At("method").Text()
	if !e.body.At("urlPath").Given() || method != "" && method != "GET" {
		return nil, errNotAnswered
	}
	text, err := s.text(e.body.At("urlPath"))
	if err != nil {
		return nil, err
	}
	answer, err := s.get(e, text)
	var absent *absentError
	switch fallback := e.body.At("default"); {
	case errors.As(err, &absent) && fallback.Given():
		s.assume(e, source.Messagef("%v, so that the default is used", absent.what))
		return fallback.Value, nil
	case err != nil:
		return nil, err
	}
	written := e.body.At("jmesPath")
	if !written.Given() {
		return answer, nil
	}
	expression, err := s.text(written)
	if err != nil {
		return nil, err
	}
	value, err := s.search(expression, answer)
	if err != nil {
		return nil, explain(expression, err, expression != written.Text())
	}
	return value, nil
}

// assume warns that a cluster may answer a call differently.
func (s *scope) assume(e *entry, what *source.Message) {
	s.evaluation.request.Warn(source.Warningf(e.rule.at(e.body.Path), "api-call-assumed", "policy %s, rule %s, context entry %s: %s", source.Name(e.rule.policy.key()), source.Name(e.rule.name), source.Name(e.name), what).
		With(giveObject))
}

// get answers the request for a path. The path has no variables left.
func (s *scope) get(e *entry, text string) (any, error) {
	parsed, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(text, "/") {
		return nil, errors.New("the path is not that of a URL")
	}
	clean := path.Clean(parsed.Path)
	if clean == "/version" {
		return map[string]any{"major": "1", "minor": strconv.Itoa(s.evaluation.program.minor)}, nil // the known part of it
	}
	address, ok := ParseAddress(strings.Split(strings.TrimPrefix(clean, "/"), "/")...)
	if !ok {
		return nil, errNotAnswered
	}
	if own := e.rule.policy.namespace; own != "" && address.within() != own {
		return nil, fmt.Errorf("the path must lead to namespace %s, to which the policy is confined", own)
	}
	kind := s.evaluation.request.Schemas.LookupResource(address.Resource)
	switch {
	case kind == nil:
		return nil, &absentError{source.Messagef("the resource %s is not known", source.Result(address.Resource.String())), giveKind}
	case kind.Namespaced && address.Namespace == "" && address.Name != "", !kind.Namespaced && address.Namespace != "":
		return nil, &absentError{source.Messagef("a server has nothing at %s", source.Result(clean)), "correct the path"}
	}
	if address.Name != "" {
		return s.object(kind, address)
	}
	return s.list(e, kind, address, parsed.RawQuery)
}

// Address is the target of a path of the API: an object or, without a name, all objects of a resource.
type Address struct {
	Resource        gvk.Resource
	Namespace, Name string
}

// within returns the namespace of a path, or the Namespace that it names; "" for other paths.
func (a Address) within() string {
	if a.Resource == (gvk.Resource{Version: "v1", Resource: "namespaces"}) {
		return a.Name
	}
	return a.Namespace
}

// ParseAddress parses the parts of the path of an object or of a list. ok is false for other paths.
func ParseAddress(parts ...string) (a Address, ok bool) {
	switch {
	case len(parts) > 2 && parts[0] == "api":
		a.Resource.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		a.Resource.Group, a.Resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return a, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		a.Namespace, parts = parts[1], parts[2:]
	}
	a.Resource.Resource = parts[0]
	if len(parts) > 1 {
		a.Name = parts[1]
	}
	return a, len(parts) <= 2
}

// object answers the request for one object.
func (s *scope) object(kind *schema.Kind, a Address) (any, error) {
	if kind.Kind == namespaceKind {
		object, known, err := s.evaluation.request.Snapshot.Namespace(a.Name)
		if err == nil && !known {
			s.evaluation.warnAssumed(a.Name, "asks for the namespace")
		}
		return object, err
	}
	object, err := s.evaluation.request.Lookup(kind, a.Namespace, a.Name)
	if err != nil {
		return nil, notConverted(err)
	}
	if object != nil {
		return object, nil
	}
	what := source.Messagef("the %s %s is not in the input", source.Result(kind.Kind.Kind), source.Result(path.Join(a.Namespace, a.Name)))
	return nil, &absentError{what, giveObject}
}

// notConverted adds advice to the error about an object of another version.
func notConverted(err error) error {
	return fmt.Errorf("%w: give the value of the entry among the values", err)
}

// list answers the request for all objects of a resource that a query selects.
func (s *scope) list(e *entry, kind *schema.Kind, a Address, query string) (any, error) {
	selects, err := parseQuery(query)
	if err != nil {
		return nil, err
	}
	objects, given, err := s.evaluation.request.LookupAll(kind, a.Namespace, selects.names)
	if err != nil {
		return nil, notConverted(err)
	}
	if !given {
		where := source.Messagef("")
		if a.Namespace != "" {
			where = source.Messagef(" of namespace %s", source.Result(a.Namespace))
		}
		s.assume(e, source.Messagef("there is no %s%v in the input, so that the list is empty", source.Result(kind.Kind.Kind), where))
	}
	return s.listed(kind, objects, selects)
}

// listed returns the list that a server returns for objects. The items of built-in kinds have no
// apiVersion and kind.
func (s *scope) listed(kind *schema.Kind, objects []map[string]any, selects selection) (any, error) {
	items := []any{}
	for _, object := range objects {
		if kind.Kind == namespaceKind {
			var err error
			if object, _, err = s.evaluation.request.Snapshot.Namespace(nameOf(object)); err != nil {
				return nil, err
			}
		}
		if !selects.labels.Matches(policy.LabelsOf(object)) {
			continue
		}
		if !kind.Custom {
			object = maps.Clone(object)
			delete(object, "apiVersion")
			delete(object, "kind")
		}
		items = append(items, object)
	}
	return map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Kind.Kind + "List", "metadata": map[string]any{}, "items": items}, nil
}

// selection is what the query of a list selects.
type selection struct {
	labels match.Selector
	// fields are the required name and namespace, by field path.
	fields map[string]string
}

func (s selection) names(namespace, name string) bool {
	for field, actual := range map[string]string{"metadata.name": name, "metadata.namespace": namespace} {
		if want, ok := s.fields[field]; ok && want != actual {
			return false
		}
	}
	return true
}

// parseQuery parses the query of a list.
func parseQuery(query string) (selection, error) {
	s := selection{fields: map[string]string{}}
	values, err := url.ParseQuery(query)
	if err != nil {
		return s, errors.New("the query of the path is not that of a URL")
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values.Get(key)
		switch key {
		case "labelSelector":
			if s.labels, err = match.ParseSelectorText(value); err != nil {
				return s, errors.New("the labelSelector of the path is not valid")
			}
		case "fieldSelector":
			for _, term := range strings.Split(value, ",") {
				field, want, ok := strings.Cut(strings.Replace(term, "==", "=", 1), "=")
				if !ok || field != "metadata.name" && field != "metadata.namespace" {
					return s, errors.New("only a cluster selects by other fields than metadata.name and metadata.namespace: give the value of the entry among the values")
				}
				s.fields[field] = want
			}
		default:
			return s, errNotAnswered
		}
	}
	return s, nil
}

// readsOf returns what the contexts of a part of a rule look up in a cluster of version 1.minor. A
// ConfigMap without a namespace is in home.
func readsOf(n policy.Node, minor int, home string) []policy.Read {
	var reads []policy.Read
	for _, item := range n.At("context").Items() {
		if read, ok := readAt(item.At("apiCall", "urlPath").Text(), minor); ok {
			reads = append(reads, read)
		}
		if configMap := item.At("configMap"); configMap.Given() {
			reads = append(reads, policy.Read{Kind: configMapKind, Namespace: literal(cmp.Or(configMap.At("namespace").Text(), home)), Name: literal(configMap.At("name").Text())})
		}
	}
	for _, below := range []policy.Node{n.At("mutate", "targets"), n.At("mutate", "foreach"), n.At("foreach")} {
		for _, item := range below.Items() {
			reads = append(reads, readsOf(item, minor, home)...)
		}
	}
	return reads
}

// noValue replaces the variables of a text that have no values yet.
const noValue = "unknown-"

// literal returns a text; "" if it depends on variables.
func literal(text string) string {
	if hasVariables(text) || strings.Contains(text, noValue) {
		return ""
	}
	return text
}

// readAt returns what a path requests, before its variables have values. The kind is AnyKind if it
// depends on variables, or is not built in. ok is false if the path is not that of objects.
func readAt(text string, minor int) (read policy.Read, ok bool) {
	read.Kind = policy.AnyKind
	parsed, err := url.Parse(variablePattern().ReplaceAllString(text, "${1}"+noValue))
	if err != nil {
		return read, true
	}
	clean := path.Clean(parsed.Path)
	address, ok := ParseAddress(strings.Split(strings.TrimPrefix(clean, "/"), "/")...)
	if !ok {
		return read, strings.Contains(clean, noValue)
	}
	read.Namespace, read.Name = literal(address.Namespace), literal(address.Name)
	if known := schema.BuiltinOf(minor).LookupResource(address.Resource); known != nil {
		read.Kind = known.Kind
	} else if literal(address.Resource.String()) != "" {
		read.Resource = address.Resource
	}
	return read, true
}
