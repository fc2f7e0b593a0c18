package editor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// maxExamples is how many manifests are shown as examples.
const maxExamples = 3

// Hover describes what is at a position of a file, in Markdown; "" if nothing is known about it.
func (s *State) Hover(text string, at source.Position) string {
	l, ok := linesAt(text, at)
	if !ok {
		return ""
	}
	l.toWordEnd()
	if before, start, ok := l.queryAt(); ok {
		return s.describeQuery(&l, before, s.scopeOfQuery(&l, start))
	}
	if e, ok := l.expressionAt(); ok {
		return s.describeExpression(&l, e)
	}
	if match := location().FindStringSubmatch(l.before); match != nil {
		return s.describeLocation(&l, match[1])
	}
	var parts []string
	if match := entry().FindStringSubmatch(l.all[l.line]); match != nil {
		name := strings.Trim(match[2], `"'`)
		if k, ok := l.keyBelow(match[1]); ok {
			if t, doc := s.typeOfKey(&l, k, name); t != "" {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("`%s`: %s\n\n%s", strings.Join(append(k.path, name), "."), t, doc)))
			}
		}
	}
	return strings.Join(append(parts, s.changesAt(&l, at)...), "\n\n")
}

// typeOfKey returns the type of the value of a key, and what it is; "" if that is unknown.
func (s *State) typeOfKey(l *lines, k key, name string) (of, doc string) {
	path := append(k.path, name)
	if of = s.Schemas.TypeAt(k.kind, path...); of != "" {
		return of, s.Schemas.DocAt(k.kind, path...)
	}
	for _, item := range s.fieldsAt(l, k) {
		if item.Name == withoutAnchor(name) {
			return item.Detail, item.Doc
		}
	}
	return "", ""
}

// toWordEnd moves the cursor to the end of the word that it is in.
func (l *lines) toWordEnd() {
	rest := strings.TrimPrefix(l.all[l.line], l.before)
	for i, char := range rest {
		if !isWord(char) || char == '-' {
			rest = rest[:i]
			break
		}
	}
	l.before += rest
}

// operand matches a chain of names at the end of a text.
var operand = lazyregexp.New(`([A-Za-z_]\w*(?:\.\??\w+|\[[^\[\]]*\])*)$`)

// describeExpression describes the operand at the end of a part of an expression: its type, and its value
// in manifests that the policy matches. In a literal it describes the field, and in a patch its path.
func (s *State) describeExpression(l *lines, e expression) string {
	sc := s.scopeOf(l)
	open, chain := readBraces(e.before)
	b := open[len(open)-1]
	rest := strings.TrimPrefix(l.all[l.line], l.before)
	switch {
	case b.quote != "":
		return sc.describePointer(l, b)
	case chain == "":
		return ""
	case b.of != "" && b.field == "" && strings.TrimSpace(b.tail) == chain && IsIdentifier(chain):
		return sc.describeField(l, b.of, chain)
	}
	sc.declare(e.before + ",") // the cursor may be on the name that a macro declares
	names := namesOf(chain)
	for _, v := range sc.variables {
		if len(names) == 2 && isChain(chain) && names[0] == "variables" && v.name == names[1] {
			return "`" + chain + "`, a variable:\n\n```cel\n" + v.expression + "\n```" + s.examples(l, sc.resolve(chain))
		}
	}
	if strings.HasPrefix(rest, "(") {
		if text := sc.describeCall(chain); text != "" {
			return text
		}
	}
	return sc.describe(l, chain)
}

// describeField describes the field of a literal.
func (sc *scope) describeField(l *lines, of, name string) string {
	if of == "JSONPatch" {
		for _, item := range patchFields {
			if item.Name == name {
				return strings.TrimSpace(fmt.Sprintf("`%s.%s`: %s\n\n%s", of, name, item.Detail, item.Doc))
			}
		}
		return ""
	}
	return sc.describe(l, of+"."+name)
}

// describePointer describes the path of a JSON Patch up to the cursor.
func (sc *scope) describePointer(l *lines, b brace) string {
	if b.of != "JSONPatch" || b.field != "path" && b.field != "from" {
		return ""
	}
	n := named{kinds: sc.patched(), path: namesIn(strings.TrimPrefix(b.tail, "/"))}
	if of := sc.typeOf(n); of != "" {
		return strings.TrimSpace(fmt.Sprintf("`%s`: %s\n\n%s", b.tail, of, sc.docOf("", n))) + sc.state.examples(l, n)
	}
	return ""
}

// describeCall describes the function or macro whose name ends a part of an expression. Of a value whose type is
// known only the forms for this type are shown.
func (sc *scope) describeCall(text string) string {
	name, functions := text, sc.state.celFunctions(sc.group)
	if match := member().FindStringSubmatchIndex(text); match != nil {
		if !slices.ContainsFunc(functions, func(f engine.Function) bool { return f.Name == text }) { // as ip.isCanonical
			v, _ := sc.value(text[:match[0]])
			name, functions = text[match[2]:], v.Functions
		}
	}
	for _, f := range functions {
		if f.Name == name {
			return describeFunction("cel", f)
		}
	}
	for _, m := range append(memberMacros, hasMacro) {
		if m.Name == name {
			return describeFunction("cel", engine.Function{Signatures: []string{m.Detail}, Doc: m.Doc})
		}
	}
	return ""
}

func describeFunction(language string, f engine.Function) string {
	return "```" + language + "\n" + strings.Join(f.Signatures, "\n") + "\n```\n\n" + f.Doc
}

// describe describes what a chain of names leads to.
func (sc *scope) describe(l *lines, chain string) string {
	n := sc.resolve(chain)
	item, ok := sc.itemAt(chain)
	doc := cmp.Or(item.Doc, sc.docOf(chain, n))
	if doc != "" {
		doc = "\n\n" + doc
	}
	v, _ := sc.value(chain)
	if of := cmp.Or(v.Type, sc.typeOf(n), item.Detail); of != "" {
		return fmt.Sprintf("`%s`: %s", chain, of) + doc + sc.state.examples(l, n)
	}
	if !ok {
		return ""
	}
	return fmt.Sprintf("`%s`", chain) + doc
}

// itemAt returns the variable, or the entry of a table, that a chain of names leads to.
func (sc *scope) itemAt(chain string) (Item, bool) {
	if !isChain(chain) {
		return Item{}, false
	}
	names := namesOf(chain)
	table := sc.resolve(strings.Join(names[:len(names)-1], ".")).table
	if len(names) == 1 {
		table = sc.language.roots(sc)
	}
	i := slices.IndexFunc(table, func(item Item) bool { return item.Name == names[len(names)-1] })
	if i < 0 {
		return Item{}, false
	}
	return table[i], true
}

// examples shows a value in the first manifests that the policy at the cursor matches.
func (s *State) examples(l *lines, n named) string {
	policy := nameIn(l.all[l.begin:l.end])
	mutator := kindOf(l.all[l.begin:l.end]).Kind + "/" + policy // as Gatekeeper's are named
	var b strings.Builder
	shown := 0
	for _, v := range s.seen() {
		if shown == maxExamples {
			break
		}
		if !slices.Contains(n.kinds, v.kind) || !slices.Contains(v.by, policy) && !slices.Contains(v.by, mutator) {
			continue
		}
		shown++
		found := valuesAt(v.object, n.path)
		text := "not set"
		if len(found) == 1 {
			text = "`" + s.show(found[0]) + "`"
		} else if len(found) > 1 {
			text = "`" + s.show(found) + "`"
		}
		fmt.Fprintf(&b, "\n- %s: %s", source.Printable(v.id), text)
	}
	if shown == 0 {
		return ""
	}
	return "\n\nAs policies see it:\n" + b.String()
}

// valuesAt returns the values at a path, where a list has those of all its items.
func valuesAt(value any, path []string) []any {
	if len(path) == 0 {
		return []any{value}
	}
	switch v := value.(type) {
	case map[string]any:
		if field, ok := v[path[0]]; ok {
			return valuesAt(field, path[1:])
		}
	case []any:
		var all []any
		for _, item := range v {
			all = append(all, valuesAt(item, path)...)
		}
		return all
	}
	return nil
}

// name matches the name of a document in block style.
var name = lazyregexp.New(`(?m)^metadata:(?: *\{.*\bname: *["']?([^\s"',}]+)| *(?:#.*)?\n(?: +.*\n| *\n)*?  +name: *["']?([^\s"'#]+))`)

// nameIn returns the name of the document in lines.
func nameIn(lines []string) string {
	match := name().FindStringSubmatch(strings.Join(lines, "\n") + "\n")
	if match == nil {
		return ""
	}
	return match[1] + match[2]
}

// changesAt says what policies change on a line of a manifest, and what a cluster will hold there.
func (s *State) changesAt(l *lines, at source.Position) []string {
	var parts []string
	for _, e := range s.editsAt(l, at) {
		var by []string
		for _, c := range e.Causes {
			who := "policy `" + c.Policy + "`"
			switch {
			case c.Plugin != "":
				who = "admission plug-in `" + c.Plugin + "`"
			case c.Policy == "":
				who = string(c.Disposition)
			}
			if !slices.Contains(by, who) {
				by = append(by, who)
			}
		}
		becomes := "removed"
		if e.Op != change.Remove {
			becomes = "a cluster will hold `" + s.show(e.New) + "`"
		}
		parts = append(parts, fmt.Sprintf("`%s`: %s, because of %s", e.Path, becomes, strings.Join(by, ", ")))
	}
	return parts
}

// editsAt returns the edits of manifests on a line. What is added to a map is on the line of its key, too.
func (s *State) editsAt(l *lines, at source.Position) []*report.Edit {
	changes, _ := s.reports()
	if changes == nil {
		return nil
	}
	match := entry().FindStringSubmatch(strings.TrimRight(l.all[l.line], " \r"))
	isMap := match != nil && match[3] == ""
	var edits []*report.Edit
	for i := range changes.Manifests {
		for j := range changes.Manifests[i].Edits {
			if e := &changes.Manifests[i].Edits[j]; e.At.File == at.File && (e.At.Line == at.Line || isMap && e.Op == change.Add && e.At.Line == at.Line+1) {
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// Lens is what the policies do, above a policy.
type Lens struct {
	At    source.Position
	Title string
	// Policy is the name of the policy.
	Policy string
}

// Lenses returns what each policy of a file does to the manifests.
func (s *State) Lenses(file string) []Lens {
	_, matrix := s.reports()
	if matrix == nil {
		return nil
	}
	var lenses []Lens
	for i := range matrix.Policies {
		p := &matrix.Policies[i]
		if p.At.File != file {
			continue
		}
		title := fmt.Sprintf("matches %d, changes %d, denies %d", p.Matched(), p.Counts[engine.Changed], p.Counts[engine.Denied])
		if p.Nothing != "" {
			title += ": " + p.Nothing
		}
		lenses = append(lenses, Lens{p.At, title, p.Policy})
	}
	return lenses
}
