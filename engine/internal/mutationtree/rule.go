package mutationtree

import (
	"context"
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// rule is one rule of a policy, or a bare tree.
type rule struct {
	policy, name string
	index        int
	document     *manifest.Document
	at           source.Position
	// object is the rule as written; nil for a bare tree.
	object         map[string]any
	context        []contextEntry
	match, exclude *match
	trees          []tree
}

// contextEntry is a binding that a rule defines.
type contextEntry struct {
	name     string
	variable tree
}

// match holds if all assertions in all hold and, unless any is empty, one assertion in any
// holds. kyverno-json ignores all if any is set.
type match struct{ any, all []assertion }

// label names the rule within its policy.
func (r *rule) label() string {
	if r.object == nil {
		return r.name
	}
	return fmt.Sprintf("rules[%d] %q", r.index, r.name)
}

func (r *rule) id() policy.ID {
	return policy.ID{Kind: r.document.Kind().Kind, Policy: r.policy, Rule: r.label()}
}

func (r *rule) failure(id policy.ID, err error) *policy.Failure {
	f := &policy.Failure{ID: id, At: r.at, Err: source.Messagef("%s: %v", id, source.Derive(err))}
	var failed *evaluationError
	if errors.As(err, &failed) {
		f.At = r.document.At(failed.at)
		if len(failed.at) > 0 {
			f.Err = source.Messagef("%s: %s: %v", id, failed.at, source.Derive(err))
		}
	}
	return f
}

// apply returns the object after the rule, or the reason why the rule does not apply.
func (r *rule) apply(ctx context.Context, object map[string]any) (map[string]any, fmt.Stringer, error) {
	e := &evaluation{ctx: ctx, bindings: r.bind(ctx, object)}
	if r.match != nil {
		if m, err := e.matches(r.match, object); m != nil || err != nil {
			return nil, unmatched{m}, err
		}
	}
	if r.exclude != nil {
		m, err := e.matches(r.exclude, object)
		if err != nil {
			return nil, nil, err
		}
		if m == nil {
			return nil, policy.Text("exclude holds"), nil
		}
	}
	written := object
	for _, t := range r.trees {
		e.bindings = r.bind(ctx, object)
		result, err := e.mergeFields(*t.fields, object)
		if err == nil {
			err = limit.Object(nil, written, result)
		}
		if err != nil {
			return nil, nil, err
		}
		object = result
	}
	return object, nil, nil
}

// bind returns the bindings for an object. A binding of the context is computed when an
// expression first uses it, from the object and the bindings before it.
func (r *rule) bind(ctx context.Context, object map[string]any) *bindings {
	var b *bindings
	b = b.with("$payload", object)
	if r.object == nil {
		return b
	}
	b = b.withLazy("$policy", func() (any, error) { return r.document.Object(), nil })
	b = b.with("$rule", r.object)
	for _, entry := range r.context {
		outer := b
		b = b.withLazy("$"+entry.name, func() (any, error) {
			e := &evaluation{ctx: ctx, bindings: outer}
			value, err := e.compute(entry.variable, object)
			if _, fits := limit.Size(value, limit.TextBytes); err == nil && !fits {
				err = limit.Exceeded(limit.Expression, "select less in the context", "the binding $%s is larger than %d MiB", entry.name, limit.TextBytes>>20)
			}
			return value, err
		})
	}
	return b
}

// matches checks whether a block holds; the mismatch is nil if it holds.
func (e *evaluation) matches(m *match, object map[string]any) (*mismatch, error) {
	var first *mismatch
	for _, a := range m.any {
		missed, err := e.check(a, object)
		if err != nil {
			return nil, err
		}
		if missed == nil {
			first = nil
			break
		}
		if first == nil {
			first = missed
		}
	}
	if first != nil {
		return first, nil
	}
	for _, a := range m.all {
		if missed, err := e.check(a, object); missed != nil || err != nil {
			return missed, err
		}
	}
	return nil, nil
}

// unmatched is the reason why match does not hold.
type unmatched struct{ mismatch *mismatch }

// IsOutOfScope marks the reason as that of a match block.
func (unmatched) IsOutOfScope() {}

// String implements fmt.Stringer.
func (u unmatched) String() string { return "match does not hold: " + u.mismatch.String() }
