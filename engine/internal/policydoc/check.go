package policydoc

import (
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

// maxCheckedKinds bounds the kinds that a policy is checked for: one about everything
// uses what everything has.
const maxCheckedKinds = 40

// Checked is a policy in CEL whose expressions are checked without evaluating them.
type Checked struct {
	Document *manifest.Document
	Env      *celenv.Env
	Scope    *celenv.Scope
	// HasParams says that expressions may name params.
	HasParams bool
	// Expressions are in the order in which they are compiled; Paths say where they are.
	Expressions []celenv.Expression
	Paths       []change.Path
}

// Add adds the expression at n, if there is one.
func (c *Checked) Add(n policy.Node, x celenv.Expression) {
	if x.Text = n.Text(); x.Text != "" {
		c.Expressions, c.Paths = append(c.Expressions, x), append(c.Paths, n.Path)
	}
}

// AddPolicy adds the expressions that the spec of a policy has in all languages.
func (c *Checked) AddPolicy(spec policy.Node) {
	for _, item := range spec.At("matchConditions").Items() {
		c.Add(item.At("expression"), celenv.Expression{})
	}
	for _, item := range spec.At("variables").Items() {
		c.Add(item.At("expression"), celenv.Expression{Variable: item.At("name").Text()})
	}
	for _, item := range spec.At("mutations").Items() {
		c.Add(item.At("applyConfiguration").At("expression"), celenv.Expression{Patch: true, Apply: true})
		c.Add(item.At("jsonPatch").At("expression"), celenv.Expression{Patch: true})
	}
}

// KindsOf are the kinds that a match block is about and that have a schema, but for those
// that are hidden from its policies.
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
			if constraints.Covers(request) {
				kinds = append(kinds, k)
				break
			}
		}
	}
	return kinds
}

// Check reports what is wrong with the expressions for all kinds, though a server accepts
// them. What fits one of the kinds may be meant for that one.
func (c *Checked) Check(kinds []*schema.Kind) []source.Diagnostic {
	if len(kinds) == 0 || len(kinds) > maxCheckedKinds {
		return nil
	}
	return append(c.checkTypes(kinds), c.checkAbsences(kinds)...)
}

func (c *Checked) checkTypes(kinds []*schema.Kind) []source.Diagnostic {
	type spot struct {
		expression, offset int
		code               string
	}
	count := map[spot]int{}
	var first []celenv.Problem
	for i, kind := range kinds {
		problems, err := c.Env.Check(kind, c.HasParams, c.Expressions)
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
			found = append(found, c.finding(c.Paths[x.Expression], x.Offset, x.Code, x.Text, advice[x.Code]))
		}
	}
	return found
}

func (c *Checked) finding(path change.Path, offset int, code, text, advice string) source.Diagnostic {
	w := source.Warningf(c.Document.In(path, offset), code, "%s", text).With(advice)
	w.Subject, w.Field, w.Excerpt = c.Document.Kind().Kind+" "+c.Document.Name(), path.String(), c.Document.Excerpt(c.Document.In(path, offset))
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
