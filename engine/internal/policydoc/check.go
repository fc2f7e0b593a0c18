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

// Requests are the requests that a policy is evaluated on.
type Requests struct {
	// Kinds are the kinds of their objects that have a schema, as the policy sees them.
	Kinds []*schema.Kind
	// Operations, Subresources and Valid: see celenv.Objects.
	Operations, Subresources []string
	Valid                    bool
}

// KindsOf returns the kinds with a schema that a match block selects, as the policy sees them,
// except for hidden kinds; see schema.Registry.Checked.
func KindsOf(constraints *match.Resources, schemas *schema.Registry, isHidden func(*schema.Kind) bool) []*schema.Kind {
	subresources := []string{""}
	if slices.Contains(constraints.Subresources(), admission.Status) { // its requests have the whole object
		subresources = append(subresources, admission.Status)
	}
	return schemas.Checked(kindsOf(constraints, schemas, isHidden, subresources, policy.Create, policy.Update))
}

// RequestsOf returns the requests that a match block selects, except those for hidden kinds.
func RequestsOf(constraints *match.Resources, schemas *schema.Registry, isHidden func(*schema.Kind) bool) Requests {
	r := Requests{Kinds: KindsOf(constraints, schemas, isHidden), Subresources: constraints.Subresources()}
	if isCommon := len(r.Kinds) == 1 && r.Kinds[0].Unknown; !isCommon && namedKinds(constraints, schemas) != nil {
		r.Operations = constraints.Operations()
	}
	return r
}

// Covering is what a match block covers that names all its kinds.
type Covering struct {
	Covered []*schema.Kind
	// Why says why it covers none; "" if it may cover other requests than for objects of these kinds.
	Why string
}

// CoveredKinds returns the kinds that a match block covers, except for hidden kinds; nil if it may cover
// other kinds.
func CoveredKinds(constraints *match.Resources, schemas *schema.Registry, isHidden func(*schema.Kind) bool) *Covering {
	named, operations := namedKinds(constraints, schemas), constraints.Operations()
	if named == nil || operations == nil {
		return nil
	}
	all := []policy.Operation{policy.Create, policy.Update, "DELETE"}
	c := &Covering{Covered: kindsOf(constraints, schemas, isHidden, []string{""}, all...)}
	if len(c.Covered) == 0 && !slices.Contains(operations, "CONNECT") && !slices.ContainsFunc(named, isHidden) {
		for _, request := range requestsFor(constraints, named[0], schemas, []string{""}, all) {
			if slices.Contains(operations, request.Operation) {
				c.Why = constraints.Uncovered(request)
			}
		}
	}
	return c
}

// namedKinds returns the kinds that the rules of a match block name; nil if any of them is not known.
func namedKinds(constraints *match.Resources, schemas *schema.Registry) (kinds []*schema.Kind) {
	all := schemas.Kinds()
	for _, n := range constraints.Names() {
		known := len(kinds)
		for _, k := range all {
			if k.Resource == n.Resource.Resource && k.Group == n.Group && (n.Version == "*" || n.Version == k.Version) && !k.Unknown {
				kinds = append(kinds, k)
			}
		}
		if len(kinds) == known {
			return nil
		}
	}
	return kinds
}

// kindsOf returns the kinds, as the policy sees them, that a match block selects in requests of the operations for
// any of the subresources.
func kindsOf(constraints *match.Resources, schemas *schema.Registry, isHidden func(*schema.Kind) bool, subresources []string, operations ...policy.Operation) []*schema.Kind {
	all := schemas.Kinds()
	may := map[*schema.Kind]bool{}
	for _, k := range all {
		if slices.ContainsFunc(subresources, func(name string) bool { return constraints.CoversSubresource(k, name) }) {
			may[k] = true
			for _, other := range schemas.Versions(k) {
				may[other] = true
			}
		}
	}
	var kinds []*schema.Kind
	for _, k := range all {
		if k.Resource == "" || k.Unknown || isHidden(k) || !may[k] {
			continue
		}
		for _, request := range requestsFor(constraints, k, schemas, subresources, operations) {
			if under := constraints.Under(request); under != nil && !slices.Contains(kinds, under) {
				kinds = append(kinds, under)
			}
		}
	}
	return kinds
}

// requestsFor returns requests for subresources of an object of a kind, with the names that the rules cover.
func requestsFor(constraints *match.Resources, k *schema.Kind, schemas *schema.Registry, subresources []string, operations []policy.Operation) (requests []match.Request) {
	for _, operation := range operations {
		for _, name := range append(constraints.ObjectNames(), "any") {
			request := match.Request{Kind: k, Operation: string(operation), Name: name, Schemas: schemas}
			if k.Namespaced {
				request.Namespace = "default"
			}
			for _, request.Subresource = range subresources {
				requests = append(requests, request)
			}
		}
	}
	return requests
}

// Check reports problems of the expressions that a server accepts: for all kinds, and for some
// kinds unless the policy checks for the kind or the field first. It also reports mutations that
// change nothing, and conditions that contradict each other.
func (c *Checked) Check(r Requests) []source.Diagnostic {
	spec := policy.NodeAt(c.Document, "spec")
	required, contradictions := c.requirements(spec)
	var found []source.Diagnostic
	if len(contradictions) == 0 {
		found = c.checkIdle(spec, required)
	}
	if len(r.Kinds) > 0 {
		found = slices.Concat(found, c.checkTypes(r), c.checkAbsences(r.Kinds))
	}
	if slices.ContainsFunc(found, func(d source.Diagnostic) bool { return d.Code == celenv.NeverTrue }) {
		return found // the policy applies to nothing for another reason
	}
	return append(found, contradictions...)
}

// spot is the place of a problem.
type spot struct {
	expression, offset int
	code               string
}

// troubled are the kinds with a problem at a spot. certain are the kinds for which the policy
// does not check first.
type troubled struct {
	all, certain []*schema.Kind
	// mend is that for most kinds; mends counts them.
	mend  source.Mend
	most  int
	mends map[string]int
}

// add counts a mend. One with changes goes before the first one without.
func (t *troubled) add(m source.Mend) {
	t.mends[m.Title]++
	count := t.mends[m.Title]
	switch {
	case m.Title != "" && count > t.most:
		t.mend, t.most = m, count
	case len(t.all) == 0:
		t.mend = m
	}
}

func (c *Checked) checkTypes(r Requests) []source.Diagnostic {
	kinds := r.Kinds
	at := map[spot]*troubled{}
	var first []celenv.Problem
	for _, kind := range kinds {
		problems, err := c.Env.Check(celenv.Objects{Kind: kind, Operations: r.Operations, Subresources: r.Subresources, Valid: r.Valid}, c.HasParams, c.Expressions)
		if err != nil {
			return nil
		}
		for _, x := range problems {
			if x.Field == "metadata.labels" && c.selectsLabels() {
				continue
			}
			s := spot{x.Expression, x.Offset, x.Code}
			if at[s] == nil {
				at[s] = &troubled{mends: map[string]int{}}
				first = append(first, x)
			}
			at[s].add(x.Mend)
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
		t := at[spot{x.Expression, x.Offset, x.Code}]
		x.Mend = t.mend
		found = append(found, c.problem(x, t, kinds, lacked(x, t, at, kinds))...)
	}
	return found
}

// lacked reports whether no kind has a field that is probably misspelt: the others lack one before it already.
func lacked(x celenv.Problem, t *troubled, at map[spot]*troubled, kinds []*schema.Kind) bool {
	return x.Code == celenv.FieldUndefined && len(x.Mend.Changes) > 0 && !slices.ContainsFunc(kinds, func(k *schema.Kind) bool {
		return !slices.Contains(t.all, k) && !slices.ContainsFunc(x.Before, func(offset int) bool {
			earlier := at[spot{x.Expression, offset, x.Code}]
			return earlier != nil && slices.Contains(earlier.all, k)
		})
	})
}

// problem reports a problem that all kinds have, that some have for which the policy does not check first, or that is
// a field which none has: lacked.
func (c *Checked) problem(x celenv.Problem, t *troubled, kinds []*schema.Kind, lacked bool) []source.Diagnostic {
	path := c.Paths[x.Expression]
	switch {
	case len(t.all) == len(kinds), lacked:
		if x.Code == celenv.AlwaysFalse && path[1] != change.Key("validations") {
			x.Code = celenv.NeverTrue // the policy applies to nothing
		}
		return []source.Diagnostic{c.Document.Mended(c.finding(path, x.Offset, x.Code, x.Text, ""), path, adviceAbout(x, kinds))}
	case len(t.certain) > 0:
		text := fmt.Sprintf("%s for %s, of %d kinds that the policy is about", x.Text, namesOf(t.certain), len(kinds))
		return []source.Diagnostic{c.finding(path, x.Offset, x.Code, text, "ask for the field with has(), or for object.kind, or leave the kind out of the policy")}
	}
	return nil
}

// selectsLabels reports whether the policy is only about objects with certain labels.
func (c *Checked) selectsLabels() bool {
	selector := policy.NodeAt(c.Document, "spec", "matchConstraints", "objectSelector")
	return len(selector.At("matchLabels").Object())+len(selector.At("matchExpressions").Items()) > 0
}

// adviceAbout returns the mend of a problem that all kinds have.
func adviceAbout(x celenv.Problem, kinds []*schema.Kind) source.Mend {
	switch {
	case x.Mend.Advice != "":
		return x.Mend
	case x.Code == celenv.FieldUndefined:
		return source.Mend{Advice: "correct the name of the field; the kinds are " + namesOf(kinds)}
	case x.Code == celenv.AtomicList:
		return source.Mend{Advice: "use a JSONPatch, or the server denies the request"}
	}
	return source.Mend{Advice: "compare with, or write, a value of the field's type"}
}

// Constant finds a condition or validation whose result is the same for every object. never says what it
// means that the result is always false; if it is empty, that is no mistake.
func Constant(d *manifest.Document, scope *celenv.Scope, program *celenv.Program, path change.Path, never string) []source.Diagnostic {
	switch holds, always := scope.Always(program); {
	case always && holds:
		return []source.Diagnostic{finding(d, path, 0, celenv.AlwaysTrue, "the expression is true for every object", "compare a field of the object or the request, or remove the expression")}
	case always && never != "":
		return []source.Diagnostic{finding(d, path, 0, celenv.NeverTrue, "the expression is false for every object: "+never, "compare a field of the object or the request, or remove the policy")}
	}
	return nil
}

func (c *Checked) finding(path change.Path, offset int, code, text, advice string) source.Diagnostic {
	return finding(c.Document, path, offset, code, text, advice)
}

// notes are the codes of findings that may be no mistakes.
var notes = []string{celenv.AlwaysTrue, celenv.AlwaysFalse, celenv.Costly, celenv.FieldMissing}

func finding(d *manifest.Document, path change.Path, offset int, code, text, advice string) source.Diagnostic {
	w := source.Warningf(d.In(path, offset), code, "%s", text).With(advice)
	if slices.Contains(notes, code) {
		w.Severity = source.Info
	}
	w.Subject, w.Field, w.Excerpt = d.Kind().Kind+" "+d.Name(), path.String(), d.Excerpt(d.In(path, offset))
	return w
}

func namesOf(kinds []*schema.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Title())
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
