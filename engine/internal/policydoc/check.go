package policydoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// maxCheckedKinds is the maximum number of kinds that a policy is checked for. A policy that
// selects more kinds uses only fields that all kinds have.
const maxCheckedKinds = 40

// Checked is a CEL policy whose expressions are checked without being evaluated.
type Checked struct {
	Document *manifest.Document
	Env      *celenv.Env
	Scope    *celenv.Scope
	// HasParams says that expressions may use params.
	HasParams bool
	// Expressions are in the order of compilation; Paths are their paths.
	Expressions []celenv.Expression
	Paths       []change.Path
}

// Add adds the expression at n, unless it is missing or empty.
func (c *Checked) Add(n policy.Node, x celenv.Expression) {
	if x.Text = n.Text(); x.Text != "" {
		c.Expressions, c.Paths = append(c.Expressions, x), append(c.Paths, n.Path)
	}
}

// AddPolicy adds the expressions that policies of all CEL languages have in their spec.
func (c *Checked) AddPolicy(spec policy.Node) {
	for _, item := range spec.At("variables").Items() { // first, because Kyverno's conditions may use them
		c.Add(item.At("expression"), celenv.Expression{Variable: item.At("name").Text()})
	}
	for _, item := range spec.At("matchConditions").Items() {
		c.Add(item.At("expression"), celenv.Expression{})
	}
	for _, item := range spec.At("validations").Items() {
		c.Add(item.At("expression"), celenv.Expression{})
		c.Add(item.At("messageExpression"), celenv.Expression{})
	}
	for _, item := range spec.At("auditAnnotations").Items() {
		c.Add(item.At("valueExpression"), celenv.Expression{})
	}
	for _, item := range spec.At("mutations").Items() {
		c.Add(item.At("applyConfiguration").At("expression"), celenv.Expression{Patch: true, Apply: true})
		c.Add(item.At("jsonPatch").At("expression"), celenv.Expression{Patch: true})
	}
}

// KindsOf returns the kinds with a schema that a match block selects, as the policy sees them,
// except for hidden kinds.
func KindsOf(constraints *match.Resources, schemas *schema.Registry, isHidden func(*schema.Kind) bool) []*schema.Kind {
	var kinds []*schema.Kind
	for _, k := range schemas.Kinds() {
		if k.Resource == "" || k.Unknown || isHidden(k) {
			continue
		}
		for _, operation := range []policy.Operation{policy.Create, policy.Update} {
			request := match.Request{Kind: k, Operation: string(operation), Name: "any", Schemas: schemas}
			if k.Namespaced {
				request.Namespace = "default"
			}
			if under := constraints.Under(request); under != nil && !slices.Contains(kinds, under) {
				kinds = append(kinds, under)
			}
		}
	}
	return kinds
}

// Check reports problems of the expressions that a server accepts: for all kinds, and for some
// kinds unless the policy checks for the kind or the field first. It also reports mutations that
// change nothing.
func (c *Checked) Check(kinds []*schema.Kind) []source.Diagnostic {
	found := c.checkIdle()
	if len(kinds) == 0 || len(kinds) > maxCheckedKinds {
		return found
	}
	return slices.Concat(found, c.checkTypes(kinds), c.checkAbsences(kinds))
}

// spot is the place of a problem.
type spot struct {
	expression, offset int
	code               string
}

// troubled are the kinds with a problem at a spot. certain are the kinds for which the policy
// does not check first.
type troubled struct{ all, certain []*schema.Kind }

func (c *Checked) checkTypes(kinds []*schema.Kind) []source.Diagnostic {
	at := map[spot]*troubled{}
	var first []celenv.Problem
	for _, kind := range kinds {
		problems, err := c.Env.Check(kind, c.HasParams, c.Expressions)
		if err != nil {
			return nil
		}
		for _, x := range problems {
			if x.Field == "metadata.labels" && c.selectsLabels() {
				continue
			}
			s := spot{x.Expression, x.Offset, x.Code}
			if at[s] == nil {
				at[s] = &troubled{}
				first = append(first, x)
			}
			at[s].all = append(at[s].all, kind)
			if !x.Guarded {
				at[s].certain = append(at[s].certain, kind)
			}
		}
	}
	slices.SortStableFunc(first, func(a, b celenv.Problem) int {
		return cmp.Or(cmp.Compare(a.Expression, b.Expression), cmp.Compare(a.Offset, b.Offset))
	})
	var found []source.Diagnostic
	for _, x := range first {
		switch t := at[spot{x.Expression, x.Offset, x.Code}]; {
		case len(t.all) == len(kinds):
			found = append(found, c.finding(c.Paths[x.Expression], x.Offset, x.Code, x.Text, "").Advised(adviceAbout(x, kinds)))
		case len(t.certain) > 0:
			text := fmt.Sprintf("%s for %s, of %d kinds that the policy is about", x.Text, namesOf(t.certain), len(kinds))
			found = append(found, c.finding(c.Paths[x.Expression], x.Offset, x.Code, text, "ask for the field with has(), or for object.kind, or leave the kind out of the policy"))
		}
	}
	return found
}

// selectsLabels reports whether the policy is only about objects with certain labels.
func (c *Checked) selectsLabels() bool {
	selector := policy.Node{Value: c.Document.Object()}.At("spec", "matchConstraints", "objectSelector")
	return len(selector.At("matchLabels").Object())+len(selector.At("matchExpressions").Items()) > 0
}

// adviceAbout returns advice about a problem that all kinds have.
func adviceAbout(x celenv.Problem, kinds []*schema.Kind) source.Advice {
	switch {
	case x.Advice.Text != "":
		return x.Advice
	case x.Code == celenv.FieldUndefined:
		return source.Advice{Text: "correct the name of the field; the kinds are " + namesOf(kinds)}
	case x.Code == celenv.AtomicList:
		return source.Advice{Text: "use a JSONPatch, or the server denies the request"}
	}
	return source.Advice{Text: "compare with, or write, a value of the field's type"}
}

// Constant finds a condition or validation whose result is the same for every object. never says what it
// means that the result is always false; if it is empty, that is no mistake.
func Constant(d *manifest.Document, scope *celenv.Scope, program *celenv.Program, path change.Path, never string) []source.Diagnostic {
	switch holds, always := scope.Always(program); {
	case always && holds:
		note := finding(d, path, 0, "always-true", "the expression is true for every object", "compare a field of the object or the request, or remove the expression")
		note.Severity = source.Info
		return []source.Diagnostic{note}
	case always && never != "":
		return []source.Diagnostic{finding(d, path, 0, "condition-unreachable", "the expression is false for every object: "+never, "compare a field of the object or the request, or remove the policy")}
	}
	return nil
}

func (c *Checked) finding(path change.Path, offset int, code, text, advice string) source.Diagnostic {
	return finding(c.Document, path, offset, code, text, advice)
}

func finding(d *manifest.Document, path change.Path, offset int, code, text, advice string) source.Diagnostic {
	w := source.Warningf(d.In(path, offset), code, "%s", text).With(advice)
	w.Subject, w.Field, w.Excerpt = d.Kind().Kind+" "+d.Name(), path.String(), d.Excerpt(d.In(path, offset))
	return w
}

func namesOf(kinds []*schema.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.APIVersion()+" "+k.Kind.Kind)
	}
	return strings.Join(names, ", ")
}

// checkAbsences reports conditions that a field is not set, if the server always sets the field
// before policies run.
func (c *Checked) checkAbsences(kinds []*schema.Kind) []source.Diagnostic {
	var found []source.Diagnostic
	for _, absence := range c.Scope.Absences(c.Expressions) {
		var value any
		if slices.ContainsFunc(kinds, func(k *schema.Kind) bool {
			var set bool
			value, set = admission.Defaulted(k, pathTo(absence))
			return !set
		}) {
			continue
		}
		field := strings.ReplaceAll(strings.Join(absence.Path, "."), ".[]", "[*]")
		found = append(found, c.finding(c.Paths[absence.Expression], absence.Offset, "condition-unreachable",
			fmt.Sprintf("!has(%s) is never true: where the manifest has no %s, policies see the API's default", "object."+field, field),
			fmt.Sprintf("compare with the default instead, which is %s here", manifest.JSON(value))))
	}
	return found
}

// pathTo returns the path of the field that an expression tests. In lists it uses the first
// item.
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
