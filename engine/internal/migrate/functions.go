package migrate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	numbers "github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// conversion converts a call of a function whose arguments have the right number and kinds.
type conversion struct {
	kind kind
	of   func(a []expr.Expr) expr.Expr
	// advice is a warning where the results are not always the same.
	advice string
}

// method returns a conversion to a function of the first argument, which gets the others.
func method(name string, k kind) conversion {
	return conversion{kind: k, of: func(a []expr.Expr) expr.Expr { return a[0].Call(name, a[1:]...) }}
}

// function returns a conversion to a function of all arguments.
func function(name string, k kind) conversion {
	return conversion{kind: k, of: func(a []expr.Expr) expr.Expr { return expr.Call(name, a...) }}
}

const onlyASCII = "CEL changes the case of ASCII letters only"

// conversions are the functions of JMESPath that have an equivalent in CEL. Functions that look
// at the kinds of their arguments are below.
var conversions = map[string]conversion{
	"starts_with":   method("startsWith", boolean),
	"ends_with":     method("endsWith", boolean),
	"split":         method("split", list),
	"replace":       method("replace", text),
	"replace_all":   method("replace", text),
	"to_upper":      withWarning(method("upperAscii", text), onlyASCII),
	"to_lower":      withWarning(method("lowerAscii", text), onlyASCII),
	"sort":          method("sort", list),
	"sha256":        function("sha256", text),
	"sha1":          function("sha1", text),
	"md5":           function("md5", text),
	"parse_json":    function("json.unmarshal", anything),
	"parse_yaml":    function("yaml.parse", anything),
	"random":        function("random", text),
	"join":          {kind: text, of: func(a []expr.Expr) expr.Expr { return a[1].Call("join", a[0]) }},
	"regex_match":   {kind: boolean, of: func(a []expr.Expr) expr.Expr { return a[1].Call("matches", a[0]) }},
	"base64_encode": {kind: text, of: func(a []expr.Expr) expr.Expr { return expr.Call("base64.encode", expr.Call("bytes", a[0])) }},
	"base64_decode": {kind: text, of: func(a []expr.Expr) expr.Expr { return expr.Call("string", expr.Call("base64.decode", a[0])) }},
	"time_now_utc": {kind: text, of: func([]expr.Expr) expr.Expr {
		return expr.Call("string", expr.Call("time.truncate", expr.Call("time.now"), expr.Call("duration", expr.Literal("1s"))))
	}},
	"to_boolean": {kind: boolean, of: func(a []expr.Expr) expr.Expr { // fails for other texts
		known := expr.Map(expr.Entry{Key: expr.Literal("true"), Value: expr.True}, expr.Entry{Key: expr.Literal("false"), Value: expr.False})
		return known.Index(a[0].Call("lowerAscii"))
	}},
	"trim_prefix": {kind: text, of: func(a []expr.Expr) expr.Expr {
		return expr.If(a[0].Call("startsWith", a[1]), a[0].Call("substring", expr.Call("size", a[1])), a[0])
	}},
}

func withWarning(c conversion, advice string) conversion {
	c.advice = advice
	return c
}

// call converts a function call.
func (s *scope) call(n jmespath.Node) (code, error) {
	signature, ok := jmespath.Kyverno()[n.Name]
	if !ok {
		return code{}, noFormf("", "there is no function %s in JMESPath", n.Name)
	}
	if err := signature.Check(len(n.Children)); err != nil {
		return code{}, noFormf("", "the rule always fails: %v", err)
	}
	args, err := collect(n.Children, func(child jmespath.Node) (code, error) {
		if child.Op == jmespath.OpReference {
			return code{}, noFormf("write it in CEL by hand", "the function %s of JMESPath", n.Name)
		}
		return s.valued(child)
	})
	if err != nil {
		return code{}, err
	}
	if !slices.Contains(takeIntegers, n.Name) && slices.ContainsFunc(args, hasNumbers) {
		s.numbers()
	}
	if !slices.Contains(takeNull, n.Name) {
		s.rule.needs(args...)
	}
	if of := special[n.Name]; of != nil {
		return of(args)
	}
	known, ok := conversions[n.Name]
	if !ok {
		return code{}, noFormf("write it in CEL by hand", "the function %s of JMESPath", n.Name)
	}
	values, err := arguments(n.Name, signature, args)
	if err != nil {
		return code{}, err
	}
	if known.advice != "" {
		s.rule.doubt(n.Name+"(): "+known.advice, "check that all values are ASCII")
	}
	return known.result(args, values), nil
}

// result returns the value of the function for arguments, of which values are the expressions.
func (c conversion) result(args []code, values []expr.Expr) code {
	result := computed(c.of(values), c.kind)
	if result.kind != list {
		return result
	}
	if result.itemKind = text; args[0].kind != text { // a list that is sorted, not a text that is split
		result.types, result.itemKind = args[0].types, args[0].itemKind
	}
	return result
}

// arguments returns the arguments of a function, which must have the kinds of its signature.
func arguments(name string, signature jmespath.Signature, args []code) ([]expr.Expr, error) {
	var values []expr.Expr
	for i, arg := range args {
		wanted := map[byte]kind{'s': text, 'n': number, 'a': list, 'o': object}[signature.Kind(i)]
		switch {
		case signature.Kind(i) == 't':
			var err error
			if arg, err = arg.asText(); err != nil {
				return nil, err
			}
		case wanted != anything && arg.kind != wanted && arg.kind != anything:
			return nil, noFormf("", "the rule always fails: argument %d of %s() must be %s", i+1, name, jmespath.KindName(signature.Kind(i)))
		case wanted == number && !isWhole(arg):
			return nil, noFormf("write a whole number", "argument %d of %s()", i+1, name)
		}
		values = append(values, arg.x)
	}
	if name == "join" && args[1].each("x").kind != text && args[1].each("x").kind != anything {
		return nil, noFormf("write to_string() around each", "join() of values that are no texts")
	}
	if name == "regex_match" {
		pattern, _ := args[0].constant.(string)
		if _, err := regexp.Compile(pattern); err != nil {
			return nil, noFormf("", "the rule always fails: %v", err)
		}
	}
	return values, nil
}

// takeIntegers are the functions that give the same for integers and floating-point numbers.
var takeIntegers = []string{"to_string", "not_null", "length", "reverse", "keys"}

// hasNumbers reports whether a value is a number, or a list of numbers.
func hasNumbers(c code) bool {
	return c.kind == number && !c.isConstant || c.kind == list && !c.isConstant && c.each("x").kind == number
}

// takeNull are the functions for which a missing value is no error.
var takeNull = []string{"not_null", "to_number"}

func isWhole(c code) bool {
	_, ok := c.constant.(int64)
	return ok
}

// special converts functions that look at the kinds of their arguments.
var special = map[string]func(args []code) (code, error){
	"length": func(args []code) (code, error) {
		if k := args[0].kind; k == number || k == boolean {
			return code{}, noFormf("", "the rule always fails: the length of a value without one")
		}
		return computed(expr.Call("size", args[0].x), number), nil
	},
	"keys": func(args []code) (code, error) {
		if k := args[0].kind; k != object && k != anything {
			return code{}, noFormf("", "the rule always fails: the keys of a value without keys")
		}
		c := computed(args[0].x.Over("map", "k", expr.Ident("k")), list)
		c.keysOf, c.itemKind = args[0].x, text
		return c, nil
	},
	"to_string": func(args []code) (code, error) {
		if args[0].mayMiss() {
			return code{}, noFormf("give a default with ||", "to_string() of a value that may be missing")
		}
		return args[0].asText()
	},
	"to_number": func(args []code) (code, error) { return toNumber(args[0]) },
	"contains":  func(args []code) (code, error) { return contains(args[0], args[1]) },
	"not_null":  notNull,
	"reverse": func(args []code) (code, error) {
		if args[0].kind != list {
			return code{}, noFormf("", "reverse() of a value that may be a text")
		}
		return code{x: args[0].x.Call("reverse"), kind: list, types: args[0].types, itemKind: args[0].itemKind}, nil
	},
	"regex_replace_all":         func(args []code) (code, error) { return regexReplace(args, true) },
	"regex_replace_all_literal": func(args []code) (code, error) { return regexReplace(args, false) },
}

// notNull returns the first of several values that is not missing.
func notNull(args []code) (code, error) {
	result := args[len(args)-1]
	for _, other := range slices.Backward(args[:len(args)-1]) {
		switch {
		case !other.given.IsZero() && other.maybe.IsZero():
			return code{}, noFormf("give it a default with ||", "a selection that may be null")
		case result.mayMiss() && other.mayMiss():
			both := other.maybe.Call("or", result.maybe)
			result = code{x: both.Call("value"), maybe: both, kind: common(other.kind, result.kind)}
		default:
			result = other.orValue(result)
		}
	}
	result.isNull, result.unclear = true, false
	return result, nil
}

// decimal matches the texts that are numbers.
const decimal = `^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$`

// toNumber converts to_number(), which is null for a text that is no number.
func toNumber(arg code) (code, error) {
	switch {
	case arg.kind == number && arg.mayMiss():
		return code{}, noFormf("give a default with ||", "to_number() of a value that may be missing")
	case arg.kind == number:
		return arg, nil
	case arg.isConstant && arg.kind == text:
		f, err := strconv.ParseFloat(arg.constant.(string), 64)
		if err != nil {
			return code{}, noFormf("write a number", "to_number() of the text %q, which is null", arg.constant)
		}
		return literal(numbers.Whole(f)), nil
	case arg.kind != text:
		return code{}, noFormf("", "the number of a value that may not be a text")
	}
	isNumber, value := expr.And(arg.present(), arg.x.Call("matches", expr.Literal(decimal))), expr.Call("double", arg.x)
	maybe := optionalIf(isNumber, value)
	return code{x: value, maybe: maybe, given: isNumber, isNull: true, kind: number}, nil
}

func contains(of, found code) (code, error) {
	switch {
	case found.mayMiss() && of.kind == list:
		return code{}, noFormf("give it a default with ||", "a search for a value that may be missing")
	case of.kind == text && found.kind == text:
		return computed(of.x.Call("contains", found.x), boolean), nil
	case of.kind == list && found.kind != list && found.kind != object:
		return computed(expr.In(found.x, of.x), boolean), nil
	}
	return code{}, noFormf("", "contains() for values that may be texts or lists")
}

// groupReference finds references to groups in a replacement of Go: $1, ${1}, $name, $$.
var groupReference = lazyregexp.New(`\$(?:(\w+)|\{(\w+)\}|\$)?`)

// regexReplace converts a regular expression replacement: $1 of Go is \1 of CEL.
func regexReplace(args []code, groups bool) (code, error) {
	pattern, isText := args[0].constant.(string)
	replacement, isTextToo := args[2].constant.(string)
	if !isText || !isTextToo {
		return code{}, noFormf("", "a regular expression, or its replacement, that is no constant")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return code{}, noFormf("", "the rule always fails: %v", err)
	}
	source, err := args[1].asText()
	if err != nil {
		return code{}, err
	}
	written := strings.ReplaceAll(replacement, `\`, `\\`)
	if groups {
		written = groupReference().ReplaceAllStringFunc(written, func(reference string) string {
			group := strings.Trim(reference, "${}")
			n, nameErr := strconv.Atoi(group)
			switch {
			case reference == "$$":
				return "$"
			case nameErr != nil || n > min(9, re.NumSubexp()):
				err = noFormf("write ${1} for the group 1", "the reference %s in the replacement %q", reference, replacement)
			}
			return `\` + group
		})
	}
	return computed(expr.Call("regex.replace", source.x, expr.Literal(pattern), expr.Literal(written)), text), err
}

// pod returns the pod spec of the object.
func (c *converter) pod() (code, error) {
	var found change.Path
	for _, kind := range c.matched.kinds {
		at := kyverno.PodPath(kind.Kind.Kind)
		if found != nil && !slices.Equal(found, at) {
			return code{}, noFormf("write a rule for each kind", "images of kinds that have their pods at different places")
		}
		found = at
	}
	spec := c.object()
	for _, e := range found {
		spec = spec.field(e.Key)
	}
	return spec, nil
}

// image returns a part of the variable images: left is images, images.containers, or
// images.containers.NAME.
func (s *scope) image(left code, name string) (code, error) {
	s.rule.doubt(anyImage, "check that all images are valid")
	parts := append(slices.Clone(left.path.parts), part{key: name})
	if c, ok := s.vars[name]; ok {
		c, err := c.asText()
		if err != nil {
			return code{}, err
		}
		parts[len(parts)-1].computed = c.x
	}
	if len(parts) < 3 {
		return code{path: &path{root: left.path.root, parts: parts}}, nil
	}
	if element, ok := s.vars["element"]; ok && expr.Equal(parts[1].computed, element.field("name").x) {
		return imagePart(element.field("image").x, name)
	}
	pod, err := s.rule.pod()
	if err != nil {
		return code{}, err
	}
	containers := pod.field(parts[0].key).orEmptyList()
	named := containers.x.Over("filter", "c", expr.Is(expr.Ident("c").Select("name"), parts[1].expr()))
	return imagePart(named.Index(expr.Literal(0)).Select("image"), name)
}

// imageData returns a part of what a registry says about an image. MutatingPolicies have other names
// and digests in it, and drop fields that they do not know: the rest is not surely the same.
func (c code) imageData(name string) (code, error) {
	root, parts := c.path.root, append(slices.Clone(c.path.parts), part{key: name})
	at := ""
	for _, p := range parts {
		at += "." + p.key
	}
	switch at {
	case ".image", ".registry", ".repository":
		return computed(root.Select(name), text), nil
	case ".configData", ".configData.config", ".manifest":
		return code{path: &path{root: root, parts: parts}}, nil
	case ".configData.config.Labels", ".manifest.annotations":
		if parts[0].key == "configData" {
			parts[0].key = "config"
		}
		return withKind(ofPath(&path{root: root, parts: parts}, nil), object), nil
	}
	return code{}, noFormf("use image, registry, repository, configData.config.Labels or manifest.annotations, or write it in CEL by hand", "%s of an image, which a MutatingPolicy has in another form", at[1:])
}

const anyImage = "an image that is no valid reference: Kyverno denies the object"

// imagePart returns a part of an image reference, as Kyverno parses it.
func imagePart(image expr.Expr, name string) (code, error) {
	matches := func(pattern string) expr.Expr { return image.Call("matches", expr.Literal(pattern)) }
	replaced := func(pattern, with string) expr.Expr {
		return expr.Call("regex.replace", image, expr.Literal(pattern), expr.Literal(with))
	}
	var x expr.Expr
	switch name {
	case "registry":
		x = expr.If(matches(`^(localhost|[^/]*[.:][^/]*)/`), replaced(`/.*$`, ""), expr.Literal("docker.io"))
	case "tag":
		isGiven := matches(`^[^@]*:[^:/@]+(@|$)`)
		tag := expr.If(isGiven, replaced(`^[^@]*:([^:/@]+)(@.*)?$`, `\1`), expr.Literal("latest"))
		return absentUnless(expr.Or(isGiven, expr.Not(image.Call("contains", expr.Literal("@")))), tag), nil
	case "digest":
		return absentUnless(image.Call("contains", expr.Literal("@")), replaced(`^[^@]*@`, "")), nil
	case "path":
		x = replaced(`^((localhost|[^/]*[.:][^/]*)/)?([^:@]*).*$`, `\3`)
	case "name":
		x = replaced(`^(.*/)?([^:@/]*).*$`, `\2`)
	default:
		return code{}, noFormf("", "the part %s of an image", name)
	}
	return computed(x, text), nil
}

// absentUnless returns a text that is missing unless a condition holds.
func absentUnless(condition, x expr.Expr) code {
	maybe := optionalIf(condition, x)
	return code{x: maybe.Call("value"), maybe: maybe, kind: text}
}
