package given

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/policy"
)

// The fields of Values and Context that have answers.
const (
	calls   = "apiCallResponses"
	entries = "globalContextEntries"
)

// Answers are the answers of requests, of the global context and of registries.
type Answers struct {
	calls   []call
	entries map[string]Entry
	images  map[string]map[string]any
}

// call is the answer to a request to an API.
type call struct {
	url, method string // empty: any method
	status      int64
	body        any
}

// Entry is an entry of the global context. It has a value, and named projections: expressions in
// JMESPath that select from the value.
type Entry struct {
	Value       any
	Projections map[string]string
}

// Merge returns the answers of both. The answers of a win.
func (a Answers) Merge(b Answers) Answers {
	merged := Answers{calls: slices.Concat(a.calls, b.calls), entries: map[string]Entry{}, images: map[string]map[string]any{}}
	for _, from := range []Answers{b, a} {
		maps.Copy(merged.entries, from.entries)
		maps.Copy(merged.images, from.images)
	}
	return merged
}

func (a *Answers) read(r *policydoc.Reader, n policy.Node) {
	for _, item := range r.List(n.At(calls)) {
		if r.Fields(item, []string{"url", "urlPath", "method", "response"}) {
			a.readCall(r, item)
		}
	}
	for _, item := range r.List(n.At(entries)) {
		if r.Fields(item, []string{"name", "data", "resources", "fieldPath", "projections"}) {
			a.readEntry(r, item)
		}
	}
	for _, item := range r.List(n.At("images")) {
		if !r.Fields(item, []string{"image", "resolvedImage", "registry", "repository", "tag", "digest", "imageIndex", "manifest", "config"}) {
			continue
		}
		if a.images == nil {
			a.images = map[string]map[string]any{}
		}
		a.images[r.String(item.At("image"))] = item.Object()
	}
}

func (a *Answers) readCall(r *policydoc.Reader, n policy.Node) {
	c := call{url: strings.TrimSpace(r.String(n.At("url")) + r.String(n.At("urlPath"))), method: strings.ToUpper(r.String(n.At("method"))), status: 200}
	response := n.At("response")
	switch {
	case c.url == "" || n.At("url").Given() && n.At("urlPath").Given():
		r.Advise(n.Path, "values-invalid", "expected one of url and urlPath", "")
	case c.method != "" && c.method != "GET" && c.method != "POST":
		r.Advise(n.At("method").Path, "values-invalid", "expected GET or POST", "")
	case response.Given() && r.Fields(response, []string{"statusCode", "body"}):
		if status, ok := response.At("statusCode").Value.(int64); ok {
			c.status = status
		}
		c.body = response.At("body").Value
		a.calls = append(a.calls, c)
	case !response.Given():
		r.Advise(n.At("response").Path, "values-invalid", "the field is required", "give it the body of the answer")
	}
}

func (a *Answers) readEntry(r *policydoc.Reader, n policy.Node) {
	entry := Entry{Value: n.At("data").Value, Projections: map[string]string{}}
	if resources := n.At("resources"); resources.Given() {
		entry.Value = resources.Value
	}
	if path := r.String(n.At("fieldPath")); path != "" {
		value, err := Entry{Value: entry.Value}.search(path)
		if err != nil {
			r.Advise(n.At("fieldPath").Path, "values-invalid", err.Error(), "")
		}
		entry.Value = value
	}
	for _, item := range r.List(n.At("projections")) {
		if r.Fields(item, []string{"name", "path", "jmesPath"}) {
			entry.Projections[r.String(item.At("name"))] = r.String(item.At("path")) + r.String(item.At("jmesPath"))
		}
	}
	if a.entries == nil {
		a.entries = map[string]Entry{}
	}
	a.entries[r.String(n.At("name"))] = entry
}

// Call answers a request to a URL, or to a path of the API server.
func (a *Answers) Call(method, url string) (body any, status int64, ok bool) {
	for _, c := range a.calls {
		if c.url == url && (c.method == "" || c.method == method) {
			return c.body, c.status, true
		}
	}
	return nil, 0, false
}

// Image returns the answer of a registry about an image.
func (a *Answers) Image(reference string) (map[string]any, bool) {
	image, ok := a.images[reference]
	return image, ok
}

// Entry returns an entry of the global context.
func (a *Answers) Entry(name string) (Entry, bool) {
	entry, ok := a.entries[name]
	return entry, ok
}

// Select returns the value of the entry, or the part that a projection selects.
func (e Entry) Select(projection string) (any, error) {
	if projection == "" {
		return e.Value, nil
	}
	path, ok := e.Projections[projection]
	if !ok {
		return nil, fmt.Errorf("projection %q not found", projection)
	}
	return e.search(path)
}

func (e Entry) search(path string) (any, error) {
	expression, err := jmespath.Compile(path)
	if err != nil {
		return nil, err
	}
	found, err := jmespath.NewEnv(func(string, string) (any, bool) { return nil, false }).Search(expression, jmespath.Input(e.Value))
	if err != nil {
		return nil, err
	}
	return jmespath.Output(found)
}
