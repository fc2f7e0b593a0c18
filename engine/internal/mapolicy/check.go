package mapolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// maxCheckedKinds bounds the kinds that a policy is checked for: one about everything
// uses what everything has.
const maxCheckedKinds = 40

// Check implements policy.Program.
func (p *program) Check(schemas *schema.Registry) []source.Diagnostic {
	var found []source.Diagnostic
	for _, d := range p.definitions {
		if slices.ContainsFunc(d.mutations, func(m mutation) bool { return m.draft != nil }) {
			continue // a draft says in other words what it does
		}
		kinds := d.kinds(schemas)
		if len(kinds) == 0 || len(kinds) > maxCheckedKinds {
			continue
		}
		expressions, paths := d.expressions()
		found = append(found, p.checkTypes(d, kinds, expressions, paths)...)
		found = append(found, d.checkAbsences(kinds, expressions, paths)...)
	}
	return found
}

// kinds are those that a policy is about and that have a schema.
func (d *definition) kinds(schemas *schema.Registry) []*schema.Kind {
	var kinds []*schema.Kind
	for _, k := range schemas.Kinds() {
		if k.Resource == "" || k.Unknown || Hides(k) {
			continue
		}
		for _, operation := range []policy.Operation{policy.Create, policy.Update} {
			request := match.Request{Kind: k, Operation: string(operation), Name: "any", Schemas: schemas}
			if k.Namespaced {
				request.Namespace = "default"
			}
			if d.constraints.Covers(request) {
				kinds = append(kinds, k)
				break
			}
		}
	}
	return kinds
}

// expressions lists the expressions of a policy in the order in which they are
// compiled, and where they stand.
func (d *definition) expressions() (expressions []celenv.Expression, paths []change.Path) {
	spec := newReader(d.document).root.At("spec")
	add := func(n policy.Node, x celenv.Expression) {
		if x.Text = n.Text(); x.Text != "" {
			expressions, paths = append(expressions, x), append(paths, n.Path)
		}
	}
	for _, item := range spec.At("matchConditions").Items() {
		add(item.At("expression"), celenv.Expression{})
	}
	for _, item := range spec.At("variables").Items() {
		add(item.At("expression"), celenv.Expression{Variable: item.At("name").Text()})
	}
	for _, item := range spec.At("mutations").Items() {
		add(item.At("applyConfiguration").At("expression"), celenv.Expression{Patch: true, Apply: true})
		add(item.At("jsonPatch").At("expression"), celenv.Expression{Patch: true})
	}
	return expressions, paths
}

// checkTypes reports what is wrong with expressions for all kinds that the policy is
// about. What fits one of them may be meant for that one.
func (p *program) checkTypes(d *definition, kinds []*schema.Kind, expressions []celenv.Expression, paths []change.Path) []source.Diagnostic {
	type spot struct {
		expression, offset int
		code               string
	}
	count := map[spot]int{}
	var first []celenv.Problem
	for i, kind := range kinds {
		problems, err := p.cel.Check(kind, d.paramKind != (gvk.Kind{}), expressions)
		if err != nil {
			return nil
		}
		if i == 0 {
			first = problems
		}
		for _, x := range problems {
			count[spot{x.Expression, x.Offset, x.Code}]++
		}
	}
	advice := map[string]string{
		celenv.FieldUndefined: "correct the name of the field; the kinds are " + namesOf(kinds),
		celenv.TypeMismatch:   "compare with, or write, a value of the field's type",
		celenv.AtomicList:     "use a JSONPatch, or the server denies the request",
	}
	var found []source.Diagnostic
	for _, x := range first {
		if count[spot{x.Expression, x.Offset, x.Code}] == len(kinds) {
			found = append(found, d.finding(paths[x.Expression], x.Offset, x.Code, x.Text, advice[x.Code]))
		}
	}
	return found
}

func (d *definition) finding(path change.Path, offset int, code, text, advice string) source.Diagnostic {
	w := source.Warningf(d.document.In(path, offset), code, "%s", text).With(advice)
	w.Subject, w.Field, w.Excerpt = d.document.Kind().Kind+" "+d.name, path.String(), d.document.Excerpt(d.document.In(path, offset))
	return w
}

func namesOf(kinds []*schema.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.APIVersion()+" "+k.Kind.Kind)
	}
	return strings.Join(names, ", ")
}

// checkAbsences reports conditions that a field is not set, where the server has set it
// before policies run.
func (d *definition) checkAbsences(kinds []*schema.Kind, expressions []celenv.Expression, paths []change.Path) []source.Diagnostic {
	var found []source.Diagnostic
	for _, absence := range d.scope.Absences(expressions) {
		var value any
		if slices.ContainsFunc(kinds, func(k *schema.Kind) bool {
			var set bool
			value, set = admission.Defaulted(k, pathTo(absence))
			return !set
		}) {
			continue
		}
		field := strings.ReplaceAll(strings.Join(absence.Path, "."), ".[]", "[*]")
		found = append(found, d.finding(paths[absence.Expression], absence.Offset, "condition-unreachable",
			fmt.Sprintf("!has(%s) is never true: where the manifest has no %s, policies see the API's default", "object."+field, field),
			fmt.Sprintf("compare with the default instead, which is %s here", manifest.JSON(value))))
	}
	return found
}

// pathTo is the path to a field that an expression asks for, in the first item of lists.
func pathTo(absence celenv.Absence) change.Path {
	var path change.Path
	for _, name := range absence.Path {
		if name == "[]" {
			path = path.Index(0)
		} else {
			path = path.Key(name)
		}
	}
	return path
}
