package editor

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Extract makes a variable of a policy out of the selected part of an expression in CEL: in its place alone,
// or wherever the policy has the same text. A variable is computed when it is first read, so it has the value
// and the errors of the part. Nothing is returned if the selection is in no expression.
func Extract(path, text string, from, to int) []Refactoring {
	selected := strings.TrimSpace(text[from:to])
	if selected == "" {
		return nil
	}
	from += strings.Index(text[from:to], selected)
	e := findExpression(path, text, from, from+len(selected))
	if e == nil {
		return nil
	}
	single := Refactoring{Title: "Extract into a variable", Kind: "refactor.extract"}
	if err := e.choose(from-e.part.From, from+len(selected)-e.part.From); err != nil {
		single.Refused = err.Error()
		return []Refactoring{single}
	}
	var err error
	if single.Rewrite, err = e.rewrite([]use{e.selected}); err != nil {
		single.Refused = err.Error()
		return []Refactoring{single}
	}
	all := []Refactoring{single}
	if uses := e.uses(); len(uses) > 1 {
		if rewrite, err := e.rewrite(uses); err == nil {
			all = append(all, Refactoring{Title: fmt.Sprintf("Extract %d occurrences into a variable", len(uses)), Kind: "refactor.extract", Rewrite: rewrite})
		}
	}
	return all
}

// extraction makes a variable out of a part of an expression.
type extraction struct {
	path string
	part Part
	// places finds offsets in the part.
	places *places
	// document is a document of the part, number says which one, and object is its value.
	document *manifest.Document
	number   int
	object   map[string]any
	// at is the path of the expression.
	at       change.Path
	selected use
	operand  *engine.Operand
	name     string
}

// use is a place where an expression is used: its range in the value at a path, and in the text of the part.
type use struct {
	at                 change.Path
	from, to           int
	textFrom, textTill int
}

// kindsWithVariables are the kinds of policies with spec.variables.
var kindsWithVariables = []string{"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy", "MutatingPolicy", "NamespacedMutatingPolicy"}

// findExpression finds the expression of a policy that contains a range of a text; nil if there is none.
func findExpression(path, text string, from, to int) *extraction {
	for _, part := range Parts(text) {
		if from < part.From || to > part.To {
			continue
		}
		stream, _ := manifest.Read(path, []byte(part.Text)) // its problems are among the findings
		for number, d := range stream.Documents() {
			if !engine.IsPolicy(d.Kind()) || !slices.Contains(kindsWithVariables, d.Kind().Kind) {
				continue
			}
			e := &extraction{path: path, part: part, places: newPlaces(part.Text), document: d, number: number, object: d.Object()}
			for _, at := range e.expressions() {
				if e.at = at; e.offset(at, 0) <= from-part.From && to-part.From <= e.offset(at, len(e.text(at))) {
					return e
				}
			}
		}
	}
	return nil
}

// expressions returns the paths of the expressions of the policy that may use variables, and of its conditions.
func (e *extraction) expressions() (paths []change.Path) {
	spec, _ := e.object["spec"].(map[string]any)
	for _, section := range []string{"auditAnnotations", "matchConditions", "mutations", "validations", "variables"} {
		items, _ := spec[section].([]any)
		for i, item := range items {
			for _, field := range []change.Path{
				change.Keys("expression"), change.Keys("messageExpression"), change.Keys("valueExpression"),
				change.Keys("applyConfiguration", "expression"), change.Keys("jsonPatch", "expression"),
			} {
				if value, ok := field.Get(item); ok {
					if _, isText := value.(string); isText {
						paths = append(paths, append(change.Keys("spec", section).Index(i), field...))
					}
				}
			}
		}
	}
	return paths
}

// text returns the text at a path.
func (e *extraction) text(at change.Path) string {
	value, _ := at.Get(e.object)
	text, _ := value.(string)
	return text
}

// offset returns the offset in the part of the character of the text at a path that has a byte.
func (e *extraction) offset(at change.Path, in int) int {
	for text := e.text(at); in < len(text) && !utf8.RuneStart(text[in]); {
		in--
	}
	return e.places.offset(e.document.In(at, in))
}

var (
	errSelection   = errors.New("the selection is not a complete part of the expression")
	errVariable    = errors.New("the selection is a variable already")
	errConditions  = errors.New("matchConditions cannot use variables")
	errCarriedOver = errors.New("Kyverno carries the policy over to pod controllers, but not its variables; set autogen.podControllers.controllers to [] first")
	errForm        = errors.New("the policy is written in a form that the editor does not change")
)

// choose decides which part of the expression becomes a variable, and finds a name for it.
func (e *extraction) choose(from, to int) error {
	text := e.text(e.at)
	find := func(offset int) int {
		return sort.Search(len(text), func(in int) bool { return e.offset(e.at, in) >= offset })
	}
	a, b := find(from), find(to)
	if e.selected = (use{e.at, a, b, from, to}); a >= b || e.offset(e.at, a) != from {
		return errSelection
	}
	if !e.isNative() && e.isCarriedOver() {
		return errCarriedOver
	}
	if e.isNative() && e.at[1].Key == "matchConditions" {
		return errConditions
	}
	var err error
	if e.operand, err = engine.NewOperand(text[a:b]); err != nil {
		return errSelection
	}
	if name, ok := strings.CutPrefix(text[a:b], "variables."); ok && IsIdentifier(name) {
		return errVariable
	}
	e.name = e.uniqueName()
	return e.operand.Extracted(text, text[:a]+"variables."+e.name+text[b:], e.name)
}

// isNative reports whether a server evaluates the policy itself: it computes variables anew for each
// expression. Kyverno computes each once.
func (e *extraction) isNative() bool {
	return e.document.Kind().Group == "admissionregistration.k8s.io"
}

// isCarriedOver reports whether Kyverno also makes a policy for pod controllers. In 1.19.0 it then rewrites
// what expressions read, but not in variables.
func (e *extraction) isCarriedOver() bool {
	controllers, given := change.Keys("spec", "autogen", "podControllers", "controllers").Get(e.object)
	if items, ok := controllers.([]any); given && ok && len(items) == 0 {
		return false
	}
	rules, _ := change.Keys("spec", "matchConstraints", "resourceRules").Get(e.object)
	items, _ := rules.([]any)
	for i := range items {
		resources, _ := change.Keys("resources").Get(items[i])
		if slices.Contains(textsOf(resources), "pods") {
			return true
		}
	}
	return false
}

// variablesPath is the path of the variables of a policy.
var variablesPath = change.Keys("spec", "variables")

// variables returns the names of the variables of the policy.
func (e *extraction) variables() (names []string) {
	list, _ := variablesPath.Get(e.object)
	items, _ := list.([]any)
	for _, item := range items {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		names = append(names, name)
	}
	return names
}

// uniqueName returns a name that the policy does not have yet.
func (e *extraction) uniqueName() string {
	proposed, taken := e.operand.Name(), e.variables()
	name := proposed
	for n := 2; slices.Contains(taken, name); n++ {
		name = proposed + strconv.Itoa(n)
	}
	return name
}

// uses returns all places of the part. For Kyverno, only those in the same expression are the same: a variable
// keeps the value that it has in the first one.
func (e *extraction) uses() (all []use) {
	for _, at := range e.expressions() {
		if e.isNative() && at[1].Key == "matchConditions" || !e.isNative() && at.String() != e.at.String() {
			continue
		}
		text := e.text(at)
		for from := 0; ; {
			n := strings.Index(text[from:], e.operand.Text())
			if n < 0 {
				break
			}
			from += n
			to := from + len(e.operand.Text())
			if e.operand.Extracted(text, text[:from]+"variables."+e.name+text[to:], e.name) != nil {
				from++
				continue
			}
			start := e.offset(at, from)
			end := start + len(strings.TrimRight(e.part.Text[start:e.offset(at, to)], " \t\r\n"))
			all = append(all, use{at, from, to, start, end})
			from = to
		}
	}
	slices.SortFunc(all, func(a, b use) int { return a.textFrom - b.textFrom })
	return all
}

// rewrite declares the variable before the first of its uses, and uses it. A list of variables is written
// before the section in which the variable is used first, or else where an edit puts new keys.
func (e *extraction) rewrite(uses []use) (*Rewrite, error) {
	edits := []Edit{}
	for _, u := range uses {
		edits = append(edits, Edit{e.path, u.textFrom, u.textTill, "variables." + e.name})
	}
	used := Apply(e.part.Text, e.path, edits)
	first := e.first(uses)
	err := errForm
	for _, declare := range []func(text, section string, first int) string{e.declareBefore, e.declareIn} {
		declared := declare(used, uses[0].at[1].Key, first)
		stream, _ := manifest.Read(e.path, []byte(declared)) // what is wrong with it is found below
		if err = e.verify(stream.Documents(), uses, first); err == nil {
			at := e.part.From + newPlaces(declared).offset(stream.Documents()[e.number].At(variablesPath.Index(first).Key("name")))
			return &Rewrite{Edits: e.merged(edits, used, declared), Cursor: Place{e.path, at, at + len(e.name)}}, nil
		}
	}
	return nil, err
}

// first returns the number of the variable before those that use it, or the one after all variables.
func (e *extraction) first(uses []use) int {
	first := len(e.variables())
	for _, u := range uses {
		if u.at[1].Key == "variables" {
			first = min(first, u.at[2].Index)
		}
	}
	return first
}

// declareBefore adds the first variable to the text of the part, before a section in block style. It returns ""
// if that is not possible.
func (e *extraction) declareBefore(text, section string, _ int) string {
	stream, _ := manifest.Read(e.path, []byte(text)) // what is wrong with it is found later
	if len(stream.Documents()) <= e.number || len(e.variables()) > 0 {
		return ""
	}
	at := newPlaces(text).offset(stream.Documents()[e.number].Key(change.Keys("spec", section)))
	return insertBlock(text, at, map[string]any{"variables": []any{e.variable()}})
}

// declareIn adds the variable to the policy in the text of the part. It returns "" if that is not possible.
func (e *extraction) declareIn(text, _ string, first int) string {
	stream, _ := manifest.Read(e.path, []byte(text)) // what is wrong with it is found later
	if len(stream.Documents()) <= e.number {
		return ""
	}
	object := stream.Documents()[e.number].Object()
	spec, _ := object["spec"].(map[string]any)
	list, _ := spec["variables"].([]any)
	if spec == nil || len(list) < first {
		return ""
	}
	spec["variables"] = slices.Insert(list, first, e.variable())
	if stream.Documents()[e.number].Set(object, nil) != nil {
		return ""
	}
	return string(stream.Bytes())
}

// variable returns the new variable.
func (e *extraction) variable() any {
	return map[string]any{"name": e.name, "expression": e.dedented()}
}

// dedented returns the text of the part without the indentation of its lines after the first one, unless that
// changes it.
func (e *extraction) dedented() string {
	text := e.operand.Text()
	lines := strings.Split(text, "\n")
	least := -1
	for _, line := range lines[1:] {
		if indent := indentOf(line); strings.TrimSpace(line) != "" && (least < 0 || indent < least) {
			least = indent
		}
	}
	for i := range lines[1:] {
		lines[i+1] = lines[i+1][min(max(least, 0), len(lines[i+1])):]
	}
	if dedented := strings.Join(lines, "\n"); e.operand.Is(dedented) {
		return dedented
	}
	return text
}

// insertBlock writes a map before the line of a key in block style, and before the comments above it. It
// returns "" if the key does not begin its line.
func insertBlock(text string, at int, object map[string]any) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	indent := text[start:at]
	if strings.Trim(indent, " ") != "" {
		return ""
	}
	item := strings.TrimLeft(text[at+strings.IndexByte(text[at:]+"\n", '\n'):], "\r\n")
	deeper := strings.Repeat(" ", max(0, indentOf(item)-len(indent)))
	if !strings.HasPrefix(strings.TrimSpace(item), "-") {
		deeper = ""
	}
	for start > 0 {
		above := strings.LastIndexByte(text[:start-1], '\n') + 1
		if !strings.HasPrefix(text[above:start], indent+"#") {
			break
		}
		start = above
	}
	lineBreak := "\n"
	if strings.Contains(text, "\r\n") {
		lineBreak = "\r\n"
	}
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(string(manifest.YAML(object)), "\n"), "\n") {
		if b.Len() > 0 {
			line = deeper + line
		}
		b.WriteString(strings.TrimRight(indent+line, " ") + lineBreak)
	}
	return text[:start] + b.String() + text[start:]
}

// verify reports an error unless documents are those of the part, with the variable and its uses.
func (e *extraction) verify(documents []*manifest.Document, uses []use, first int) error {
	if len(documents) <= e.number {
		return errForm
	}
	object := documents[e.number].Object()
	spec, _ := object["spec"].(map[string]any)
	list, _ := spec["variables"].([]any)
	if len(list) != len(e.variables())+1 {
		return errForm
	}
	variable, _ := list[first].(map[string]any)
	if text, _ := variable["expression"].(string); variable["name"] != e.name || !e.operand.Is(text) {
		return errForm
	}
	if spec["variables"] = slices.Delete(slices.Clone(list), first, first+1); len(list) == 1 {
		delete(spec, "variables")
	}
	for _, u := range uses {
		holder, _ := u.at[:len(u.at)-1].Get(object)
		fields, _ := holder.(map[string]any)
		after, _ := fields[u.at[len(u.at)-1].Key].(string)
		if before := e.text(u.at); after != before {
			if err := e.operand.Extracted(before, after, e.name); err != nil {
				return err
			}
			fields[u.at[len(u.at)-1].Key] = before
		}
	}
	if !change.Equal(object, e.object) {
		return errForm
	}
	return nil
}

// merged returns the edits of the uses together with the one that declares the variable, by their places in
// the file. used is the text of the part after the edits, and declared the one with the variable.
func (e *extraction) merged(edits []Edit, used, declared string) []Edit {
	declaration := Replacing(e.path, 0, used, declared)
	by := 0 // how much longer the text was before the edits
	for _, edit := range edits {
		switch from := edit.From - by; {
		case from >= declaration.To:
		case from+len(edit.Text) > declaration.From: // they overlap
			return []Edit{Replacing(e.path, e.part.From, e.part.Text, declared)}
		default:
			by += edit.To - edit.From - len(edit.Text)
		}
	}
	declaration.From, declaration.To = declaration.From+by, declaration.To+by
	all := append([]Edit{declaration}, edits...)
	for i := range all {
		all[i].From, all[i].To = all[i].From+e.part.From, all[i].To+e.part.From
	}
	slices.SortFunc(all, func(a, b Edit) int { return a.From - b.From })
	return all
}
