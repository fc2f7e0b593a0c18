package editor

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Definition returns where the thing at a position is defined: the policy of a binding, a variable, the
// field of a param, or the policies that change a field of a manifest.
func (s *State) Definition(text string, at source.Position) []source.Position {
	l, ok := linesAt(text, at)
	if !ok {
		return nil
	}
	if name := l.variableAt(); name != "" {
		for _, p := range l.variablePlaces(name) {
			if p.declares {
				return []source.Position{{File: at.File, Line: p.line + 1, Column: p.column + 1}}
			}
		}
	}
	found := s.paramFields(&l)
	for _, o := range s.Objects() {
		if o.Policy == "" || o.PolicyAt.File != at.File || o.PolicyAt.Line != at.Line {
			continue
		}
		for _, target := range s.Objects() {
			if target.IsPolicy && target.Policy == "" && target.Name == o.Policy {
				found = append(found, target.NameAt)
			}
		}
	}
	for _, e := range s.editsAt(&l, at) {
		for _, c := range e.Causes {
			if c.At.IsKnown() && !slices.Contains(found, c.At) {
				found = append(found, c.At)
			}
		}
	}
	return found
}

// paramFields returns where the params of the workspace have the field at the cursor.
func (s *State) paramFields(at *lines) []source.Position {
	l := *at
	l.toWordEnd()
	var n named
	if before, start, ok := l.queryAt(); ok {
		n = s.scopeOfQuery(&l, start).resolve(operandQuery().FindString(before))
	} else if e, ok := l.expressionAt(); ok {
		sc := s.scopeOf(&l)
		sc.declare(e.before)
		n = sc.resolve(operand().FindString(e.before))
	}
	if !n.isParam {
		return nil
	}
	var found []source.Position
	for _, o := range s.objects(n.kinds, n.name) {
		path := change.Keys(n.path...)
		if _, ok := path.Get(o.document.Object()); ok {
			found = append(found, o.document.Key(path))
		}
	}
	return found
}

// References returns where the thing at a position is used: the bindings of a policy, or the uses of a
// variable.
func (s *State) References(text string, at source.Position) []source.Position {
	l, ok := linesAt(text, at)
	if !ok {
		return nil
	}
	var found []source.Position
	if name := l.variableAt(); name != "" {
		for _, p := range l.variablePlaces(name) {
			found = append(found, source.Position{File: at.File, Line: p.line + 1, Column: p.column + 1})
		}
		return found
	}
	policy := ""
	for _, o := range s.Objects() {
		switch {
		case o.NameAt.File == at.File && o.NameAt.Line == at.Line && o.IsPolicy && o.Policy == "":
			policy = o.Name
		case o.PolicyAt.File == at.File && o.PolicyAt.Line == at.Line && o.Policy != "":
			policy = o.Policy
		}
	}
	for _, o := range s.Objects() {
		if policy != "" && o.Policy == policy {
			found = append(found, o.PolicyAt)
		}
	}
	return found
}

// Rename returns the places of the variable at a position with its name; nil if there is no variable.
func Rename(text string, at source.Position) (places []source.Position, name string) {
	l, ok := linesAt(text, at)
	if !ok {
		return nil, ""
	}
	if name = l.variableAt(); name == "" {
		return nil, ""
	}
	for _, p := range l.variablePlaces(name) {
		places = append(places, source.Position{File: at.File, Line: p.line + 1, Column: p.column + 1})
	}
	return places, name
}

var (
	// used matches a use of a variable that ends the text.
	used = lazyregexp.New(`\bvariables\.(\w+)$`)
	// declared matches the name of an item in block style or in flow style.
	declared = lazyregexp.New(`^ *(?:- +)?(?:\{ *)?name: *["']?(\w+)`)
	// identifier matches a name in CEL.
	identifier = lazyregexp.New(`^[A-Za-z_]\w*$`)
)

// IsIdentifier reports whether a text can be the name of a variable.
func IsIdentifier(text string) bool { return identifier().MatchString(text) }

// variableAt returns the name of the variable at the cursor: used, or declared under variables.
func (l *lines) variableAt() string {
	end := *l
	end.toWordEnd()
	if name := end.usedBefore(); name != "" {
		return name
	}
	match := declared().FindStringSubmatchIndex(l.all[l.line])
	if match == nil || len(l.before) < match[2] || len(l.before) > match[3] || !l.isVariable(l.line) {
		return ""
	}
	return l.all[l.line][match[2]:match[3]]
}

// usedBefore returns the name of the variable whose use ends at the cursor: of a policy in CEL, or of a context of
// Kyverno.
func (l *lines) usedBefore() string {
	if match := used().FindStringSubmatch(l.before); match != nil {
		return match[1]
	}
	if query, start, ok := l.queryAt(); ok && start >= 0 {
		if name := operandQuery().FindString(query); IsIdentifier(name) && !slices.ContainsFunc(ruleRoots, func(item Item) bool { return item.Name == name }) {
			return name
		}
	}
	return ""
}

// isVariable reports whether a line belongs to the variables of a policy, or to a context of Kyverno.
func (l *lines) isVariable(line int) bool {
	indent := indentOf(l.all[line])
	for i := line - 1; i >= l.begin; i-- {
		text := l.all[i]
		isItem := strings.HasPrefix(strings.TrimSpace(text), "-")
		if strings.TrimSpace(text) == "" || indentOf(text) > indent || indentOf(text) == indent && (isItem || !strings.HasPrefix(strings.TrimSpace(l.all[line]), "-")) {
			continue
		}
		if isItem {
			indent = indentOf(text)
			continue
		}
		return strings.TrimSpace(text) == "variables:" || strings.TrimSpace(text) == "context:"
	}
	return false
}

// place is a place of a variable, from 0.
type place struct {
	line, column int
	declares     bool
}

// variablePlaces returns where a variable is declared and used in its document.
func (l *lines) variablePlaces(name string) []place {
	pattern := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	var places []place
	for i := l.begin; i < l.end; i++ {
		text := l.all[i]
		if match := declared().FindStringSubmatchIndex(text); match != nil && text[match[2]:match[3]] == name && l.isVariable(i) {
			places = append(places, place{i, utf8.RuneCountInString(text[:match[2]]), true})
		}
		for _, match := range pattern.FindAllStringIndex(text, -1) {
			at := lines{all: l.all, line: i, before: text[:match[1]], begin: l.begin, end: l.end}
			if at.usedBefore() == name {
				places = append(places, place{i, utf8.RuneCountInString(text[:match[0]]), false})
			}
		}
	}
	return places
}
