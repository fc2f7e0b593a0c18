package kyverno

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// variablePattern finds `{{ … }}` that is not escaped, the innermost first. It may contain one
// level of braces, for the hashes of JMESPath. referencePattern finds `$(…)`, up to the last ) before
// a blank: Kyverno takes two references without a blank between them for one.
var (
	variablePattern         = lazyregexp.New(`(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})`)
	referencePattern        = lazyregexp.New(`(^|[^\\])(\$\(.[^ ]*\))`)
	escapedReferencePattern = lazyregexp.New(`\\\$\(.[^ )]*\)`)
)

// maxRounds is the maximum number of times that the values of variables may contain variables.
const maxRounds = 64

// findVariables returns the matches of variablePattern.
func findVariables(text string) [][]int {
	const braces = 2
	if n := len(text); n >= 2*braces && text[:braces] == "{{" && text[n-braces:] == "}}" && !strings.ContainsAny(text[braces:n-braces], "{}") && !change.Reference {
		return [][]int{{0, n, 0, 0, 0, n}}
	}
	return variablePattern().FindAllStringSubmatchIndex(text, -1)
}

func hasVariables(text string) bool { return variablePattern().MatchString(text) }

// substitution describes the place of a value whose variables are replaced.
type substitution struct {
	// root is the value that Kyverno replaces variables in at a time: a rule, the patches of an
	// entry of foreach, or one operand of a condition. References and @ are relative to it.
	root any
	// path is the path of the value in the document; base is the path of root, a prefix of path.
	path, base change.Path
}

// alone is the substitution for a value that Kyverno takes by itself.
func alone(n policy.Node) substitution {
	return substitution{root: n.Value, path: n.Path, base: n.Path}
}

// substitution returns the substitution for the value at a path of the rule.
func (r *rule) substitution(path change.Path) substitution {
	return substitution{root: r.root.Value, path: path, base: r.root.Path}
}

// placeError is the error of a part of a rule.
type placeError struct {
	path change.Path
	err  error
	// substituting says that the value of a variable is missing, so that the text names the place, too.
	substituting bool
}

// Error implements error.
func (e *placeError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *placeError) Unwrap() error { return e.err }

// unreplaced reports the place of a variable that could not be replaced.
func unreplaced(path change.Path, err error) error { return &placeError{path, err, true} }

// unpatched reports which patch of a rule failed.
func unpatched(path change.Path, err error) error { return &placeError{path, err, false} }

// substitute returns a value with its references and variables replaced, including those in the
// keys of maps.
func (s *scope) substitute(value any, at substitution) (any, error) {
	room := limit.ObjectBytes
	path := s.evaluation.path
	s.evaluation.path = nil // what variables load may have variables
	at.path = append(slices.Grow(path[:0], len(at.path)+spare), at.path...)
	defer func() { s.evaluation.path = at.path }()
	return s.replace(value, at, &room)
}

// spare is how many levels of a value need no more memory for their paths.
const spare = 8

// HasSubstitutions reports whether a value may contain references or variables.
func HasSubstitutions(value any) bool {
	return anywhere(value, func(part any, _ bool) bool {
		text, _ := part.(string)
		return strings.Contains(text, "{{") || strings.Contains(text, "$(")
	})
}

// replace is substitute for a part of a value. A part without references and variables is returned as
// it is. room is the number of bytes that variables may still add. Paths of siblings share their
// memory, so an error has a copy.
func (s *scope) replace(value any, at substitution, room *int) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		if !change.Reference && !HasSubstitutions(value) {
			return value, nil
		}
		return s.replaceMap(value, at, room)
	case []any:
		if !change.Reference && !HasSubstitutions(value) {
			return value, nil
		}
		result := make([]any, len(value))
		for i, item := range value {
			below := at
			below.path = append(at.path, change.Index(i))
			var err error
			if result[i], err = s.replace(item, below, room); err != nil {
				return nil, err
			}
		}
		return result, nil
	case string:
		result, err := s.substituteText(value, at)
		if err == nil && strings.Contains(value, "{{") {
			size, _ := limit.Size(result, limit.ObjectBytes)
			if *room -= size; *room < 0 {
				err = limit.Exceeded(limit.Expression, "use smaller values, or each of them less often", "the values of variables in one value take more than %d MiB", limit.ObjectBytes>>20)
			}
		}
		if err != nil && !errors.As(err, new(*placeError)) {
			err = unreplaced(slices.Clone(at.path), err)
		}
		return result, err
	}
	return value, nil
}

// replaceMap replaces the keys of a map, too. Of values for the same key, that of a key with variables
// counts: see randomEqual.
func (s *scope) replaceMap(object map[string]any, at substitution, room *int) (any, error) {
	var few [8]string
	result, computed := make(map[string]any, len(object)), map[string]string(nil)
	for _, key := range appendSorted(few[:0], object) {
		below := at
		below.path = append(at.path, change.Key(key))
		newKey, err := s.substituteKey(key, at)
		if err != nil {
			return nil, unreplaced(slices.Clone(below.path), err)
		}
		value, err := s.replace(object[key], below, room)
		if err != nil {
			return nil, err
		}
		other, twice := computed[newKey]
		if twice && newKey == key {
			continue
		}
		if twice && !change.Equal(value, result[newKey]) {
			s.warnEqual(below.path, other)
		}
		if newKey != key {
			if computed == nil {
				computed = map[string]string{}
			}
			computed[newKey] = key
		}
		result[newKey] = value
	}
	return result, nil
}

// warnEqual warns that two keys become the same.
func (s *scope) warnEqual(path change.Path, other string) {
	s.evaluation.request.Warn(s.evaluation.rule.warning(s.evaluation.rule.policy.document.Key(path), path, source.CodeOrderDependent, randomEqual, "let this key and "+other+" be different"))
}

// sortedKeys returns the keys of a map in order.
func sortedKeys(object map[string]any) []string {
	return appendSorted(make([]string, 0, len(object)), object)
}

// appendSorted appends the keys of a map, in order, to an empty list.
func appendSorted(keys []string, object map[string]any) []string {
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (s *scope) substituteKey(key string, at substitution) (string, error) {
	if !strings.Contains(key, "{{") && !strings.Contains(key, "$(") {
		return key, nil
	}
	value, err := s.substituteText(key, at)
	s.evaluation.observer().Use(value)
	text, ok := value.(string)
	if err == nil && !ok {
		err = errors.New("a key must become a string")
	}
	return text, err
}

func (s *scope) substituteText(text string, at substitution) (any, error) {
	text, err := at.references(text)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	for round := 0; ; round++ {
		found := findVariables(text)
		if len(found) == 0 {
			break
		}
		if round == maxRounds {
			return nil, limit.Exceeded(limit.Expression, "a variable must not lead to itself", "the values of variables hold variables more than %d levels deep", maxRounds)
		}
		if m := found[0]; m[4] == 0 && m[5] == len(text) {
			value, _, err := s.valueOf(text[2:len(text)-2], at, round > 0)
			return value, err
		}
		var shallow bool
		if text, shallow, err = s.insertValues(text, found, at, round > 0); err != nil {
			return nil, err
		}
		if shallow {
			break
		}
	}
	return strings.ReplaceAll(text, `\{{`, "{{"), nil
}

// valueOf evaluates what is written between braces. A value is shallow if its own variables stay.
func (s *scope) valueOf(written string, at substitution, made bool) (value any, shallow bool, err error) {
	expression, shallow := strings.CutPrefix(strings.TrimSpace(written), "-")
	expression = strings.TrimSpace(expression)
	if value, err = s.query(s.expand(expression, at)); err != nil {
		return nil, false, explain(expression, err, made)
	}
	return value, shallow, nil
}

// insertValues replaces variables in a text by their values. shallow is that of the last one.
func (s *scope) insertValues(text string, found [][]int, at substitution, made bool) (_ string, shallow bool, err error) {
	text, err = replaceFound(text, found, func(variable string) (inserted string, err error) {
		written := variable[2 : len(variable)-2]
		var value any
		if value, shallow, err = s.valueOf(written, at, made); err != nil {
			return "", err
		}
		inserted = jmespath.Text(value)
		if _, isText := value.(string); shallow && isText {
			inserted = strings.ReplaceAll(inserted, "{{", `\{{`)
		} else if shallow && value != nil {
			return "", fmt.Errorf("{{%s}} in a text must be a text", written) // Kyverno crashes
		}
		return inserted, nil
	})
	return text, shallow, err
}

// replaceFound replaces what the second group of a pattern has found.
func replaceFound(text string, found [][]int, by func(part string) (string, error)) (string, error) {
	var out strings.Builder
	end := 0
	for _, m := range found {
		value, err := by(text[m[4]:m[5]])
		if err != nil {
			return "", err
		}
		out.WriteString(text[end:m[4]])
		out.WriteString(value)
		end = m[5]
		if out.Len() > limit.TextBytes {
			return "", limit.Exceeded(limit.Expression, "let the variables be shorter", "the text, with the values of its variables, is longer than %d MiB", limit.TextBytes>>20)
		}
	}
	out.WriteString(text[end:])
	return out.String(), nil
}

// longestQuoted is how many bytes of an expression an error repeats.
const longestQuoted = 200

// explain names the expression that failed. An expression that was computed from the values of
// variables is not repeated, because they may be secret.
func explain(expression string, err error, made bool) error {
	var missing jmespath.NotFoundError
	var syntax *jmespath.SyntaxError
	switch {
	case !made:
		if len(expression) > longestQuoted {
			expression = strings.ToValidUTF8(expression[:longestQuoted], "") + " …"
		}
		return fmt.Errorf("%s: %w", expression, err)
	case errors.As(err, &missing):
		return errors.New("an expression with variables in it names a key that is missing")
	case errors.As(err, &syntax):
		return errors.New("an expression with variables in it is not JMESPath")
	}
	return fmt.Errorf("an expression with variables in it fails: %w", err)
}

// expand replaces @ by the path of the value in the object, or in the target. Kyverno skips two
// keys, which are mutate and patchStrategicMerge in a rule, but only patchStrategicMerge and a key of
// the patch in an entry of foreach (see selfBelow).
func (s *scope) expand(expression string, at substitution) string {
	if expression != "@" {
		return expression
	}
	var b strings.Builder
	b.WriteString("request.object")
	if _, err := s.query("target"); err == nil {
		b.Reset()
		b.WriteString("target")
	}
	for _, e := range at.path[min(len(at.base)+2, len(at.path)):] {
		if e.IsIndex() {
			fmt.Fprintf(&b, "[%d]", e.Index)
		} else {
			_, key := ParseAnchor(e.Key)
			b.WriteString("." + strconv.Quote(key))
		}
	}
	return b.String()
}

// references replaces references to other texts.
func (at substitution) references(text string) (string, error) {
	if !strings.Contains(text, "$(") {
		return text, nil
	}
	text, err := replaceFound(text, referencePattern().FindAllStringSubmatchIndex(text, -1), func(part string) (string, error) {
		return at.resolve(strings.Trim(part, "$()"))
	})
	return escapedReferencePattern().ReplaceAllStringFunc(text, func(m string) string { return m[1:] }), err
}

// resolve returns the text that a reference names, which is relative to the value itself (./../name)
// or to the root (/mutate/…). For a map, this is a key.
func (at substitution) resolve(reference string) (string, error) {
	switch value := at.find(reference).(type) {
	case string:
		return value, nil
	case map[string]any:
		if keys := sortedKeys(value); len(keys) > 0 {
			return keys[len(keys)-1], nil // see randomReference
		}
	}
	return "", fmt.Errorf("$(%s) refers to no text in %s; write \\$(%s) for the text itself", reference, at.extent(), reference)
}

// find returns the value that a reference names, or nil.
func (at substitution) find(reference string) any {
	path, ok := at.pathOf(reference)
	value := at.root
	for i := 0; ok && i < len(path); i++ {
		value, ok = member(value, path[i])
	}
	if !ok {
		return nil
	}
	return value
}

// pathOf returns the keys and indexes from the root to what a reference names.
func (at substitution) pathOf(reference string) (path []string, ok bool) {
	rest, absolute := strings.CutPrefix(reference, "/")
	if !absolute {
		if !strings.HasPrefix(reference, ".") {
			return nil, false
		}
		for _, e := range at.path[min(len(at.base), len(at.path)):] {
			if e.IsIndex() {
				path = append(path, strconv.Itoa(e.Index))
			} else {
				path = append(path, e.Key)
			}
		}
	}
	for _, part := range strings.Split(rest, "/") {
		switch {
		case part == "" || part == ".":
		case part == ".." && len(path) > 0:
			path = path[:len(path)-1]
		default:
			path = append(path, part)
		}
	}
	return path, true
}

// extent says in what references are looked for.
func (at substitution) extent() string {
	switch _, isMap := at.root.(map[string]any); {
	case !isMap:
		return "this value"
	case len(at.base) > 0 && len(at.base) <= 3: // spec.rules[i]
		return "the rule"
	}
	return "the patches of this foreach"
}

// member selects from a list, or from a map, whose anchors are ignored in keys. Of keys that differ
// in their anchors only, it takes the last.
func member(value any, part string) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		keys := sortedKeys(value)
		for _, key := range slices.Backward(keys) {
			if _, bare := ParseAnchor(key); bare == part {
				return value[key], true
			}
		}
	case []any:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(value) {
			return value[i], true
		}
	}
	return nil, false
}

// expressions checks the expressions in the variables of a value. An expression that contains
// variables cannot be checked before they have values.
func (r *reader) expressions(n policy.Node) {
	for _, below := range n.Below() {
		r.expressions(policy.Node{Value: below.Key(), Path: below.Path})
		r.expressions(below)
	}
	text := n.Text()
	found := variablePattern().FindAllStringSubmatchIndex(text, -1)
	r.openVariable(n, found)
	for _, m := range found {
		inner := text[m[4]+2 : m[5]-2]
		trimmed := strings.TrimLeft(inner, " \t\n")
		offset := m[4] + 2 + len(inner) - len(trimmed)
		if rest, ok := strings.CutPrefix(trimmed, "-"); ok {
			offset, trimmed = offset+1, rest
		}
		if strings.TrimSpace(trimmed) != "@" {
			r.expression(n, trimmed, offset)
		}
	}
}

// openVariable warns about a variable without its last brace. Kyverno takes it for a text.
func (r *reader) openVariable(n policy.Node, variables [][]int) {
	text := []byte(n.Text())
	for _, m := range variables {
		clear(text[m[0]:m[1]])
	}
	start := bytes.Index(text, []byte("{{"))
	if start < 0 || start > 0 && text[start-1] == '\\' {
		return
	}
	for end := start + 2; end < len(text); end++ {
		inner := strings.TrimSpace(string(text[start+2 : end]))
		if text[end] != '}' || inner == "" {
			continue
		}
		if _, err := jmespath.Compile(inner); err == nil {
			w := source.Warningf(r.doc.Document.In(n.Path, start), "variable-open",
				"the variable that begins here lacks a }, so Kyverno takes it for a text")
			r.doc.Report(r.doc.Document.Mended(w, n.Path, source.Mend{
				Advice: "write }} at its end", Title: "Write }} at the end of the variable",
				Changes: []source.Change{{From: end, To: end, New: "}"}},
			}), n.Path)
			return
		}
	}
}

// compiledExpression is an expression at an offset of the string at a node.
type compiledExpression struct {
	node   policy.Node
	text   string
	offset int
}

// expression checks the syntax of the expression at an offset of the string at n.
func (r *reader) expression(n policy.Node, text string, offset int) {
	trimmed := strings.TrimLeft(text, " \t\n")
	e := compiledExpression{n, strings.TrimSpace(trimmed), offset + len(text) - len(trimmed)}
	_, err := jmespath.Compile(e.text)
	var syntax *jmespath.SyntaxError
	if !errors.As(err, &syntax) {
		r.compiled = append(r.compiled, e)
		return
	}
	r.doc.Report(source.Errorf(e.at(r.doc.Document, syntax.Offset), "expression-invalid", "%v", syntax), n.Path)
}

// at returns the position of a byte of an expression.
func (e compiledExpression) at(d *manifest.Document, offset int) source.Position {
	return d.In(e.node.Path, min(e.offset+offset, max(0, len(e.node.Text())-1)))
}

// checkCalls reports calls of functions that always fail. Kyverno 1.19.0 accepts such a policy, and
// a rule fails when it evaluates the call.
func (d *definition) checkCalls() []source.Diagnostic {
	r := newReader(d.document)
	for _, e := range d.expressions {
		n, err := jmespath.Parse(e.text)
		if err != nil {
			continue // it was compiled
		}
		for _, p := range jmespath.Kyverno().Check(n) {
			w := source.Warningf(e.at(d.document, p.Offset), source.CodeCallFails, "%s, so the rule fails", p.Text)
			r.doc.Report(d.document.Mended(w, e.node.Path, p.Advice.In(e.node.Text(), e.offset+p.Offset)), e.node.Path)
		}
	}
	return r.doc.Problems
}
