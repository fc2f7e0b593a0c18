package gatekeeper

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// denied is the beginning of an API server's message that Gatekeeper refuses a request.
const denied = `admission webhook "mutation.gatekeeper.sh" denied the request`

// effect is a mutator and its change of the object in a round.
type effect struct {
	mutator *mutator
	round   int
	object  map[string]any
}

// idle is the reason why a mutator did nothing.
type idle struct {
	at     source.Position
	reason fmt.Stringer
}

// system runs the mutators on one object. They run in the order of kinds and names; each sees
// the result of the one before. They run again until nothing changes.
type system struct {
	mutators []*mutator
	subject  subject
	aliases  aliases
	effects  []effect
	// idle has the reasons of the mutators that did nothing. worked has the mutators that
	// applied, even if the object already had their values.
	idle   map[*mutator]idle
	worked map[*mutator]bool
}

// newSystem returns a system for the object of a request.
func newSystem(mutators []*mutator, r *policy.Request) *system {
	return &system{
		mutators: mutators, subject: subject{request: r, object: r.Object, kind: kindOf(r.Object)},
		idle: map[*mutator]idle{}, worked: map[*mutator]bool{},
	}
}

// run runs the rounds: at most one more than there are mutators.
func (s *system) run() *policy.Failure {
	for round := 1; round <= len(s.mutators)+1; round++ {
		before, effects, mutated := s.subject.object, len(s.effects), false
		for _, m := range s.mutators {
			did, failure := s.step(m, round)
			if failure != nil {
				return failure
			}
			mutated = mutated || did
		}
		if !mutated || change.Equal(before, s.subject.object) {
			s.effects = s.effects[:effects] // the changes of this round cancel out
			s.subject.object = before
			return nil
		}
	}
	last := s.effects[len(s.effects)-1].mutator
	return last.failure(last.end(), fmt.Errorf("mutation not converging: mutation not converging for %s", s.subject.describe()))
}

// step runs one mutator. It reports whether the mutator applied, even if the object already had
// its value.
func (s *system) step(m *mutator, round int) (bool, *policy.Failure) {
	s.subject.by = m
	if why := m.bars(s.subject.kind, s.subject.request.Operation); why != nil {
		s.idle[m] = *why
		return false, nil
	}
	reason, err := m.match.check(&s.subject)
	if err != nil {
		return false, m.failure(m.at("match"), source.Messagef("matching for mutator %s failed for %s: failed to run Match criteria: %v", source.Name(m.fullName()), source.Name(s.subject.describe()), err))
	}
	if reason != nil {
		s.idle[m] = idle{m.criteria[reason.criterion], reason}
		return false, nil
	}
	object, w, err := m.apply(&s.subject, &s.aliases)
	if err != nil {
		return false, m.failure(m.node(w.depth), source.Messagef("mutation for mutator %s failed for %s: %v", source.Name(m.fullName()), source.Name(s.subject.describe()), err))
	}
	if object == nil {
		s.idle[m] = idle{where(w.stopped), w.stopped}
		return false, nil
	}
	s.worked[m] = true
	if !change.Equal(s.subject.object, object) {
		s.effects = append(s.effects, effect{m, round, object})
		s.subject.kind = kindOf(object)
		s.warn(m, w)
	}
	s.subject.object = object
	return true, nil
}

// bars returns the reason why a mutator does not apply to a kind and an operation, nil if it
// applies.
func (m *mutator) bars(kind gvk.Kind, operation policy.Operation) *idle {
	switch {
	case len(m.contests) > 0:
		return &idle{m.node(0), disabled{m}}
	case !m.applies(kind, operation):
		return &idle{m.criteria["applyTo"], m.unnamed(kind, operation)}
	}
	return nil
}

// unnamed returns the reason why applyTo does not cover a kind and an operation.
func (m *mutator) unnamed(kind gvk.Kind, operation policy.Operation) fmt.Stringer {
	why := notNamed{kind, operation}
	if m.applies(kind, policy.Update) {
		return policy.ByOperation{Stringer: why}
	}
	return why
}

// notNamed says that no entry of applyTo has a kind and an operation.
type notNamed struct {
	kind      gvk.Kind
	operation policy.Operation
}

// String implements fmt.Stringer.
func (n notNamed) String() string {
	return fmt.Sprintf("applyTo: none names %s %s for %s", n.kind.APIVersion(), n.kind.Kind, n.operation)
}

// IsOutOfScope marks the reason as that of a match block.
func (notNamed) IsOutOfScope() {}

// warn warns about side effects of a mutator.
func (s *system) warn(m *mutator, w *walk) {
	tell := func(code, advice, format string, args ...any) {
		d := source.Warningf(m.end(), code, format, args...).With(advice)
		d.Subject, d.Field = m.subject(), locationPath.String()
		s.subject.request.Warn(d)
	}
	if set, ok := m.action.(*set); ok && set.prunes && w.made {
		tell("empty-parents", "add a path test with MustExist for the list",
			"%s removes values from a list that does not exist, and creates the missing parents of the list", m.key())
	}
	if w.spread {
		tell("value-shared", "have "+s.aliases.owner.key()+" assign each field of its value by itself",
			"%s also changes values outside of its location: Gatekeeper does not copy the value of %s for each place where it assigns it", m.key(), s.aliases.owner.key())
	}
}

// failure returns an error of the mutator, which ends the request.
func (m *mutator) failure(at source.Position, err error) *policy.Failure {
	return &policy.Failure{ID: m.whole(), At: at, Err: fmt.Errorf("%s: %w", denied, err), Abort: true}
}

// fullName returns the name of the mutator in Gatekeeper's messages.
func (m *mutator) fullName() string { return m.kind + "." + group + " /" + m.name }

// describe returns the name of an object in Gatekeeper's messages.
func (s *subject) describe() string {
	name := cmp.Or(textIn(s.object, "metadata", "name"), textIn(s.object, "metadata", "generateName"))
	return strings.Join([]string{s.kind.Group, s.kind.Kind, objectNamespace(s.request), name}, " ")
}
