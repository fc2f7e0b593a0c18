package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/workload"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Matrix says what each policy did to each object.
type Matrix struct {
	Policies       []MatrixPolicy
	Objects        []MatrixObject
	Diagnostics    []source.Diagnostic
	KyvernoVersion string
	// Verbose means that all reasons are listed, and all objects of each.
	Verbose bool
}

// MatrixPolicy is what a policy did to all objects.
type MatrixPolicy struct {
	// Name is the name for people, with the kind if several policies share a name.
	Name, Policy, Kind string
	At                 source.Position
	// Counts are the numbers of objects by what the policy did to them.
	Counts map[engine.Action]int
	// Reasons say why it left objects alone, the most frequent first.
	Reasons []Reason
	// Nothing says why it matched nothing. It is "" if it matched an object.
	Nothing string
	// Idle are the rules that matched nothing, if others did, and the bindings that did.
	Idle []MatrixRule
}

// MatrixRule is a rule or a binding that matched nothing.
type MatrixRule struct {
	Name    string
	At      source.Position
	Nothing string
	Reasons []Reason
}

// Reason is a reason with its objects.
type Reason struct {
	Text    string
	Objects []string
}

// MatrixObject is what the policies did to one object.
type MatrixObject struct {
	ID, MadeOf string
	At         source.Position
	Cells      []Cell
	// Objections are what validation says, with the values that rules have read.
	Objections []engine.Objection
	// Unknown means that the object could not be evaluated.
	Unknown bool
}

// Cell is what a policy did to an object.
type Cell struct {
	// Policy is the index of the policy.
	Policy  int
	Action  engine.Action
	Reasons []string
}

// leftAlone are the actions of policies that match an object and leave it alone.
var leftAlone = map[engine.Action]string{
	engine.Skipped: "its conditions are false", engine.Unchanged: "the object is as the policy wants it", engine.Failed: "it could not be evaluated: see the error",
}

// Matched returns the number of objects that the policy matches.
func (p *MatrixPolicy) Matched() int {
	n := 0
	for _, count := range p.Counts {
		n += count
	}
	return n
}

// LeftAlone returns the number of objects that it matches and leaves alone.
func (p *MatrixPolicy) LeftAlone() int {
	n := 0
	for action := range leftAlone {
		n += p.Counts[action]
	}
	return n
}

// NewMatrix returns the matrix of a run with the observers Explain and Judge. diagnostics are those of
// the run. secrets hides the values of Secrets; nil hides none.
func NewMatrix(outcome *engine.Outcome, diagnostics []source.Diagnostic, secrets *redact.Redactor) *Matrix {
	b := &matrixBuilder{converter: converter{secrets}, index: map[policy.ID]int{}, reasons: map[reasonKey]int{}}
	b.matrix = &Matrix{Diagnostics: diagnostics, KyvernoVersion: outcome.KyvernoVersion}
	all := New(outcome, nil, nil, secrets)
	all.Diagnostics = diagnostics
	failed := all.failed()
	b.addPolicies(outcome)
	for i, m := range outcome.Manifests {
		shown := &all.Manifests[i]
		b.matrix.Objects = append(b.matrix.Objects, MatrixObject{ID: shown.ID, MadeOf: shown.MadeOf, At: shown.At, Objections: shown.Objections, Unknown: failed[i] && len(m.Verdicts) == 0})
		b.addCells(&b.matrix.Objects[i], m.Verdicts)
	}
	b.explainNothing(outcome)
	for i := range b.matrix.Policies {
		p := &b.matrix.Policies[i]
		sortReasons(p.Reasons)
		for n := range p.Idle {
			sortReasons(p.Idle[n].Reasons)
		}
	}
	return b.matrix
}

// matrixBuilder builds a Matrix.
type matrixBuilder struct {
	converter converter
	matrix    *Matrix
	// index has the policies by their IDs, and reasons the index of a reason in its list.
	index   map[policy.ID]int
	reasons map[reasonKey]int
}

type reasonKey struct {
	of   *[]Reason
	text string
}

// addPolicies adds the policies of a run, and the admission plug-ins that did something.
func (b *matrixBuilder) addPolicies(outcome *engine.Outcome) {
	accounts := slices.Clone(outcome.Policies)
	for _, m := range outcome.Manifests {
		for _, v := range m.Verdicts {
			if _, known := b.index[v.By]; !known && v.By.Plugin != "" {
				b.index[v.By] = 0
				accounts = append(accounts, engine.Account{ID: v.By})
			}
		}
	}
	names := policy.Names(func(yield func(policy.ID) bool) {
		for _, a := range accounts {
			if !yield(a.ID.OfPolicy()) {
				return
			}
		}
	})
	for i, a := range accounts {
		b.index[a.ID] = i
		p := MatrixPolicy{Name: b.converter.redactor.Name(names[a.ID.OfPolicy()]), Policy: b.converter.redactor.Name(a.ID.Policy), Kind: b.converter.redactor.Name(a.ID.Kind), At: a.At, Counts: map[engine.Action]int{}}
		if a.ID.Plugin != "" {
			p.Name, p.Policy, p.Kind = a.ID.String(), a.ID.Plugin, "admission plug-in"
		}
		b.matrix.Policies = append(b.matrix.Policies, p)
	}
}

// addCells adds what policies did to an object.
func (b *matrixBuilder) addCells(o *MatrixObject, verdicts []engine.Verdict) {
	for _, v := range verdicts {
		i, ok := b.index[v.By]
		if !ok {
			continue
		}
		b.matrix.Policies[i].Counts[v.Action]++
		cell := Cell{Policy: i, Action: v.Action}
		for _, n := range v.Because {
			if reason := b.converter.redactor.Reason(n.Reason); !slices.Contains(cell.Reasons, reason) {
				cell.Reasons = append(cell.Reasons, reason)
			}
		}
		if text, alone := leftAlone[v.Action]; alone {
			if len(cell.Reasons) == 0 {
				cell.Reasons = []string{text}
			}
			for _, reason := range cell.Reasons {
				b.addReason(&b.matrix.Policies[i].Reasons, reason, o.ID)
			}
		}
		o.Cells = append(o.Cells, cell)
	}
}

// addReason adds an object to a reason in a list.
func (b *matrixBuilder) addReason(to *[]Reason, text, object string) {
	key := reasonKey{to, text}
	i, ok := b.reasons[key]
	if !ok {
		i = len(*to)
		b.reasons[key] = i
		*to = append(*to, Reason{Text: text})
	}
	(*to)[i].Objects = append((*to)[i].Objects, object)
}

// sortReasons sorts reasons by the number of their objects.
func sortReasons(reasons []Reason) {
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(len(b.Objects), len(a.Objects)) })
}

// explainNothing says of every policy, and of every rule of the others, that matches nothing why.
func (b *matrixBuilder) explainNothing(outcome *engine.Outcome) {
	kinds := newKindCounts(outcome.Manifests)
	near := map[*engine.Manifest]map[policy.ID]*[]Reason{}
	for i, a := range outcome.Policies {
		p := &b.matrix.Policies[i]
		if p.Matched() == 0 {
			p.Nothing = b.nothing(kinds, a.Selects, a.Unknown, a.Nearest, len(a.Near))
			noteNear(near, a.Near, []policy.ID{a.ID.OfPolicy()}, &p.Reasons)
			a.Idle = slices.DeleteFunc(slices.Clone(a.Idle), func(idle engine.IdleRule) bool { return !idle.IsBinding() })
		}
		p.Idle = make([]MatrixRule, len(a.Idle))
		for n, idle := range a.Idle {
			rule := &p.Idle[n]
			rule.Name, rule.At = b.converter.redactor.Name(idle.Name), idle.At
			rule.Nothing = b.nothing(kinds, idle.Selects, idle.Unknown, idle.Nearest, len(idle.Near))
			noteNear(near, idle.Near, idle.Rules, &rule.Reasons)
		}
	}
	for i, m := range outcome.Manifests {
		told := map[reasonKey]bool{}
		for _, n := range m.NotApplied {
			ids := []policy.ID{n.ID.OfPolicy(), n.ID.OfRule()}
			if of := n.ID.OfBinding(); of.Binding != "" && near[m][of] != nil {
				ids = []policy.ID{of}
			}
			for _, id := range ids {
				key := reasonKey{of: near[m][id]}
				if key.of == nil {
					continue
				}
				if key.text = b.converter.redactor.Reason(n.Reason); !told[key] {
					told[key] = true
					b.addReason(key.of, key.text, b.matrix.Objects[i].ID)
				}
			}
		}
	}
}

// nothing says why kinds that are selected match nothing. unknown says which of them do not exist, nearest
// what is similar to a label or a name that does not exist, and near is the number of objects of these kinds.
func (b *matrixBuilder) nothing(kinds kindCounts, selected []policy.Selected, unknown, nearest string, near int) string {
	switch {
	case unknown != "":
		return b.converter.redactor.Text(unknown)
	case near == 0:
		return b.converter.redactor.Text(kinds.missing(selected))
	}
	text := "it selects the kind of " + plural(near, "object", "objects") + ", and matches none of them"
	if nearest != "" {
		text += ": " + b.converter.redactor.Text(nearest)
	}
	return text
}

// noteNear notes the list for the reasons why policies or rules do not match objects.
func noteNear(near map[*engine.Manifest]map[policy.ID]*[]Reason, manifests []*engine.Manifest, ids []policy.ID, list *[]Reason) {
	for _, m := range manifests {
		if near[m] == nil {
			near[m] = map[policy.ID]*[]Reason{}
		}
		for _, id := range ids {
			near[m][id] = list
		}
	}
}

// kindCounts are the kinds of the manifests with their numbers.
type kindCounts struct {
	kinds []gvk.Kind
	of    map[gvk.Kind]int
}

func newKindCounts(manifests []*engine.Manifest) kindCounts {
	c := kindCounts{of: map[gvk.Kind]int{}}
	for _, m := range manifests {
		kind := m.Document.Kind()
		if c.of[kind] == 0 {
			c.kinds = append(c.kinds, kind)
		}
		c.of[kind]++
	}
	return c
}

// missing says that no manifest has a selected kind, and which kind of the manifests is the nearest.
func (c kindCounts) missing(selected []policy.Selected) string {
	var names []string
	pods := false
	for _, s := range selected {
		name := cmp.Or(s.Resource, s.Kind)
		pods = pods || name == "pods" || name == "Pod"
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "it selects no kind of the manifests"
	}
	text := "the manifests have no " + source.Alternatives(names)
	if pods {
		for _, kind := range c.kinds {
			if workload.Controls(kind) {
				return fmt.Sprintf("%s; the controller of %s creates Pods: add --pods to include them", text, plural(c.of[kind], kind.Kind, kind.Kind+"s"))
			}
		}
	}
	for _, name := range names {
		for _, kind := range c.kinds {
			if resource := strings.ToLower(kind.Kind) + "s"; source.Misspelt(name, []string{kind.Kind, resource}) != "" {
				return fmt.Sprintf("%s; the nearest kind among the manifests is %s", text, kind)
			}
		}
	}
	return text
}

// plural returns a number of things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
