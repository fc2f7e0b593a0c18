package mapolicy

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/preadmit/preadmit/engine/celenv"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/match"
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
}

type condition struct {
	name    string
	program *celenv.Program
	at      source.Position
}

type mutation struct {
	patchType string
	program   *celenv.Program
	at        source.Position
	// once says that the mutation of a draft does not run again with its policy.
	once  bool
	draft *draftMutation // nil if the mutation is in the form of servers
}

const maxConditions = 64

// The values of patchType.
const (
	applyConfiguration = "ApplyConfiguration"
	jsonPatch          = "JSONPatch"
)

// definition reads a policy, in the order in which the server checks it.
func (l *Language) definition(r *reader) *definition {
	spec := r.root.at("spec")
	d := &definition{name: r.name(), document: r.document, at: r.document.At(r.root.at("metadata").at("name").path)}
	d.ignore = r.failurePolicy(spec.at("failurePolicy"))
	if kind := spec.at("paramKind"); kind.given() {
		d.paramKind = r.paramKind(kind)
	}
	d.constraints = r.constraints(spec.at("matchConstraints"))
	d.scope = l.cel.Scope(spec.at("paramKind").given())
	d.conditions = r.conditions(spec.at("matchConditions"), d.scope)
	r.variables(spec.at("variables"), d.scope)
	d.mutations = r.mutations(spec.at("mutations"), d.scope)
	d.reinvocable = r.reinvocationPolicy(spec.at("reinvocationPolicy"))
	return d
}

// name reads metadata.name, and checks the rest of the metadata on the way.
func (r *reader) name() string {
	r.ownerReferences(r.root.at("metadata").at("ownerReferences"))
	n := r.root.at("metadata").at("name")
	if n.text() == "" {
		r.required(n, "name or generateName is required")
		return ""
	}
	for _, problem := range validation.IsDNS1123Subdomain(n.text()) {
		r.invalid(n, "Invalid value: %q: %s", n.text(), problem)
	}
	return n.text()
}

// ownerReferences checks what every object's metadata must have. The server's field
// paths leave out the index.
func (r *reader) ownerReferences(n node) {
	for _, item := range n.items() {
		for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
			if field := item.at(name); field.text() == "" {
				r.invalid(field, "Invalid value: \"\": must not be empty")
				r.problems[len(r.problems)-1].Field = n.path.Key(name).String()
			}
		}
	}
}

func (r *reader) failurePolicy(n node) (ignore bool) {
	switch n.text() {
	case "", "Fail":
	case "Ignore":
		return true
	default:
		r.unsupported(n, "Fail", "Ignore")
	}
	return false
}

func (r *reader) reinvocationPolicy(n node) (ifNeeded bool) {
	switch n.text() {
	case "":
		r.required(n, "")
	case "Never":
	case "IfNeeded":
		return true
	default:
		r.unsupported(n, "IfNeeded", "Never")
	}
	return false
}

func (r *reader) paramKind(n node) gvk.Kind {
	version, kind := n.at("apiVersion"), n.at("kind")
	parsed := gvk.Parse(version.text(), kind.text())
	switch {
	case version.text() == "":
		r.required(version, "")
	case strings.Contains(parsed.Version, "/"):
		r.invalid(version, "Invalid value: %q: unexpected GroupVersion string: %s", version.text(), version.text())
	default:
		if parsed.Group != "" {
			r.check(version, parsed.Group, "", validation.IsDNS1123Subdomain(parsed.Group))
		}
		if parsed.Version == "" {
			r.invalid(version, "Invalid value: %q: version must be specified", version.text())
		} else {
			r.check(version, parsed.Version, "", validation.IsDNS1035Label(parsed.Version))
		}
	}
	if kind.text() == "" {
		r.required(kind, "")
	} else {
		r.check(kind, kind.text(), "may have mixed case, but should otherwise match: ", validation.IsDNS1035Label(strings.ToLower(kind.text())))
	}
	return parsed
}

// check reports the problems that a validation found with a value, as one error.
func (r *reader) check(n node, value, prefix string, problems []string) {
	if len(problems) > 0 {
		r.invalid(n, "Invalid value: %q: %s%s", value, prefix, strings.Join(problems, ","))
	}
}

func (r *reader) constraints(n node) *match.Resources {
	if !n.given() {
		r.required(n, "")
		return nil
	}
	resources, problems := match.Parse(n.value)
	r.matched(n, problems)
	if rules := n.at("resourceRules"); len(rules.items()) == 0 {
		r.required(rules, "")
	}
	return resources
}

func (r *reader) conditions(n node, scope *celenv.Scope) []condition {
	items := n.items()
	if len(items) > maxConditions {
		r.invalid(n, "Too many: %d: must have at most %d items", len(items), maxConditions)
	}
	seen := map[string]bool{}
	var conditions []condition
	for _, item := range items {
		name, expression := item.at("name"), item.at("expression")
		c := condition{name: name.text(), at: r.document.At(expression.path)}
		if strings.TrimSpace(expression.text()) == "" {
			r.required(expression, "")
		} else {
			c.program = r.expression(expression, scope.Condition)
		}
		if c.name == "" {
			r.required(name, "")
		} else {
			for _, problem := range validation.IsQualifiedName(c.name) {
				r.invalid(name, "Invalid value: %q: %s", c.name, problem)
			}
			if seen[c.name] {
				r.invalid(name, "Duplicate value: %q", c.name)
			}
			seen[c.name] = true
		}
		conditions = append(conditions, c)
	}
	return conditions
}

func (r *reader) variables(n node, scope *celenv.Scope) {
	for _, item := range n.items() {
		name, expression := item.at("name"), item.at("expression")
		if strings.TrimSpace(name.text()) == "" {
			r.required(name, "name is not specified")
		} else if !isIdentifier(name.text()) {
			r.invalid(name, "Invalid value: %q: must be a valid CEL identifier", name.text())
		}
		if strings.TrimSpace(expression.text()) == "" {
			r.required(expression, "expression is not specified")
			continue
		}
		r.compiled(expression, scope.Variable(name.text(), expression.text()))
	}
}

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// reserved are the words that CEL does not allow as identifiers.
var reserved = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")

func isIdentifier(name string) bool {
	for _, word := range reserved {
		if name == word {
			return false
		}
	}
	return identifier.MatchString(name)
}

func (r *reader) mutations(n node, scope *celenv.Scope) []mutation {
	if len(n.items()) == 0 {
		r.required(n, "mutations must contain at least one item")
	}
	var mutations []mutation
	for _, item := range n.items() {
		mutations = append(mutations, r.serverMutation(item, scope))
	}
	return mutations
}

// serverMutation reads a mutation in the form that servers know.
func (r *reader) serverMutation(item node, scope *celenv.Scope) mutation {
	patchType := item.at("patchType")
	m := mutation{patchType: patchType.text(), at: r.document.At(item.path)}
	switch m.patchType {
	case "":
		r.required(patchType, "")
	case applyConfiguration:
		m.program = r.mutation(item, "applyConfiguration", "jsonPatch", m.patchType, scope.ApplyConfiguration)
	case jsonPatch:
		m.program = r.mutation(item, "jsonPatch", "applyConfiguration", m.patchType, scope.JSONPatch)
	default:
		r.unsupported(patchType, applyConfiguration, jsonPatch)
	}
	return m
}

// mutation reads the member of a mutation that goes with its patchType; the other
// member must not be there.
func (r *reader) mutation(item node, member, other, patchType string, compile func(string) (*celenv.Program, error)) *celenv.Program {
	var program *celenv.Program
	switch expression := item.at(member).at("expression"); {
	case !item.at(member).given():
		r.required(item.at(member), "must be specified when patchType is "+patchType)
	case strings.TrimSpace(expression.text()) == "":
		r.required(expression, "")
	default:
		program = r.expression(expression, compile)
	}
	if item.at(other).given() {
		r.invalid(item.at(other), "Invalid value: \"{%s}\": must not be specified when patchType is %s", other, patchType)
	}
	return program
}
