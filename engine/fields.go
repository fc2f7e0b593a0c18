package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/mutationtree"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Field is a field of the API.
type Field struct {
	Name string
	// Type is the type of the field: "string", "list of objects", "map of strings" ….
	Type string
	// Doc says what the field is; "" if that is not known.
	Doc string
}

// Schemas has the kinds that are known, with their fields, for editors. A nil Schemas knows none.
type Schemas struct{ set *Set }

// NewSchemas returns the built-in kinds, and those that the options and CustomResourceDefinitions in
// the context define. The context counts as for Compile.
func NewSchemas(context []*manifest.Stream, options Options) *Schemas {
	return (*Results)(nil).Schemas(context, options)
}

// Schemas is NewSchemas, and takes over what the earlier runs have made of the same definitions.
func (k *Results) Schemas(context []*manifest.Stream, options Options) *Schemas {
	set, _ := newSet(nil, context, options, k.earlier())
	if set == nil {
		return nil
	}
	return &Schemas{set}
}

// Fields returns the fields that objects of a kind may have at a path, sorted by name. The path has
// names of fields and keys of maps; the items of a list are at the path of the list. The result is
// empty if the kind is unknown, or if the value at the path has no named fields.
func (s *Schemas) Fields(kind gvk.Kind, path ...string) []Field {
	fields := fieldsIn(itemOf(s.at(kind, path)))
	for i := range fields {
		fields[i].Doc = s.DocAt(kind, append(slices.Clone(path), fields[i].Name)...)
	}
	return fields
}

func fieldsIn(t *schema.Type) (fields []Field) {
	if t == nil {
		return nil
	}
	for _, f := range t.Fields {
		fields = append(fields, Field{f.Name, describe(f.Type), t.Description(f.Name)})
	}
	return fields
}

// TypeAt returns the type of the value at a path in objects of a kind, in the words of Field; "" if it is
// unknown.
func (s *Schemas) TypeAt(kind gvk.Kind, path ...string) string { return describe(s.at(kind, path)) }

// DocAt says what the field at a path in objects of a kind is; "" if that is not known.
func (s *Schemas) DocAt(kind gvk.Kind, path ...string) string {
	last := len(path) - 1
	if last < 0 {
		return ""
	}
	if doc := itemOf(s.at(kind, path[:last])).Description(path[last]); doc != "" || !isPolicyKind(kind) {
		return doc
	}
	if i := slices.Index(path, "preconditions"); i == 2 && kind.Group == "kyverno.io" {
		path = append(slices.Clone(typedConditions), path[i+1:]...)
	}
	return policydoc.Description(kind.Kind, path...)
}

// Values returns the values that a field may have, or the items of its list: those of an enumeration, and
// those of a boolean.
func (s *Schemas) Values(kind gvk.Kind, path ...string) []string {
	if t := itemOf(s.at(kind, path)); t != nil && t.Scalar == schema.Boolean {
		return []string{"false", "true"}
	}
	last := len(path) - 1
	if last < 0 {
		return nil
	}
	return itemOf(s.at(kind, path[:last])).Enum(path[last])
}

// at returns the type at a path; nil if it is unknown.
func (s *Schemas) at(kind gvk.Kind, path []string) *schema.Type {
	if s == nil {
		return nil
	}
	t := s.typeOf(kind)
	for i, name := range path {
		t = itemOf(t).FieldType(name)
		isConditions := name == "preconditions" || name == "conditions" && i > 0 && path[i-1] == "deny"
		if isConditions && kind.Group == "kyverno.io" && len(t.FieldNames()) == 0 {
			t = s.at(kind, typedConditions)
		}
	}
	return t
}

// typedConditions is where Kyverno's rules have conditions with a type. The definition does not type the others, which
// have the same fields.
var typedConditions = []string{"spec", "rules", "mutate", "foreach", "preconditions"}

// typeOf returns the type of a kind; nil if it is unknown. All versions of a kind of policies have the same
// fields.
func (s *Schemas) typeOf(kind gvk.Kind) *schema.Type {
	if known := s.set.schemas.Lookup(kind); known != nil {
		return known.Type()
	}
	if isPolicyKind(kind) {
		return policydoc.TypeOf(kind.Kind)
	}
	return nil
}

// isPolicyKind reports whether a kind is one of Kyverno's or Gatekeeper's policies, in any version.
func isPolicyKind(kind gvk.Kind) bool {
	return slices.ContainsFunc(policydoc.Kinds(), func(k gvk.Kind) bool { return k.Group == kind.Group && k.Kind == kind.Kind })
}

// Kinds returns all kinds that have a resource, sorted.
func (s *Schemas) Kinds() []gvk.Kind { return s.Selected([]string{"*"}, []string{"*"}, []string{"*"}) }

// Policies returns the kinds of policies of Kyverno and Gatekeeper, in their newest versions.
func (s *Schemas) Policies() []gvk.Kind {
	if s == nil {
		return nil
	}
	return policydoc.Kinds()
}

// Selected returns the kinds that a rule of a policy selects. Each list may have wildcards.
func (s *Schemas) Selected(groups, versions, resources []string) []gvk.Kind {
	if s == nil {
		return nil
	}
	var kinds []gvk.Kind
	for _, k := range s.set.schemas.Kinds() {
		if k.Resource != "" && matchesAny(groups, k.Group) && matchesAny(versions, k.Version) && matchesAny(resources, k.Resource) {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

// Resources returns the names of resources in groups and versions, sorted. Each list may have wildcards.
func (s *Schemas) Resources(groups, versions []string) []string {
	if s == nil {
		return nil
	}
	var names []string
	for _, k := range s.set.schemas.Kinds() {
		if k.Resource != "" && matchesAny(groups, k.Group) && matchesAny(versions, k.Version) {
			names = append(names, k.Resource)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// matchesAny reports whether a name matches a pattern. What follows a slash, a subresource, does not count.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		resource, _, _ := strings.Cut(pattern, "/")
		return wildcard.Match(resource, name)
	})
}

// Function is a function that expressions may call.
type Function = celenv.Function

// Functions returns the functions that expressions in CEL may call, sorted by name: in policies of a
// group, either "policies.kyverno.io" or another one.
func (s *Schemas) Functions(group string) []Function {
	if s == nil {
		return nil
	}
	found, err := s.cel(group).Functions()
	if err != nil {
		return nil // a policy with an expression has the error
	}
	return found
}

// cel returns the environment of expressions in policies of a group.
func (s *Schemas) cel(group string) *celenv.Env {
	if group == "policies.kyverno.io" {
		return celenv.Kyverno(false)
	}
	return celenv.New(s.set.settings.minor)
}

// Place is a place in an expression in CEL: what can be named there.
type Place struct {
	// Group is the group of the policy, Kind a kind that it matches, and Param the kind of its params.
	Group       string
	Kind, Param gvk.Kind
	// Variables are the variables of the policy in their order.
	Variables []Local
	// Loops are the names that the macros around the place declare, the outermost first, each with the list, map or
	// optional value whose items it has.
	Loops []Local
}

// Local is a name with an expression in CEL.
type Local = celenv.Local

// Value is what is known about the value of an expression.
type Value struct {
	// Type is its type in the words of Field, or in those of CEL.
	Type string
	// Fields are the fields that it has, sorted by name.
	Fields []Field
	// Functions are those that can be called of it, with the forms for its type.
	Functions []Function
}

// Value returns what is known about the value of an expression at a place. If that depends on the object, ok is false, and
// there are only the functions of any value of an object.
func (s *Schemas) Value(at Place, expression string) (v Value, ok bool) {
	if s == nil {
		return v, false
	}
	place := celenv.Place{Kind: s.set.schemas.Lookup(at.Kind), Param: s.typeOf(at.Param), Loops: at.Loops}
	for _, v := range at.Variables {
		place.Variables = append(place.Variables, Local{Name: v.Name, Expression: s.branchFor(at.Kind, v.Expression)})
	}
	known, ok, err := s.cel(at.Group).Value(place, expression)
	if err != nil || !ok {
		return Value{Functions: known.Functions}, false
	}
	v = Value{Type: cmp.Or(describe(known.Type), known.Name), Functions: known.Functions}
	if known.IsOptional {
		v.Type = "optional " + v.Type
	}
	if known.Type != nil && !known.Type.IsList {
		v.Fields = fieldsIn(known.Type)
	}
	return v, true
}

// branchFor returns what an expression is for objects of a kind: a policy for several kinds often chooses by the kind,
// or by a field that not all have, as in object.kind == "Pod" ? object.spec : object.spec.template.spec.
func (s *Schemas) branchFor(kind gvk.Kind, text string) string {
	tree, err := expr.Parse(text)
	if err != nil {
		return text
	}
	for {
		condition, yes, no, ok := tree.AsConditional()
		if !ok {
			return tree.String()
		}
		holds, ok := s.holdsFor(kind, condition)
		if !ok {
			return text
		}
		if tree = no; holds {
			tree = yes
		}
	}
}

// holdsFor decides a condition that depends only on the kind.
func (s *Schemas) holdsFor(kind gvk.Kind, condition expr.Expr) (holds, ok bool) {
	if function, _, args, isCall := condition.AsCall(); isCall && function == "has" && len(args) == 1 {
		variable, steps, isChain := args[0].AsChain()
		var path []string
		for _, step := range steps {
			path = append(path, step.Key)
		}
		return s.TypeAt(kind, path...) != "", isChain && variable == "object" && !slices.Contains(path, "")
	}
	a, operator, b, ok := condition.AsComparison()
	if !ok || operator != "==" {
		return false, false
	}
	for _, sides := range [][2]expr.Expr{{a, b}, {b, a}} {
		variable, steps, isChain := sides[0].AsChain()
		name, isConstant := sides[1].Constant()
		isKind := variable == "object" && len(steps) == 1 || variable == "request" && len(steps) == 2 && steps[0].Key == "kind"
		if isChain && isConstant && isKind && steps[len(steps)-1].Key == "kind" {
			return name == any(kind.Kind), true
		}
	}
	return false, false
}

// JMESPath returns the functions that expressions in JMESPath may call, sorted by name: in the policies of a group,
// either "json.preadmit.dev" or Kyverno's.
func (s *Schemas) JMESPath(group string) []Function {
	functions := jmespath.Kyverno()
	if group == mutationtree.PolicyKind.Group {
		functions = mutationtree.Functions()
	}
	var found []Function
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		found = append(found, Function{Name: name, Signatures: []string{name + functions[name].String()}, Doc: jmespath.Doc(name)})
	}
	return found
}

// Part is a part of the text of an expression: Class is one of keyword, number, string, operator,
// variable, property, function and type; Start and End are offsets in bytes.
type Part = celenv.Part

// Parts returns the words, literals and operators of an expression in CEL, which may be wrong or incomplete.
func Parts(expression string) []Part { return celenv.Parts(expression) }

// QueryParts is Parts for an expression in JMESPath.
func QueryParts(expression string) []Part { return jmespath.Parts(expression) }

// itemOf returns the type of the items of a list, at any depth. It returns other types unchanged.
func itemOf(t *schema.Type) *schema.Type {
	for t != nil && t.IsList {
		t = t.Elem
	}
	return t
}

// scalarNames are the names of scalar types, singular and plural.
var scalarNames = map[schema.Scalar][2]string{
	schema.String:      {"string", "strings"},
	schema.Integer:     {"integer", "integers"},
	schema.Number:      {"number", "numbers"},
	schema.Boolean:     {"boolean", "booleans"},
	schema.IntOrString: {"integer or string", "integers or strings"},
	schema.Quantity:    {"quantity", "quantities"},
	schema.Untyped:     {"any value", "any values"},
}

// describe returns the name of a type.
func describe(t *schema.Type) string {
	switch {
	case t == nil:
		return ""
	case t.Scalar != schema.NotScalar:
		return scalarNames[t.Scalar][0]
	case t.IsList:
		return "list of " + describeMany(t.Elem)
	case t.Elem != nil && len(t.Fields) == 0:
		return "map of " + describeMany(t.Elem)
	}
	return "object"
}

func describeMany(t *schema.Type) string {
	switch {
	case t == nil:
		return "values"
	case t.Scalar != schema.NotScalar:
		return scalarNames[t.Scalar][1]
	case t.IsList:
		return "lists"
	}
	return "objects"
}
