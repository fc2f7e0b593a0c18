package gatekeeper

import (
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

const (
	valueAtLocation = "ValueAtLocation"
	username        = "Username"
)

// external assigns the answer of an external data provider.
type external struct {
	mutator                                        *mutator
	provider, dataSource, failurePolicy, byDefault string
}

// placeholder marks the place of the answer to a key.
type placeholder struct {
	external *external
	key      string
}

// String names the provider: messages print placeholders as values.
func (p placeholder) String() string { return "the answer of provider " + p.external.provider }

// external reads and checks the source of external data.
func (r *reader) external(n policy.Node, m *mutator) action {
	e := &external{
		mutator: m, provider: n.At("provider").Text(), dataSource: valueAtLocation, failurePolicy: "Fail", byDefault: n.At("default").Text(),
	}
	if n.At("dataSource").Given() {
		e.dataSource = n.At("dataSource").Text()
	}
	if n.At("failurePolicy").Given() {
		e.failurePolicy = n.At("failurePolicy").Text()
	}
	if e.failurePolicy == "UseDefault" && e.byDefault == "" {
		r.doc.Invalid(n, "`default` must not be empty when `failurePolicy` is set to `UseDefault`")
	}
	return e
}

// field implements action. A value that is there already is the key, even if dataSource is
// Username.
func (e *external) field(c *call, value any, given bool) (any, bool, error) {
	if o := c.subject.observer(); o.IsActive() {
		o.Use(value)
	}
	p := placeholder{external: e}
	switch value := value.(type) {
	case placeholder:
		p.key = value.key
	case string:
		p.key = value
	default:
		if given {
			return nil, false, fmt.Errorf("value assigned to external data placeholder is not a string, got %s", change.Describe(value))
		}
		if e.dataSource == username {
			p.key = c.subject.request.User.Name
		}
	}
	return p, true, nil
}

// provider is a document with the answers of a provider. It has the name of the Provider.
type provider struct {
	// failed is the error of the whole response.
	failed string
	items  map[string]item
}

type item struct {
	value any
	// failed is the error of one item.
	failed string
}

// provider reads a ProviderResponse.
func (r *reader) provider() *provider {
	r.doc.Values = true
	p := &provider{items: map[string]item{}}
	response := r.doc.Root.At("response")
	r.doc.Conforms(r.doc.Root, responseType, r.unknown)
	if r.doc.Document.Name() == "" {
		r.advise(r.doc.Root.At("metadata", "name"), 0, "give the name of the Provider whose answers these are", "Required value")
	}
	if idempotent := response.At("idempotent"); idempotent.Value != true && r.doc.IsSound(idempotent) {
		r.advise(idempotent, 0, "set idempotent: true", "Gatekeeper uses no answer that is not idempotent")
	}
	p.failed = response.At("systemError").Text()
	for _, n := range response.At("items").Items() {
		key := n.At("key")
		if _, twice := p.items[key.Text()]; twice {
			r.advise(key, 0, "keep one of the two", "the key is duplicated")
		}
		p.items[key.Text()] = item{n.At("value").Value, n.At("error").Text()}
	}
	return p
}

// responseType is the type of a ProviderResponse, which has no CustomResourceDefinition.
var responseType = &schema.Type{Fields: []schema.Field{
	{Name: "apiVersion", Type: text},
	{Name: "kind", Type: text},
	{Name: "metadata", Type: &schema.Type{Preserve: true}},
	{Name: "response", Type: &schema.Type{Fields: []schema.Field{
		{Name: "idempotent", Type: &schema.Type{Scalar: schema.Boolean}},
		{Name: "items", Type: &schema.Type{IsList: true, Elem: &schema.Type{Fields: []schema.Field{
			{Name: "error", Type: text},
			{Name: "key", Type: text, Required: true},
			{Name: "value", Type: &schema.Type{Scalar: schema.Untyped}},
		}}}},
		{Name: "systemError", Type: text},
	}}},
}}

// errUnanswered reports that the context does not have the answer of a provider.
var errUnanswered = errors.New("its answer is not known")

// resolve returns the text that replaces a placeholder at the end.
func (p placeholder) resolve(providers map[string]*provider) (string, error) {
	e := p.external
	given := providers[e.provider]
	if given == nil {
		return "", errUnanswered
	}
	answer, answered := given.items[p.key]
	text, isText := answer.value.(string)
	var err error
	switch {
	case given.failed != "":
		err = fmt.Errorf("failed to validate external data response from provider %s: non-empty system error: %s", e.provider, given.failed)
	case !answered:
		return "", errUnanswered
	case answer.failed != "":
		err = fmt.Errorf("failed to retrieve external data item from provider %s: %s", e.provider, answer.failed)
	case !isText:
		err = fmt.Errorf("failed to convert external data item value from provider %s to string, got type %s", e.provider, goType(answer.value))
	}
	if err == nil {
		return text, nil
	}
	switch e.failurePolicy {
	case "UseDefault":
		return e.byDefault, nil
	case "Ignore":
		return p.key, nil
	}
	return "", err
}

// failure returns the error of a placeholder that was not resolved.
func (p placeholder) failure(path change.Path, err error) policy.Failure {
	e := p.external
	f := policy.Failure{ID: e.mutator.whole(), At: e.mutator.at("parameters", "assign", "externalData")}
	if errors.Is(err, errUnanswered) {
		f.Err = fmt.Errorf("%s: at %s, mutator %s asks provider %s for the value of %q, and %w: give it as a ProviderResponse in the context",
			denied, path, e.mutator.key(), e.provider, p.key, err)
	} else {
		f.Err = fmt.Errorf("%s: failed to resolve external data placeholders: %w", denied, err)
	}
	return f
}
