package mutationtree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// An assertion is a compiled assertion tree of kyverno-json (2024-10), with two differences: a
// value of another shape than the assertion is a mismatch, not an error, and a binding in a key
// (key->name) is visible to all other keys of its map.
type assertion struct {
	at change.Path
	// Exactly one of these is set.
	parts  *[]part
	items  *[]assertion
	scalar expression
}

// part is an entry of a map in an assertion: the value that its key selects must match.
type part struct {
	key string
	// selects computes the value to check; if it is nil, the value is the field key.
	selects expression
	// each says to check every item of a list, or every value of a map. eachName, unless it is
	// empty, is bound to the index or key.
	each     bool
	eachName string
	// binding is the name bound to the selected value; "" for no name.
	binding   string
	assertion assertion
}

func (p part) rank() int { return min(len(p.binding), 1) }

var (
	eachSyntax    = lazyregexp.New(`^~(\w+)?\.(.*)`)
	bindingSyntax = lazyregexp.New(`(.*)\s*->\s*(\w+)$`)
)

// parseAssertion compiles the value of an assertion tree.
func (c *compiler) parseAssertion(value any, language string, at change.Path) assertion {
	switch value := value.(type) {
	case map[string]any:
		parts := make([]part, 0, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, c.parsePart(key, value[key], language, at.Key(key)))
		}
		// Parts that define a binding come first, so that all others may use it.
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.rank(), a.rank()) })
		return assertion{at: at, parts: &parts}
	case []any:
		items := make([]assertion, len(value))
		for i := range value {
			items[i] = c.parseAssertion(value[i], language, at.Index(i))
		}
		return assertion{at: at, items: &items}
	case string:
		if eachSyntax().MatchString(value) || bindingSyntax().MatchString(value) {
			c.fail(at, "~ and -> belong in keys", `write \…\ for a literal text`)
		}
	}
	return assertion{at: at, scalar: c.parseScalar(value, language, at)}
}

func (c *compiler) parsePart(key string, value any, language string, at change.Path) part {
	p := part{key: key, assertion: c.parseAssertion(value, language, at)}
	if m := eachSyntax().FindStringSubmatch(p.key); m != nil {
		p.each, p.eachName, p.key = true, m[1], m[2]
	}
	if m := bindingSyntax().FindStringSubmatch(p.key); m != nil {
		p.key, p.binding = m[1], m[2]
	}
	if m := escapeSyntax().FindStringSubmatch(p.key); m != nil {
		p.key = m[1]
	} else if expressionSyntax().MatchString(p.key) {
		p.selects = c.parseScalar(p.key, language, at)
	}
	return p
}

// selected returns the kind that an assertion about a document names, if it names one.
func (a assertion) selected(d *manifest.Document) (policy.Selected, bool) {
	s := policy.Selected{Group: "*", Version: "*"}
	if a.parts == nil {
		return s, false
	}
	for _, p := range *a.parts {
		written, _ := p.assertion.scalar.(literal)
		text, _ := written.value.(string)
		switch {
		case p.selects != nil || p.each || text == "":
		case p.key == "kind":
			s.Kind, s.At = text, d.At(p.assertion.at)
		case p.key == "apiVersion":
			kind := gvk.Parse(text, "")
			s.Group, s.Version = kind.Group, kind.Version
		}
	}
	return s, s.Kind != ""
}

// mismatch says where an assertion does not hold, and what value it requires there.
type mismatch struct {
	at   change.Path
	want string
}

func (m *mismatch) String() string { return m.at.String() + ": " + m.want }

// check checks whether an assertion holds for a value: the mismatch is nil if it holds.
func (e *evaluation) check(a assertion, value any) (*mismatch, error) {
	switch {
	case a.parts != nil:
		return e.checkParts(a, value)
	case a.items != nil:
		list, ok := value.([]any)
		if !ok || len(list) != len(*a.items) {
			return &mismatch{a.at, fmt.Sprintf("wants a list of %d", len(*a.items))}, nil
		}
		for i, item := range *a.items {
			if m, err := e.check(item, list[i]); m != nil || err != nil {
				return m, err
			}
		}
		return nil, nil
	}
	want, err := a.scalar.evaluate(e.ctx, value, e.bindings)
	switch {
	case err != nil:
		return nil, &evaluationError{a.at, err}
	case !includes(want, value):
		return &mismatch{a.at, fmt.Sprintf("wants %s", describe(want))}, nil
	}
	return nil, nil
}

func (e *evaluation) checkParts(a assertion, value any) (*mismatch, error) {
	if len(*a.parts) == 0 && value == nil {
		return &mismatch{a.at, "wants a value"}, nil
	}
	within := *e
	for _, p := range *a.parts {
		selected, m, err := within.selectPart(p, value)
		if m != nil || err != nil {
			return m, err
		}
		if p.binding != "" {
			within.bindings = within.bindings.with("$"+p.binding, selected)
		}
		if p.each {
			m, err = within.checkEach(p, selected)
		} else {
			m, err = within.check(p.assertion, selected)
		}
		if m != nil || err != nil {
			return m, err
		}
	}
	return nil, nil
}

// selectPart returns the value that the key of a part selects.
func (e *evaluation) selectPart(p part, value any) (any, *mismatch, error) {
	if p.selects != nil {
		selected, err := p.selects.evaluate(e.ctx, value, e.bindings)
		if err != nil {
			err = &evaluationError{p.assertion.at, err}
		}
		return selected, nil, err
	}
	object, _ := value.(map[string]any)
	selected, ok := object[p.key]
	if !ok {
		return nil, &mismatch{p.assertion.at, "wants the field"}, nil
	}
	return selected, nil, nil
}

// checkEach checks the items of a list, or the values of a map in the order of its keys.
func (e *evaluation) checkEach(p part, selected any) (*mismatch, error) {
	check := func(name, value any) (*mismatch, error) {
		within := *e
		if p.eachName != "" {
			within.bindings = within.bindings.with("$"+p.eachName, name)
		}
		return within.check(p.assertion, value)
	}
	switch selected := selected.(type) {
	case []any:
		for i, item := range selected {
			if m, err := check(int64(i), item); m != nil || err != nil {
				return m, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(selected)) {
			if m, err := check(key, selected[key]); m != nil || err != nil {
				return m, err
			}
		}
	default:
		return &mismatch{p.assertion.at, "wants a list or a map"}, nil
	}
	return nil, nil
}

// includes reports whether a value matches what an assertion requires: a map may have more
// entries than required, and numbers are compared by value.
func includes(want, value any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		for key, item := range want {
			actual, given := object[key]
			ok = ok && given && includes(item, actual)
		}
		return ok
	case []any:
		list, ok := value.([]any)
		ok = ok && len(list) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = includes(want[i], list[i])
		}
		return ok
	case int64:
		if f, ok := value.(float64); ok {
			return float64(want) == f
		}
	case float64:
		if n, ok := value.(int64); ok {
			return want == float64(n)
		}
	}
	return change.Equal(want, value)
}

// describe describes what an assertion requires. Strings in policies are not secret, but the
// result of an expression may be.
func describe(want any) string {
	switch want := want.(type) {
	case nil:
		return "null"
	case bool, int64, float64:
		return fmt.Sprint(want)
	default:
		return "another value"
	}
}
