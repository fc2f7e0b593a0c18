package kyverno

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/policy"
)

// Anchor is the sign before the parentheses around a key of a patch, with "" for parentheses without
// a sign.
type Anchor string

// The anchors of patches and patterns.
const (
	NoAnchor  Anchor = "-"
	Condition Anchor = ""
	Global    Anchor = "<"
	Add       Anchor = "+"
	Equality  Anchor = "="
	Negation  Anchor = "X"
	Existence Anchor = "^"
)

// ParseAnchor splits a key like "+(name)" into its anchor and the bare key.
func ParseAnchor(key string) (Anchor, string) {
	trimmed := strings.TrimSpace(key)
	open := strings.IndexByte(trimmed, '(')
	if open < 0 || open > 1 || !strings.HasSuffix(trimmed, ")") || len(trimmed) < open+3 {
		return NoAnchor, key
	}
	if open == 1 && !strings.ContainsAny(trimmed[:1], "+<=X^") {
		return NoAnchor, key
	}
	return Anchor(trimmed[:open]), trimmed[open+1 : len(trimmed)-1]
}

// write returns the key with the anchor around it. It reverses ParseAnchor.
func (a Anchor) write(key string) string {
	if a == NoAnchor {
		return key
	}
	return string(a) + "(" + key + ")"
}

// hasAnchor reports whether a key anywhere in a value has one of the anchors.
func hasAnchor(value any, is func(Anchor) bool) bool {
	return anywhere(value, func(part any, isKey bool) bool {
		if !isKey {
			return false
		}
		a, _ := ParseAnchor(part.(string))
		return a != NoAnchor && is(a)
	})
}

// anywhere reports whether a key or a scalar anywhere in a value has a property.
func anywhere(value any, has func(part any, isKey bool) bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if has(key, true) || anywhere(member, has) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return anywhere(item, has) })
	}
	return has(value, false)
}

// HasAnchors reports whether a key anywhere in a value has an anchor.
func HasAnchors(value any) bool { return hasAnchor(value, func(Anchor) bool { return true }) }

// anchors checks the anchors in a patch. Conditions may have all anchors; a legacy overlay may
// have only conditions and +().
func (r *reader) anchors(n policy.Node, overlay bool) {
	seen := map[string]string{}
	for _, below := range n.Below() {
		key := below.Key()
		a, bare := ParseAnchor(key)
		if other, twice := seen[bare]; twice && a != Condition && a != Global && !isConditionKey(other) {
			r.doc.Advise(below.Path, "policy-invalid", "the key is in the map twice, as "+other+" and as "+key, "leave one of them out")
		}
		if n.Object() != nil {
			seen[bare] = key
		}
		switch {
		case a == Condition || a == Global && !overlay:
			continue // the value is a pattern
		case overlay && a != NoAnchor && a != Add:
			r.doc.Advise(below.Path, "policy-invalid", "the anchor "+string(a)+"( ) means nothing in an overlay", "expected ( ) or +( )")
		}
		r.anchors(below, overlay)
	}
}

func isConditionKey(key string) bool {
	a, _ := ParseAnchor(key)
	return a == Condition || a == Global
}

// unmet is a condition that does not hold. A global condition applies to the whole rule,
// wherever it is.
type unmet struct {
	mismatch mismatch
	anchor   string
	global   bool
}

// String implements fmt.Stringer.
func (u *unmet) String() string { return "condition " + u.anchor + ": " + u.mismatch.String() }
