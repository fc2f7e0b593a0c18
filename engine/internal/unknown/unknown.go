// Package unknown runs policies on values that are not known yet. A Run has a placeholder for
// every unknown value. Whoever decides by a value of an object asks the Run: if the value holds a
// placeholder, both decisions are possible, and the Run says which one to explore. The caller starts
// one Run for every sequence of decisions. What is the same in the results of all Runs does not depend
// on the unknown values, except where somebody used one in another way, which Uses returns.
//
// Copies of a placeholder stay placeholders, wherever policies write them.
package unknown

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Value is a value that is not known yet, with its placeholders.
type Value struct {
	// Name names the value for users.
	Name string
	// Text and Number are the placeholders. No two Unknowns of a Run have the same. Computed is the
	// placeholder of a text that a function has computed from the value.
	Text, Computed string
	Number         int64
	// MayBeAbsent says that the server may drop the field, so that has() depends on the value.
	MayBeAbsent bool
}

// Use is a use of an unknown value that is neither a copy nor a decision.
type Use struct {
	// Policy uses the value of the Value with this name. It is empty if no policy does.
	Policy, Name string
}

// Run is one run. A nil *Run has no placeholders. It is safe for concurrent use.
type Run struct {
	unknowns []Value
	// encoded and numbers are other texts of the placeholders.
	encoded, numbers []string
	// Truth is the placeholder of what a policy computes as true or false.
	truth bool
	// untyped says that a value may have any type, so that functions may fail on it.
	untyped bool
	choices []bool

	lock   sync.Mutex
	policy string
	taken  []bool
	uses   []Use
	// judged says that a policy that only refuses used an unknown value.
	judged bool
}

// Options are the options of a Run.
type Options struct {
	// Truth is the placeholder of what a policy computes as true or false.
	Truth bool
	// Untyped says that the type of a value is not known, so that functions may fail on it.
	Untyped bool
	// Choices are the first decisions. Later decisions are those on the placeholders.
	Choices []bool
}

// New returns a run with unknown values.
func New(unknowns []Value, o Options) *Run {
	r := &Run{unknowns: unknowns, truth: o.Truth, untyped: o.Untyped, choices: o.Choices}
	for _, u := range unknowns {
		r.encoded = append(r.encoded, base64.StdEncoding.EncodeToString([]byte(u.Text))) // stringData becomes data
		r.numbers = append(r.numbers, strconv.FormatInt(u.Number, 10))
	}
	return r
}

// Taken returns the decisions of the run in their order.
func (r *Run) Taken() []bool { return r.taken }

// Uses returns the uses of unknown values by policies that may change the object.
func (r *Run) Uses() []Use { return r.uses }

// Judged reports whether a policy that only refuses used an unknown value.
func (r *Run) Judged() bool { return r.judged }

// find returns the Value whose placeholder a scalar holds; nil if it holds no placeholder.
func (r *Run) find(value any) *Value {
	switch value := value.(type) {
	case string:
		for i := range r.unknowns {
			u := &r.unknowns[i]
			if holds(value, u.Text) || holds(value, u.Computed) || holds(value, r.encoded[i]) || holds(value, r.numbers[i]) {
				return u
			}
		}
	case int64:
		if i := slices.IndexFunc(r.unknowns, func(u Value) bool { return u.Number == value }); i >= 0 {
			return &r.unknowns[i]
		}
	case float64:
		if value == float64(int64(value)) {
			return r.find(int64(value))
		}
	}
	return nil
}

// holds reports whether a text holds a placeholder. A short one may be part of any text.
func holds(text, placeholder string) bool {
	if len(placeholder) < 4 {
		return text == placeholder
	}
	return strings.Contains(text, placeholder)
}

// Find returns the first Value whose placeholder is anywhere in a value, which may be a list or a
// map, in the order of its keys; nil if it holds no placeholder.
func (r *Run) Find(value any) *Value {
	if r == nil {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if found := r.Find(value[key]); found != nil {
				return found
			}
			if found := r.find(key); found != nil {
				return found
			}
		}
		return nil
	case []any:
		for _, item := range value {
			if found := r.Find(item); found != nil {
				return found
			}
		}
		return nil
	}
	return r.find(value)
}

// Observer is what one policy does with unknown values.
type Observer struct {
	run *Run
	// judging says that the policy only refuses.
	judging bool
}

// IsActive reports whether there are unknown values.
func (o Observer) IsActive() bool { return o.run != nil }

// Find is Run.Find.
func (o Observer) Find(value any) *Value { return o.run.Find(value) }

// IsUntyped reports whether functions may fail on unknown values, because their types are not known.
func (o Observer) IsUntyped() bool { return o.run.untyped }

// Truth returns the placeholder of a computed bool.
func (o Observer) Truth() bool { return o.run.truth }

// Decide returns the decision to explore: the outcome, unless it depends on an unknown value.
func (o Observer) Decide(outcome bool, by ...any) bool {
	if o.run == nil || !slices.ContainsFunc(by, func(value any) bool { return o.run.Find(value) != nil }) {
		return outcome
	}
	return o.Choose(outcome)
}

// Choose is Decide for an outcome that depends on an unknown value.
func (o Observer) Choose(outcome bool) bool {
	r := o.run
	r.lock.Lock()
	defer r.lock.Unlock()
	if o.judging {
		r.judged = true
		return outcome
	}
	if n := len(r.taken); n < len(r.choices) {
		outcome = r.choices[n]
	}
	r.taken = append(r.taken, outcome)
	return outcome
}

// Use records that a policy uses a value, other than for a copy or a decision, if it holds a
// placeholder.
func (o Observer) Use(value any) {
	if found := o.run.Find(value); found != nil {
		o.UseOf(found)
	}
}

// UseText is Use for a text that is parsed. Lists and maps are not.
func (o Observer) UseText(value any) {
	if text, ok := value.(string); ok {
		o.Use(text)
	}
}

// UseOf records that a policy uses an unknown value.
func (o Observer) UseOf(u *Value) {
	r := o.run
	r.lock.Lock()
	defer r.lock.Unlock()
	use := Use{r.policy, u.Name}
	switch {
	case o.judging:
		r.judged = true
	case !slices.Contains(r.uses, use):
		r.uses = append(r.uses, use)
	}
}

// Begin notes which policy runs.
func (o Observer) Begin(policy string) {
	if o.run != nil && !o.judging {
		o.run.lock.Lock()
		o.run.policy = policy
		o.run.lock.Unlock()
	}
}

type key struct{}

// With returns a context in which policies are observed.
func With(ctx context.Context, r *Run) context.Context {
	return context.WithValue(ctx, key{}, Observer{run: r})
}

// Judging returns a context for policies that only refuse.
func Judging(ctx context.Context) context.Context {
	if o := In(ctx); o.IsActive() {
		return context.WithValue(ctx, key{}, Observer{o.run, true})
	}
	return ctx
}

// In returns the observer in a context; the zero Observer is not active.
func In(ctx context.Context) Observer {
	if ctx == nil {
		return Observer{}
	}
	o, _ := ctx.Value(key{}).(Observer)
	return o
}
