package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/lazyregexp"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// noForm is an error: a part of a rule has no equivalent.
type noForm struct{ why, advice string }

// Error implements error.
func (e *noForm) Error() string { return e.why }

func noFormf(advice, format string, args ...any) error {
	return &noForm{fmt.Sprintf(format, args...), advice}
}

// scope resolves the names in the expressions of a part of a rule.
type scope struct {
	rule *converter
	vars map[string]code
	// current is the value that an expression is evaluated on; nil for the variables of the
	// rule.
	current *code
	// self is the meaning of @ in a patch; nil elsewhere.
	self *code
}

func (s *scope) with(name string, c code) *scope {
	child := &scope{rule: s.rule, vars: map[string]code{name: c}, current: s.current, self: s.self}
	for other, c := range s.vars {
		if other != name {
			child.vars[other] = c
		}
	}
	return child
}

func (s *scope) at(c code) *scope { return &scope{rule: s.rule, vars: s.vars, current: &c} }

var (
	innermost    = lazyregexp.New(`\{\{(?:\{[^{}]*\}|[^{}])*\}\}`)
	quotedInside = lazyregexp.New(`(["'])\{\{((?:\{[^{}]*\}|[^{}])*)\}\}(["'])`)
)

// value converts a value whose strings may contain variables. Strings with variables become
// code.
func (s *scope) value(value any) (any, error) {
	switch value := value.(type) {
	case string:
		c, err := s.text(value)
		if err == nil && c.isConstant {
			return c.constant, nil
		}
		return c, err
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			var err error
			if items[i], err = s.value(item); err != nil {
				return nil, err
			}
		}
		return items, nil
	case map[string]any:
		var pairs keyed
		for _, key := range sortedKeys(value) {
			name, err := s.text(key)
			if err != nil {
				return nil, err
			}
			below, err := s.value(value[key])
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, pair{name, below})
		}
		return pairs, nil
	}
	return value, nil
}

// text converts a string with variables. A variable that is the whole string keeps its type.
func (s *scope) text(written string) (code, error) {
	if strings.Contains(written, "$(") {
		return code{}, noFormf("write the value in place of the reference", "CEL has no references to other fields of the policy: %s", written)
	}
	if !strings.Contains(written, "{{") {
		return literal(written), nil
	}
	names := map[string]code{}
	for inner := quotedInside().FindStringSubmatch(written); inner != nil && inner[1] == inner[3]; inner = quotedInside().FindStringSubmatch(written) {
		if strings.Count(written, "{{") == 1 {
			break // in a string literal, not in an expression
		}
		c, err := s.expression(inner[2])
		if err != nil {
			return code{}, err
		}
		name := "quoted" + strconv.Itoa(len(names)) + "_"
		names[name] = c
		written = strings.Replace(written, inner[0], name, 1)
	}
	for name, c := range names {
		s = s.with(name, c)
	}
	found := innermost().FindAllStringIndex(written, -1)
	if len(found) == 1 && found[0][0] == 0 && found[0][1] == len(written) {
		return s.expression(written[2 : len(written)-2])
	}
	var parts []string
	end := 0
	for _, at := range found {
		if end < at[0] {
			parts = append(parts, quote(written[end:at[0]]))
		}
		c, err := s.expression(written[at[0]+2 : at[1]-2])
		if err != nil {
			return code{}, err
		}
		parts = append(parts, c.asText().in(sum))
		end = at[1]
	}
	if end < len(written) {
		parts = append(parts, quote(written[end:]))
	}
	if rest := innermost().ReplaceAllString(written, ""); strings.Contains(rest, "{{") {
		return code{}, noFormf("write the expression without variables within", "an expression that contains variables: %s", written)
	}
	return code{text: strings.Join(parts, " + "), level: sum, kind: text}, nil
}

// expression converts a JMESPath expression.
func (s *scope) expression(written string) (code, error) {
	written = strings.TrimPrefix(strings.TrimSpace(written), "-")
	if strings.Contains(written, "{{") {
		return code{}, noFormf("write the expression without variables within", "an expression that contains variables: %s", written)
	}
	node, err := jmespath.Parse(strings.TrimSpace(written))
	if err != nil {
		return code{}, err
	}
	c, err := s.node(node)
	if err == nil && c.text == "" {
		err = noFormf("name the fields that matter", "%s as a whole", strings.TrimSpace(written))
	}
	return c, err
}

// node converts a part of an expression.
func (s *scope) node(n jmespath.Node) (code, error) {
	switch n.Op {
	case jmespath.OpField:
		return s.name(n.Name)
	case jmespath.OpCurrent:
		switch {
		case s.current != nil:
			return *s.current, nil
		case s.self != nil:
			return *s.self, nil
		}
		return code{}, noFormf("", "@ outside of a selection or a patch")
	case jmespath.OpLiteral:
		return literal(integral(n.Value)), nil
	case jmespath.OpSelect, jmespath.OpPipe:
		return s.selected(n)
	case jmespath.OpIndex:
		index, _ := n.Value.(int)
		if s.current == nil {
			return code{}, noFormf("", "an index without a list")
		}
		return s.current.item(index), nil
	case jmespath.OpOr:
		return s.either(n)
	case jmespath.OpAnd, jmespath.OpNot, jmespath.OpCompare:
		return s.logic(n)
	case jmespath.OpCall:
		return s.call(n)
	case jmespath.OpProjection, jmespath.OpFilter, jmespath.OpFlatten, jmespath.OpValues:
		return s.projection(n)
	case jmespath.OpList:
		return s.listOf(n)
	}
	return code{}, noFormf("write it in CEL by hand", "an operation of JMESPath without an equivalent in CEL")
}

// integral converts the numbers of a literal to the numbers of a manifest.
func integral(value any) any {
	if f, ok := value.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return value
}

// The names of values that have no CEL expression of their own.
const (
	requestRoot = "request"
	imagesRoot  = "images"
)

// name returns the value of a name.
func (s *scope) name(name string) (code, error) {
	if s.current != nil && (s.current.text != "" || s.current.path != nil) {
		return s.current.field(name), nil
	}
	if name == "" { // "" is a quoted identifier in JMESPath, although users mean the empty string
		return literal(""), nil
	}
	if c, ok := s.vars[name]; ok {
		return c, nil
	}
	switch name {
	case requestRoot, imagesRoot:
		return code{path: &path{root: name}}, nil
	case "serviceAccountName":
		return code{text: "parseServiceAccount(request.userInfo.username).Name", kind: text}, nil
	case "serviceAccountNamespace":
		return code{text: "parseServiceAccount(request.userInfo.username).Namespace", kind: text}, nil
	}
	return s.rule.entry(s, name)
}

// selected returns what the second operand selects from the first.
func (s *scope) selected(n jmespath.Node) (code, error) {
	left, err := s.node(n.Children[0])
	if err != nil {
		return code{}, err
	}
	right := n.Children[1]
	if left.path != nil && left.text == "" {
		return s.ofRoot(left, right)
	}
	return s.at(left).node(right)
}

// ofRoot returns a field of the request, or of the variable images.
func (s *scope) ofRoot(left code, right jmespath.Node) (code, error) {
	if right.Op != jmespath.OpField {
		if left.path.root == imagesRoot && right.Op == jmespath.OpValues {
			return code{}, noFormf("", "all images of an object")
		}
		return code{}, noFormf("name the fields that matter", "%s as a whole", left.path.root)
	}
	if left.path.root == imagesRoot {
		return s.image(left, right.Name)
	}
	switch right.Name {
	case "object":
		return s.rule.object(), nil
	case "oldObject":
		return ofPath(&path{root: "oldObject"}, s.rule.types), nil
	case "operation", "dryRun":
		return code{text: "request." + right.Name, kind: map[bool]kind{true: boolean, false: text}[right.Name == "dryRun"]}, nil
	case "namespace", "name":
		return withKind(ofPath(&path{root: requestRoot, parts: []part{{key: right.Name}}}, nil), text), nil
	case "userInfo", "kind", "resource", "requestKind", "requestResource":
		return ofPath(&path{root: requestRoot, parts: []part{{key: right.Name}}, sure: 1}, nil), nil
	}
	return code{}, noFormf("Kyverno looks up roles in the bindings of the cluster; name users or groups in their place", "request.%s", right.Name)
}

func withKind(c code, k kind) code {
	c.kind = k
	return c
}

// image returns a part of the variable images: left is images, images.containers, or
// images.containers.NAME.
func (s *scope) image(left code, name string) (code, error) {
	parts := append(slices.Clone(left.path.parts), part{key: name})
	if c, ok := s.vars[name]; ok {
		parts[len(parts)-1].computed = c.asText().text
	}
	if len(parts) < 3 {
		return code{path: &path{root: imagesRoot, parts: parts}}, nil
	}
	pod, err := s.rule.pod()
	if err != nil {
		return code{}, err
	}
	containers := pod.field(parts[0].key)
	image := code{}
	if element, ok := s.vars["element"]; ok && parts[1].computed == element.text+".name" {
		image = element.field("image")
	} else {
		image = code{text: fmt.Sprintf("%s.filter(c, c.name == %s)[0].image", containers.orEmptyList().in(primary), parts[1].text())}
	}
	return imagePart(image.text, name)
}

// imagePart returns a part of an image reference, as Kyverno parses it.
func imagePart(image, name string) (code, error) {
	switch name {
	case "registry":
		return code{text: fmt.Sprintf(`(%s.matches(r'^(localhost|[^/]*[.:][^/]*)/') ? regex.replace(%s, r'/.*$', "") : "docker.io")`, image, image), kind: text}, nil
	case "tag":
		return code{text: fmt.Sprintf(`(%s.matches(r'^[^@]*:[^:/@]+(@|$)') ? regex.replace(%s, r'^[^@]*:([^:/@]+)(@.*)?$', r'\1') : %s.contains("@") ? "" : "latest")`, image, image, image), kind: text}, nil
	case "digest":
		return code{text: fmt.Sprintf(`regex.replace(%s, r'^[^@]*@?', "")`, image), kind: text}, nil
	case "path":
		return code{text: fmt.Sprintf(`regex.replace(%s, r'^((localhost|[^/]*[.:][^/]*)/)?([^:@]*).*$', r'\3')`, image), kind: text}, nil
	case "name":
		return code{text: fmt.Sprintf(`regex.replace(%s, r'^(.*/)?([^:@/]*).*$', r'\2')`, image), kind: text}, nil
	}
	return code{}, noFormf("", "the part %s of an image", name)
}

// either converts `a || b`.
func (s *scope) either(n jmespath.Node) (code, error) {
	if first := n.Children[0]; first.Op == jmespath.OpAnd {
		condition, err := s.truth(first.Children[0])
		if err != nil {
			return code{}, err
		}
		yes, err := s.node(first.Children[1])
		if err != nil {
			return code{}, err
		}
		no, err := s.node(n.Children[1])
		if err != nil {
			return code{}, err
		}
		return operation(choice, yes.kind, "%s ? %s : %s", bracket(condition, " ? "), yes.in(disjunction), no.in(choice)), nil
	}
	left, err := s.node(n.Children[0])
	if err != nil {
		return code{}, err
	}
	right, err := s.node(n.Children[1])
	switch {
	case err != nil:
		return code{}, err
	case left.text == "request.operation": // every request has an operation
		return left, nil
	case left.kind == boolean && right.kind == boolean && left.maybe == "":
		return operation(disjunction, boolean, "%s || %s", left.in(disjunction), right.in(disjunction)), nil
	case isEmptyConstant(right) && (left.kind == list || left.orEmpty != nil):
		return left.orEmptyList(), nil
	case right.isConstant:
		return left.orConstant(right), nil
	case left.maybe == "":
		return left, nil
	case right.maybe != "":
		both := left.maybe + ".or(" + right.maybe + ")"
		return code{text: both + ".value()", maybe: both, kind: left.kind, types: left.types, isNull: true}, nil
	}
	return left.orValue(right), nil
}

// orConstant returns the value, or a constant if the value is missing or empty.
func (c code) orConstant(other code) code {
	if c.kind != text || other.constant == "" {
		return c.orValue(other)
	}
	empty := literal("")
	return operation(choice, text, "%s != \"\" ? %s : %s", c.orValue(empty).text, c.text, other.text)
}

func isEmptyConstant(c code) bool {
	items, isList := c.constant.([]any)
	return c.isConstant && (c.constant == "" || isList && len(items) == 0)
}

// truth converts an expression to a condition: missing and empty values are false.
func (s *scope) truth(n jmespath.Node) (string, error) {
	c, err := s.node(n)
	if err != nil {
		return "", err
	}
	return c.truth(), nil
}

func (c code) truth() string {
	switch {
	case c.isConstant:
		return strconv.FormatBool(c.constant != nil && c.constant != "" && c.constant != false)
	case c.kind == boolean && c.maybe == "":
		return c.in(disjunction)
	case c.kind == boolean:
		return c.orValue(literal(false)).text
	case c.kind == text:
		return c.orValue(literal("")).in(sum) + " != \"\""
	case c.kind == list:
		return "size(" + c.orEmptyList().text + ") > 0"
	case c.path != nil && c.path.present() != "":
		return c.path.present()
	case c.maybe != "":
		return c.maybe + ".hasValue()"
	}
	return "true"
}

// logic converts `&&`, `!` and comparisons.
func (s *scope) logic(n jmespath.Node) (code, error) {
	if n.Op == jmespath.OpCompare {
		left, err := s.node(n.Children[0])
		if err != nil {
			return code{}, err
		}
		right, err := s.node(n.Children[1])
		if err != nil {
			return code{}, err
		}
		return operation(relation, boolean, "%s %s %s", left.in(sum), n.Name, right.in(sum)), nil
	}
	var all []string
	for _, child := range n.Children {
		condition, err := s.truth(child)
		if err != nil {
			return code{}, err
		}
		all = append(all, condition)
	}
	if n.Op == jmespath.OpNot {
		return code{text: not(all[0]), level: unary, kind: boolean}, nil
	}
	return code{text: and(all...), level: conjunction, kind: boolean}, nil
}

// projection converts a selection from all items of a list.
func (s *scope) projection(n jmespath.Node) (code, error) {
	if of := n.Children[0]; n.Op == jmespath.OpValues {
		left, err := s.node(of)
		if err != nil {
			return code{}, err
		}
		if left.path != nil && left.path.root == imagesRoot && len(left.path.parts) == 1 && n.Children[1].Op == jmespath.OpField {
			pod, err := s.rule.pod()
			if err != nil {
				return code{}, err
			}
			containers := pod.field(left.path.parts[0].key)
			each, err := imagePart("c.image", n.Children[1].Name)
			return mapped(containers, "c", "", each), err
		}
		return code{}, noFormf("", "the values of a map, in the order of their keys")
	}
	left, err := s.node(n.Children[0])
	if err != nil || n.Op == jmespath.OpFlatten {
		return left, err // supported lists of lists are flat already
	}
	if left.kind == text {
		return code{}, noFormf("JMESPath selects nothing there; write a pipe before it: […] | [?…]", "a selection from a text")
	}
	name := elementName(left, s)
	element := ofPath(&path{root: name}, itemTypes(left.types))
	inner := s.at(element)
	condition := ""
	if n.Op == jmespath.OpFilter {
		if condition, err = inner.truth(n.Children[2]); err != nil {
			return code{}, err
		}
	}
	each, err := inner.node(n.Children[1])
	if err != nil {
		return code{}, err
	}
	return mapped(left, name, condition, each), nil
}

// mapped returns a list with an expression for each item of another list. Missing values are
// left out.
func mapped(of code, name, condition string, each code) code {
	if each.path != nil && each.path.present() != "" {
		condition = and(condition, each.path.present())
	}
	make := func(of code) code {
		written := of.in(primary)
		switch {
		case each.text == name && (condition == "" || condition == "true"):
			return code{text: of.text, level: of.level, kind: list, types: of.types}
		case each.text == name:
			written += fmt.Sprintf(".filter(%s, %s)", name, condition)
		case condition == "" || condition == "true":
			written += fmt.Sprintf(".map(%s, %s)", name, each.text)
		default:
			written += fmt.Sprintf(".map(%s, %s, %s)", name, condition, each.text)
		}
		result := code{text: written, kind: list}
		if each.text == name {
			result.types = of.types
		}
		return result
	}
	result := make(of)
	if of.maybe != "" || of.orEmpty != nil {
		result.orEmpty = func() code { return make(of.orEmptyList()) }
	}
	return result
}

// listOf converts `[a, b]`. Lists of lists are flat, because all their uses flatten them.
func (s *scope) listOf(n jmespath.Node) (code, error) {
	var lists, items []string
	var types []*schema.Type
	for _, child := range n.Children {
		c, err := s.node(child)
		if err != nil {
			return code{}, err
		}
		if c.kind == list {
			lists = append(lists, c.orEmptyList().in(sum))
			types = c.types
			continue
		}
		items = append(items, c.text)
	}
	switch {
	case len(lists) > 0 && len(items) > 0:
		return code{}, noFormf("", "a list of lists and of other values")
	case len(lists) > 0:
		return code{text: strings.Join(lists, " + "), level: sum, kind: list, types: types}, nil
	}
	return code{text: "[" + strings.Join(items, ", ") + "]", kind: list}, nil
}

// elementName returns an unused name for the items of a list.
func elementName(of code, s *scope) string {
	name := "x"
	if of.path != nil && len(of.path.parts) > 0 {
		if last := of.path.parts[len(of.path.parts)-1]; last.computed == "" && last.key != "" && isIdentifier(last.key) {
			name = strings.ToLower(last.key[:1])
		}
	} else if strings.Contains(of.text, "ontainers") {
		name = "c"
	}
	for taken := func() bool {
		for _, c := range s.vars {
			if c.path != nil && c.path.root == name {
				return true
			}
		}
		return s.current != nil && s.current.path != nil && s.current.path.root == name
	}; taken(); {
		name += "x"
	}
	return name
}

// calls are the functions of JMESPath that have an equivalent in CEL; $1, $2 … are the
// arguments.
var calls = map[string]struct {
	cel   string
	kind  kind
	texts bool // the arguments are strings
}{
	"starts_with":   {"$1.startsWith($2)", boolean, true},
	"ends_with":     {"$1.endsWith($2)", boolean, true},
	"join":          {"$2.join($1)", text, false},
	"split":         {"$1.split($2)", list, true},
	"replace_all":   {"$1.replace($2, $3)", text, true},
	"replace":       {"$1.replace($2, $3, $4)", text, false},
	"regex_match":   {"$2.matches($1)", boolean, true},
	"to_upper":      {"$1.upperAscii()", text, true},
	"to_lower":      {"$1.lowerAscii()", text, true},
	"base64_encode": {"base64.encode(bytes($1))", text, true},
	"base64_decode": {"string(base64.decode($1))", text, true},
	"parse_json":    {"json.unmarshal($1)", anything, true},
	"parse_yaml":    {"yaml.parse($1)", anything, true},
	"sha256":        {"sha256($1)", text, true},
	"sha1":          {"sha1($1)", text, true},
	"md5":           {"md5($1)", text, true},
	"sort":          {"$1.sort()", list, false},
	"reverse":       {"$1.reverse()", list, false},
	"to_boolean":    {"$1 == \"true\"", boolean, true},
	"trim_prefix":   {"($1.startsWith($2) ? $1.substring(size($2)) : $1)", text, true},
	"random":        {"random($1)", text, true},
	"time_now_utc":  {"string(time.now())", text, true},
}

// call converts a function call.
func (s *scope) call(n jmespath.Node) (code, error) {
	var args []code
	for _, child := range n.Children {
		c, err := s.node(child)
		if err != nil {
			return code{}, err
		}
		args = append(args, c)
	}
	switch n.Name {
	case "length":
		return code{text: "size(" + args[0].text + ")", kind: number}, nil
	case "keys":
		return code{text: args[0].in(primary) + ".map(k, k)", kind: list, ofKeys: args[0].text}, nil
	case "to_string":
		return args[0].asText(), nil
	case "to_number":
		return code{text: "double(" + args[0].text + ")", kind: number}, nil
	case "contains":
		if args[0].kind == text {
			return code{text: args[0].in(primary) + ".contains(" + args[1].text + ")", kind: boolean}, nil
		}
		if args[0].kind == list {
			return operation(relation, boolean, "%s in %s", args[1].in(sum), args[0].in(sum)), nil
		}
	case "not_null":
		result := args[len(args)-1]
		for _, arg := range slices.Backward(args[:len(args)-1]) {
			result = arg.orValue(result)
		}
		return result, nil
	case "regex_replace_all", "regex_replace_all_literal":
		return regexReplace(n.Name, args)
	}
	known, ok := calls[n.Name]
	if !ok {
		return code{}, noFormf("write it in CEL by hand", "the function %s of JMESPath", n.Name)
	}
	written := known.cel
	for i := len(args); i > 0; i-- {
		arg := args[i-1]
		if known.texts {
			arg = arg.asText()
		}
		written = strings.ReplaceAll(written, "$"+strconv.Itoa(i), arg.in(primary))
	}
	return code{text: written, kind: known.kind, level: levelOf(written)}, nil
}

func levelOf(written string) int {
	if hasOutside(written, " ") {
		return choice
	}
	return primary
}

var groupReference = lazyregexp.New(`\$(?:(\d+)|\{(\d+)\})`)

// regexReplace converts a regular expression replacement: $1 of Go is \1 of CEL.
func regexReplace(name string, args []code) (code, error) {
	pattern, isText := args[0].constant.(string)
	replacement, isTextToo := args[2].constant.(string)
	if !isText || !isTextToo {
		return code{}, noFormf("", "a regular expression, or its replacement, that is no constant")
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return code{}, noFormf("", "the regular expression: %v", err)
	}
	replacement = strings.ReplaceAll(replacement, `\`, `\\`)
	if name == "regex_replace_all" {
		replacement = groupReference().ReplaceAllString(replacement, `\$1$2`)
	}
	if strings.Contains(replacement, "$") && name == "regex_replace_all" {
		return code{}, noFormf("", "the replacement %q", args[2].constant)
	}
	return code{text: fmt.Sprintf("regex.replace(%s, %s, %s)", args[1].asText().text, quote(pattern), quote(replacement)), kind: text}, nil
}
