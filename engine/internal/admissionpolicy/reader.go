package admissionpolicy

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/dns"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Policy has the fields that policies of both languages have, compiled.
type Policy struct {
	Name     string
	Document *manifest.Document
	At       source.Position

	Ignore      bool // failurePolicy Ignore
	ParamKind   gvk.Kind
	Constraints *match.Resources
	Scope       *celenv.Scope
	Conditions  []Condition
	Bindings    []*Binding
	// conditioned are the facts that it is known which condition is false for an object, by the
	// view of its forms.
	conditioned [celenv.Views]change.Fact
	// Words returns the words of the document.
	Words func() source.Words
}

// Condition is a matchCondition.
type Condition struct {
	Name    string
	Program *celenv.Program
	At      source.Position
	// asksOperation: see policy.FalseCondition.
	asksOperation bool
}

const maxConditions = 64

// Reader reads one document of a language.
type Reader struct {
	Doc      *policydoc.Reader
	language *Language
}

// Read calls read for every document, unless what it returns is kept, and returns the results and the
// problems of each document.
func Read[D any](l *Language, documents []*manifest.Document, kept *policy.Kept, read func(*Reader) D) ([]D, [][]source.Diagnostic) {
	type result struct {
		read     D
		problems []source.Diagnostic
	}
	results, problems := make([]D, len(documents)), make([][]source.Diagnostic, len(documents))
	for i, one := range policy.KeepEach(kept, l, documents, func(d *manifest.Document) result {
		r := l.Reader(d)
		read := read(r)
		return result{read, r.Doc.Problems}
	}) {
		results[i], problems[i] = one.read, one.problems
	}
	return results, problems
}

// of returns the policy without bindings as that of a document, which is the same as its own.
func (p *Policy) of(d *manifest.Document) *Policy {
	one := *p
	one.Document, one.Bindings = d, nil
	return &one
}

// Reader returns a reader of a document.
func (l *Language) Reader(d *manifest.Document) *Reader { return &Reader{policydoc.New(d), l} }

// Policy reads the fields that all policies have, in the order in which the server checks them,
// with a paramKind in the form that readParamKind reads.
func (r *Reader) Policy(readParamKind func(policy.Node) gvk.Kind) *Policy {
	spec := r.Doc.Root.At("spec")
	p := &Policy{Name: r.name(), Document: r.Doc.Document, Words: sync.OnceValue(func() source.Words { return source.WordsOf(r.Doc.Document.Object()) }), At: r.Doc.Document.At(r.Doc.Root.At("metadata").At("name").Path)}
	p.Ignore = r.failurePolicy(spec.At("failurePolicy"))
	if kind := spec.At("paramKind"); kind.Given() {
		p.ParamKind = readParamKind(kind)
	}
	p.Constraints = r.constraints(spec.At("matchConstraints"))
	p.Scope = r.language.CEL.Scope(spec.At("paramKind").Given())
	p.Conditions = r.Conditions(spec.At("matchConditions"), p.Scope)
	r.variables(spec.At("variables"), p.Scope)
	return p
}

// Selects returns the kinds and resources that the policy and its bindings name.
func (p *Policy) Selects() []policy.Selected {
	var all []policy.Selected
	id := p.ID()
	add := func(resources *match.Resources, d *manifest.Document, block string, s policy.Selected) {
		all = append(all, policydoc.Selected(d, change.Keys("spec", block, "resourceRules"), resources, s)...)
	}
	add(p.Constraints, p.Document, "matchConstraints", policy.Selected{ID: id})
	for _, b := range p.Bindings {
		if b.resources != nil {
			add(b.resources, b.Document, "matchResources", policy.Selected{ID: p.through(b), Purpose: policy.ToBind})
		}
	}
	if k := p.ParamKind; k != (gvk.Kind{}) {
		at := p.Document.At(change.Keys("spec", "paramKind", "kind"))
		all = append(all, policy.Selected{ID: id, At: at, Group: k.Group, Version: k.Version, Kind: k.Kind, Purpose: policy.ToLookUp})
	}
	return all
}

// Parts adds the conditions and variables of the policy to its parts.
func (p *Policy) Parts(parts *policydoc.Parts) {
	for i, c := range p.Conditions {
		parts.Condition(change.Keys("spec", "matchConditions").Index(i), c.Name, c.Program)
	}
	parts.Variables(p.Scope)
}

// name reads metadata.name, and checks the rest of the metadata on the way.
func (r *Reader) name() string {
	r.ownerReferences(r.Doc.Root.At("metadata").At("ownerReferences"), r.language.Minor)
	return r.Doc.Name()
}

// ownerReferences checks the ownerReferences of an object. The server's field paths have no
// index before 1.37.
func (r *Reader) ownerReferences(n policy.Node, minor int) {
	for _, item := range n.Items() {
		version := item.At("apiVersion")
		malformed := gvk.Parse(version.Text(), "").Version == "" || strings.Count(version.Text(), "/") > 1
		switch {
		case minor < 37 && malformed:
			r.withoutIndex(n, item, "apiVersion", "version must not be empty")
		case version.Text() == "":
			r.Doc.Required(version, "must not be empty")
		case malformed:
			r.Doc.Invalid(version, "Invalid value: %q: must be <group>/<version> or <version>", version.Text())
		}
		for _, name := range []string{"kind", "name", "uid"} {
			switch field := item.At(name); {
			case field.Text() != "":
			case minor < 37:
				r.withoutIndex(n, item, name, "must not be empty")
			default:
				r.Doc.Required(field, "must not be empty")
			}
		}
	}
}

// withoutIndex reports an invalid field of an item of a list.
func (r *Reader) withoutIndex(list, item policy.Node, name, problem string) {
	r.Doc.Invalid(item.At(name), "Invalid value: %q: %s", item.At(name).Text(), problem)
	r.Doc.Problems[len(r.Doc.Problems)-1].Field = list.Path.Key(name).String()
}

func (r *Reader) failurePolicy(n policy.Node) (ignore bool) {
	switch n.Text() {
	case "", "Fail":
	case "Ignore":
		return true
	default:
		r.Doc.Unsupported(n, "Fail", "Ignore")
	}
	return false
}

// ParamKind reads a paramKind of apiVersion and kind.
func (r *Reader) ParamKind(n policy.Node) gvk.Kind {
	version, kind := n.At("apiVersion"), n.At("kind")
	parsed := gvk.Parse(version.Text(), kind.Text())
	switch {
	case version.Text() == "":
		r.Doc.Required(version, "")
	case strings.Contains(parsed.Version, "/"):
		r.Doc.Invalid(version, "Invalid value: %q: unexpected GroupVersion string: %s", version.Text(), version.Text())
	default:
		if parsed.Group != "" {
			r.check(version, parsed.Group, "", dns.Subdomain(parsed.Group))
		}
		if parsed.Version == "" {
			r.Doc.Invalid(version, "Invalid value: %q: version must be specified", version.Text())
		} else {
			r.check(version, parsed.Version, "", dns.Label1035(parsed.Version))
		}
	}
	if kind.Text() == "" {
		r.Doc.Required(kind, "")
	} else {
		r.check(kind, kind.Text(), "may have mixed case, but should otherwise match: ", dns.Label1035(strings.ToLower(kind.Text())))
	}
	return parsed
}

// check reports the problems of a validation with a value, as one error.
func (r *Reader) check(n policy.Node, value, prefix string, problems []string) {
	if len(problems) > 0 {
		r.Doc.Invalid(n, "Invalid value: %q: %s%s", value, prefix, strings.Join(problems, ","))
	}
}

func (r *Reader) constraints(n policy.Node) *match.Resources {
	if !n.Given() {
		r.Doc.Required(n, "")
		return nil
	}
	resources, problems := r.language.Rules.Parse(n.Value)
	r.Doc.Matched(n, problems)
	if rules := n.At("resourceRules"); len(rules.Items()) == 0 {
		r.Doc.Required(rules, "")
	}
	return resources
}

// Conditions reads matchConditions.
func (r *Reader) Conditions(n policy.Node, scope *celenv.Scope) []Condition {
	items := n.Items()
	if len(items) > maxConditions {
		r.Doc.Invalid(n, "Too many: %d: must have at most %d items", len(items), maxConditions)
	}
	seen := map[string]bool{}
	var conditions []Condition
	for _, item := range items {
		name, expression := item.At("name"), item.At("expression")
		c := Condition{Name: name.Text(), At: r.Doc.Document.At(expression.Path), asksOperation: policy.AsksOperation(expression.Text())}
		if strings.TrimSpace(expression.Text()) == "" {
			r.Doc.Required(expression, "")
		} else {
			c.Program = r.Doc.Expression(expression, scope.Condition)
		}
		if c.Name == "" {
			r.Doc.Required(name, "")
		} else {
			for _, problem := range content.IsLabelKey(c.Name) {
				r.Doc.Invalid(name, "Invalid value: %q: %s", c.Name, problem)
			}
			if seen[c.Name] {
				r.Doc.Invalid(name, "Duplicate value: %q", c.Name)
			}
			seen[c.Name] = true
		}
		conditions = append(conditions, c)
	}
	return conditions
}

func (r *Reader) variables(n policy.Node, scope *celenv.Scope) {
	for _, item := range n.Items() {
		name, expression := item.At("name"), item.At("expression")
		if strings.TrimSpace(name.Text()) == "" {
			r.Doc.Required(name, "name is not specified")
		} else if !isIdentifier(name.Text()) {
			r.Doc.Invalid(name, "Invalid value: %q: must be a valid CEL identifier", name.Text())
		}
		if strings.TrimSpace(expression.Text()) == "" {
			r.Doc.Required(expression, "expression is not specified")
			continue
		}
		r.Doc.Compiled(expression, scope.Variable(name.Text(), expression.Text()))
	}
}

var identifier = lazyregexp.New(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// reserved are the words that CEL does not allow as identifiers.
var reserved = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")

func isIdentifier(name string) bool {
	return !slices.Contains(reserved, name) && identifier().MatchString(name)
}
