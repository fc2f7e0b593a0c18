package mapolicy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/dns"
	"github.com/preadmit/preadmit/engine/internal/lazyregexp"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// definition is a compiled MutatingAdmissionPolicy.
type definition struct {
	name     string
	document *manifest.Document
	at       source.Position

	ignore      bool // failurePolicy Ignore
	reinvocable bool // reinvocationPolicy IfNeeded
	// replay is the mutationValidationPolicy of a draft, in lower case.
	replay      string
	paramKind   gvk.Kind
	constraints *match.Resources
	scope       *celenv.Scope
	conditions  []condition
	mutations   []mutation
	bindings    []*binding
	// conditioned are the facts that it is known which condition is false for an object, by the
	// view of its forms.
	conditioned [celenv.Views]change.Fact
}

type condition struct {
	name    string
	program *celenv.Program
	at      source.Position
	// asksOperation: see policy.FalseCondition.
	asksOperation bool
}

type mutation struct {
	// rule is the name of the mutation in the policy.
	rule      string
	patchType string
	program   *celenv.Program
	at        source.Position
	// once says that the mutation of a draft does not run again with its policy.
	once  bool
	draft *draftMutation // nil for a mutation in the form of servers
	// leaves are the facts that the mutation does not change an object, by the view of its forms.
	leaves [celenv.Views]change.Fact
}

const maxConditions = 64

// The values of patchType.
const (
	applyConfiguration = "ApplyConfiguration"
	jsonPatch          = "JSONPatch"
)

// definition reads a policy, in the order in which the server checks it.
func (l *Language) definition(r *reader) *definition {
	spec := r.Root.At("spec")
	d := &definition{name: r.name(l.minor), document: r.Document, at: r.Document.At(r.Root.At("metadata").At("name").Path)}
	d.ignore = r.failurePolicy(spec.At("failurePolicy"))
	if kind := spec.At("paramKind"); kind.Given() {
		d.paramKind = r.paramKind(kind)
	}
	d.constraints = r.constraints(spec.At("matchConstraints"))
	d.scope = l.cel.Scope(spec.At("paramKind").Given())
	d.conditions = r.conditions(spec.At("matchConditions"), d.scope)
	r.variables(spec.At("variables"), d.scope)
	d.mutations = r.mutations(spec.At("mutations"), d.scope)
	d.reinvocable = r.reinvocationPolicy(spec.At("reinvocationPolicy"))
	return d
}

// name reads metadata.name, and checks the rest of the metadata on the way.
func (r *reader) name(minor int) string {
	r.ownerReferences(r.Root.At("metadata").At("ownerReferences"), minor)
	return r.Name()
}

// ownerReferences checks the ownerReferences of an object. The server's field paths have no
// index before 1.37.
func (r *reader) ownerReferences(n policy.Node, minor int) {
	for _, item := range n.Items() {
		version := item.At("apiVersion")
		malformed := gvk.Parse(version.Text(), "").Version == "" || strings.Count(version.Text(), "/") > 1
		switch {
		case minor < 37 && malformed:
			r.withoutIndex(n, item, "apiVersion", "version must not be empty")
		case version.Text() == "":
			r.Required(version, "must not be empty")
		case malformed:
			r.Invalid(version, "Invalid value: %q: must be <group>/<version> or <version>", version.Text())
		}
		for _, name := range []string{"kind", "name", "uid"} {
			switch field := item.At(name); {
			case field.Text() != "":
			case minor < 37:
				r.withoutIndex(n, item, name, "must not be empty")
			default:
				r.Required(field, "must not be empty")
			}
		}
	}
}

// withoutIndex reports an invalid field of an item of a list.
func (r *reader) withoutIndex(list, item policy.Node, name, problem string) {
	r.Invalid(item.At(name), "Invalid value: %q: %s", item.At(name).Text(), problem)
	r.Problems[len(r.Problems)-1].Field = list.Path.Key(name).String()
}

func (r *reader) failurePolicy(n policy.Node) (ignore bool) {
	switch n.Text() {
	case "", "Fail":
	case "Ignore":
		return true
	default:
		r.Unsupported(n, "Fail", "Ignore")
	}
	return false
}

func (r *reader) reinvocationPolicy(n policy.Node) (ifNeeded bool) {
	switch n.Text() {
	case "":
		r.Required(n, "")
	case "Never":
	case "IfNeeded":
		return true
	default:
		r.Unsupported(n, "IfNeeded", "Never")
	}
	return false
}

func (r *reader) paramKind(n policy.Node) gvk.Kind {
	version, kind := n.At("apiVersion"), n.At("kind")
	parsed := gvk.Parse(version.Text(), kind.Text())
	switch {
	case version.Text() == "":
		r.Required(version, "")
	case strings.Contains(parsed.Version, "/"):
		r.Invalid(version, "Invalid value: %q: unexpected GroupVersion string: %s", version.Text(), version.Text())
	default:
		if parsed.Group != "" {
			r.check(version, parsed.Group, "", dns.Subdomain(parsed.Group))
		}
		if parsed.Version == "" {
			r.Invalid(version, "Invalid value: %q: version must be specified", version.Text())
		} else {
			r.check(version, parsed.Version, "", dns.Label1035(parsed.Version))
		}
	}
	if kind.Text() == "" {
		r.Required(kind, "")
	} else {
		r.check(kind, kind.Text(), "may have mixed case, but should otherwise match: ", dns.Label1035(strings.ToLower(kind.Text())))
	}
	return parsed
}

// check reports the problems of a validation with a value, as one error.
func (r *reader) check(n policy.Node, value, prefix string, problems []string) {
	if len(problems) > 0 {
		r.Invalid(n, "Invalid value: %q: %s%s", value, prefix, strings.Join(problems, ","))
	}
}

func (r *reader) constraints(n policy.Node) *match.Resources {
	if !n.Given() {
		r.Required(n, "")
		return nil
	}
	resources, problems := match.Parse(n.Value)
	r.Matched(n, problems)
	if rules := n.At("resourceRules"); len(rules.Items()) == 0 {
		r.Required(rules, "")
	}
	return resources
}

func (r *reader) conditions(n policy.Node, scope *celenv.Scope) []condition {
	items := n.Items()
	if len(items) > maxConditions {
		r.Invalid(n, "Too many: %d: must have at most %d items", len(items), maxConditions)
	}
	seen := map[string]bool{}
	var conditions []condition
	for _, item := range items {
		name, expression := item.At("name"), item.At("expression")
		c := condition{name: name.Text(), at: r.Document.At(expression.Path), asksOperation: policy.AsksOperation(expression.Text())}
		if strings.TrimSpace(expression.Text()) == "" {
			r.Required(expression, "")
		} else {
			c.program = r.Expression(expression, scope.Condition)
		}
		if c.name == "" {
			r.Required(name, "")
		} else {
			for _, problem := range content.IsLabelKey(c.name) {
				r.Invalid(name, "Invalid value: %q: %s", c.name, problem)
			}
			if seen[c.name] {
				r.Invalid(name, "Duplicate value: %q", c.name)
			}
			seen[c.name] = true
		}
		conditions = append(conditions, c)
	}
	return conditions
}

func (r *reader) variables(n policy.Node, scope *celenv.Scope) {
	for _, item := range n.Items() {
		name, expression := item.At("name"), item.At("expression")
		if strings.TrimSpace(name.Text()) == "" {
			r.Required(name, "name is not specified")
		} else if !isIdentifier(name.Text()) {
			r.Invalid(name, "Invalid value: %q: must be a valid CEL identifier", name.Text())
		}
		if strings.TrimSpace(expression.Text()) == "" {
			r.Required(expression, "expression is not specified")
			continue
		}
		r.Compiled(expression, scope.Variable(name.Text(), expression.Text()))
	}
}

var identifier = lazyregexp.New(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// reserved are the words that CEL does not allow as identifiers.
var reserved = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")

func isIdentifier(name string) bool {
	for _, word := range reserved {
		if name == word {
			return false
		}
	}
	return identifier().MatchString(name)
}

func (r *reader) mutations(n policy.Node, scope *celenv.Scope) []mutation {
	if len(n.Items()) == 0 {
		r.Required(n, "mutations must contain at least one item")
	}
	var mutations []mutation
	for _, item := range n.Items() {
		mutations = append(mutations, r.serverMutation(item, scope))
	}
	nameRules(mutations)
	return mutations
}

// nameRules names mutations by their indexes.
func nameRules(mutations []mutation) {
	for n := range mutations {
		mutations[n].rule = fmt.Sprintf("mutations[%d]", n)
	}
}

// serverMutation reads a mutation in the form of servers.
func (r *reader) serverMutation(item policy.Node, scope *celenv.Scope) mutation {
	patchType := item.At("patchType")
	m := mutation{patchType: patchType.Text(), at: r.Document.At(item.Path)}
	switch m.patchType {
	case "":
		r.Required(patchType, "")
	case applyConfiguration:
		m.program = r.mutation(item, "applyConfiguration", "jsonPatch", m.patchType, scope.ApplyConfiguration)
	case jsonPatch:
		m.program = r.mutation(item, "jsonPatch", "applyConfiguration", m.patchType, scope.JSONPatch)
	default:
		r.Unsupported(patchType, applyConfiguration, jsonPatch)
	}
	return m
}

// mutation reads the member of a mutation for its patchType; the other member must be absent.
func (r *reader) mutation(item policy.Node, member, other, patchType string, compile func(string) (*celenv.Program, error)) *celenv.Program {
	var program *celenv.Program
	switch expression := item.At(member).At("expression"); {
	case !item.At(member).Given():
		r.Required(item.At(member), "must be specified when patchType is "+patchType)
	case strings.TrimSpace(expression.Text()) == "":
		r.Required(expression, "")
	default:
		program = r.Expression(expression, compile)
	}
	if item.At(other).Given() {
		r.Invalid(item.At(other), "Invalid value: \"{%s}\": must not be specified when patchType is %s", other, patchType)
	}
	return program
}
