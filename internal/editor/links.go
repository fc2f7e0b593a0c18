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
		n = sc.resolve(operandBefore(e.before))
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

// Unusable says why the variable at a position cannot get a name; "" if it can.
func Unusable(text string, at source.Position, name string) string {
	if !IsIdentifier(name) {
		return "the name of a variable has letters, digits and _, and begins with no digit"
	}
	if slices.Contains([]string{"false", "in", "null", "true"}, name) {
		return name + " is a word of expressions"
	}
	isDeclared := func(p place) bool { return p.declares }
	if l, ok := linesAt(text, at); ok && name != l.variableAt() && slices.ContainsFunc(l.variablePlaces(name), isDeclared) {
		return "there is another variable " + name
	}
	return ""
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
	if match == nil || len(l.before) < match[2] || len(l.before) > match[3] {
		return ""
	}
	if _, ok := l.declaresIn(l.line); !ok {
		return ""
	}
	return l.all[l.line][match[2]:match[3]]
}

// usedBefore returns the name of the variable whose use ends at the cursor: of a policy in CEL, or of a context of
// Kyverno.
func (l *lines) usedBefore() string {
	if match := used().FindStringSubmatch(l.before); match != nil {
		if e, ok := l.expressionAt(); ok && !isText(e.before) {
			return match[1]
		}
	}
	if query, start, ok := l.queryAt(); ok && start >= 0 {
		if name := operandQuery().FindString(query); IsIdentifier(name) && !slices.ContainsFunc(ruleRoots, func(item Item) bool { return item.Name == name }) {
			return name
		}
	}
	return ""
}

// declaresIn returns the line of the key above a line that belongs to the variables of a policy, or to a context
// of Kyverno.
func (l *lines) declaresIn(line int) (header int, ok bool) {
	indent, isOfItem := indentOf(l.all[line]), strings.HasPrefix(strings.TrimSpace(l.all[line]), "-")
	for i := line - 1; i >= l.begin; i-- {
		text := l.all[i]
		isItem := strings.HasPrefix(strings.TrimSpace(text), "-")
		if strings.TrimSpace(text) == "" || indentOf(text) > indent || indentOf(text) == indent && (isItem || !isOfItem) {
			continue
		}
		isHeader := slices.Contains([]string{"variables:", "context:"}, strings.TrimSpace(text[keyColumn(text):]))
		if isItem && !isHeader {
			indent, isOfItem = indentOf(text), true
			continue
		}
		return i, isHeader
	}
	return 0, false
}

// keyColumn returns where a line begins after its dashes.
func keyColumn(line string) int { return len(line) - len(strings.TrimLeft(line, " -")) }

// region is a part of a text, in lines: from the first one, and before the last one.
type region struct{ from, to int }

// mappingOf returns the lines of the mapping that has a key on a line.
func (l *lines) mappingOf(line int) region {
	column := keyColumn(l.all[line])
	isIn := func(at int, text string) bool { return strings.TrimSpace(text) == "" || at >= column }
	r := region{line, line + 1}
	for r.from > l.begin && !strings.Contains(l.all[r.from][:min(column, len(l.all[r.from]))], "-") && isIn(keyColumn(l.all[r.from-1]), l.all[r.from-1]) {
		r.from--
	}
	for r.to < l.end && isIn(indentOf(l.all[r.to]), l.all[r.to]) {
		r.to++
	}
	return r
}

// place is a place of a variable, from 0.
type place struct {
	line, column int
	declares     bool
}

// variablePlaces returns where the variable at the cursor is declared and used in its document. A rule and an item of
// a foreach may have each a context entry of a name.
func (l *lines) variablePlaces(name string) []place {
	pattern := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	var places []place
	var scopes []region
	for i := l.begin; i < l.end; i++ {
		text := l.all[i]
		if match := declared().FindStringSubmatchIndex(text); match != nil && text[match[2]:match[3]] == name {
			if header, ok := l.declaresIn(i); ok {
				places = append(places, place{i, utf8.RuneCountInString(text[:match[2]]), true})
				scopes = append(scopes, l.mappingOf(header))
			}
		}
		for _, match := range pattern.FindAllStringIndex(text, -1) {
			at := lines{all: l.all, line: i, before: text[:match[1]], begin: l.begin, end: l.end}
			if at.usedBefore() == name {
				places = append(places, place{i, utf8.RuneCountInString(text[:match[0]]), false})
			}
		}
	}
	own := l.innermost(scopes, l.line)
	return slices.DeleteFunc(places, func(p place) bool { return l.innermost(scopes, p.line) != own })
}

// innermost returns the smallest region with a line. The list of a foreach does not know the context beside it.
func (l *lines) innermost(scopes []region, line int) (found region) {
	for _, r := range scopes {
		isList := strings.HasPrefix(l.all[line][keyColumn(l.all[line]):], "list:") && keyColumn(l.all[line]) == keyColumn(l.all[r.from])
		if r.from <= line && line < r.to && !isList && (found == region{} || r.to-r.from < found.to-found.from) {
			found = r
		}
	}
	return found
}
