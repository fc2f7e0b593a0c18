package tfprovider

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
	"github.com/preadmit/preadmit/internal/settings"
)

// An object with unknown parts is admitted several times with different placeholders. Parts of the
// results that differ depend on unknown values. A result that is the same for all placeholders may
// still differ for other values, if something decides on them. So the rest of the result is known
// only if nothing could decide:
//
//   - Expressions in CEL (MutatingAdmissionPolicies, Kyverno's MutatingPolicies) are observed. An
//     evaluation is deterministic, so that a placeholder that it did not get cannot change it.
//   - What these policies decide without expressions is judged by their text: selectors of labels,
//     resourceNames, the keys of list items that a patch merges, and the operation test.
//   - Rules of Kyverno and mutators of Gatekeeper are not observed. They decide on a value if they
//     contain the keys of its path; rules with expressions of JMESPath also if they contain the
//     first of them, and if a key has a wildcard.
//   - Admission plug-ins may decide on everything in the kinds that they cover.
//   - A policy that does not cover the kind of the object is never asked.
//   - Defaults depend on booleans and on the tag of an image. The placeholders have both cases.
//   - Where a server compares a value itself, the whole result is unknown: see isCompared.
//
// Validation only refuses, so it does not change what is known. If policies deny all placeholders
// with the same words, and nothing got a placeholder, the denial is an error at once.

// guess is one choice of placeholder values.
type guess struct {
	text   string
	number json.Number
	bool   bool
}

// guesses are the choices: texts that are valid as names, labels and base64, texts that are also
// valid as quantities, and an image with a tag.
var guesses = []guess{
	{"preadmitunknown1", "1112", true},
	{"preadmitunknown2", "1113", false},
	{"1112", "1112", true},
	{"1113", "1113", false},
	{"preadmit.invalid/unknown:1.0", "1114", true},
}

func (s guess) value(u unknown) any {
	switch u.kind {
	case someNumber:
		return s.number
	case someBool:
		return s.bool
	}
	return s.text
}

// partly is an object with unknown parts.
type partly struct {
	object any
	// paths are the keys on the paths to these parts, without indexes. items says by path whether
	// the part is in a list.
	paths [][]string
	items map[string]bool
	// direct says by path whether the part is itself an item of a list.
	direct map[string]bool
	// whole reports that one part is a list or a map, typed that all parts have a known type.
	whole, typed bool
	// switches counts the booleans.
	switches int
}

func newPartly(object any) *partly {
	p := &partly{object: object, typed: true, items: map[string]bool{}, direct: map[string]bool{}}
	p.find(object, nil, false)
	return p
}

func (p *partly) find(value any, keys []string, inList bool) {
	switch v := value.(type) {
	case unknown:
		p.paths = append(p.paths, slices.Clone(keys))
		p.items[strings.Join(keys, "\n")] = inList
		p.whole = p.whole || v.kind == several
		p.typed = p.typed && v.kind != anything
		if v.kind == someBool {
			p.switches++
		}
	case []any:
		for _, item := range v {
			if isUnknown(item) {
				p.direct[strings.Join(keys, "\n")] = true
			}
			p.find(item, keys, true)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.find(v[key], append(keys, key), inList)
		}
	}
}

// isPlaced reports whether the kind and the namespace of the object are known.
func (p *partly) isPlaced() bool {
	return !slices.ContainsFunc(p.paths, func(keys []string) bool {
		switch strings.Join(keys, ".") {
		case "", "apiVersion", "kind", "metadata", "metadata.namespace":
			return true
		}
		return false
	})
}

// admit returns the result with unknown parts, or unknown for the whole result. An error does not
// depend on the unknown parts.
func (p *partly) admit(ctx context.Context, sets *cache, c config) (any, []message, error) {
	nothing := unknown{anything}
	if p.whole || !p.isPlaced() || p.switches > 1 || slices.ContainsFunc(p.paths, isCompared) {
		return nothing, nil, nil
	}
	t := trials{partly: p}
	for _, g := range guesses {
		if goes, problems, err := t.try(ctx, admit(ctx, sets, c.with(manifest.JSON(plain(p.object, g.value))), t.observer(g))); !goes {
			return nothing, problems, err
		}
	}
	switch decided := t.mutating.Load() || p.mayDecide(sets, c.with(manifest.JSON(plain(p.object, guesses[0].value)))); {
	case !decided && t.isRefused(&c):
		return nothing, t.refused.problems, nil
	case decided || t.count < 2 || !p.isLeftIn(t.result):
		return nothing, nil, nil
	}
	return t.result, t.problems, nil
}

// trials are the admissions of an object with different placeholders.
type trials struct {
	partly *partly
	// result is common to all count successful trials, and problems are those of the first.
	result   any
	problems []message
	count    int
	refused  refusal
	// mutating and validating report that expressions of policies got placeholders.
	mutating, validating atomic.Bool
}

// try adds the admission with one choice of placeholders. It reports whether to go on; if not, the
// problems are not about the object.
func (t *trials) try(ctx context.Context, a *admission) (goes bool, problems []message, err error) {
	if a.outcome == nil || ctx.Err() != nil {
		return false, a.problems, nil
	}
	if a.failed() {
		t.refused.add(a.problems)
		return true, nil, nil
	}
	t.refused.mixed = true
	if a.requirePolicies(); a.failed() {
		return false, a.problems, nil
	}
	if t.mutating.Load() {
		return false, nil, nil
	}
	admitted, err := readJSON(a.documents[0].json)
	if t.count++; t.count == 1 {
		t.result, t.problems = admitted, a.problems
	} else {
		t.result = t.partly.common(t.result, admitted)
	}
	return err == nil, nil, err
}

// observer returns an observer that looks for the placeholders of a guess.
func (t *trials) observer(g guess) engine.Observer {
	encoded := base64.StdEncoding.EncodeToString([]byte(g.text)) // stringData becomes data
	return engine.Reads(func(validating bool, value any) {
		text := fmt.Sprint(value)
		switch {
		case !strings.Contains(text, g.text) && !strings.Contains(text, encoded) && text != g.number.String():
		case validating:
			t.validating.Store(true)
		default:
			t.mutating.Store(true)
		}
	})
}

// isRefused reports whether policies deny the object whatever the unknown parts are.
func (t *trials) isRefused(c *config) bool {
	return t.refused.isCertain() && !t.validating.Load() && len(c.options.Engine.AdmissionPlugins) == 0 && !slices.ContainsFunc(t.partly.paths, isSelected)
}

// isCompared reports whether a server itself compares the value at a path with another one: it drops
// an owner that is listed twice, and keeps two fields for the account of a Pod.
func isCompared(keys []string) bool {
	return slices.Contains(keys, "ownerReferences") || slices.Contains([]string{"serviceAccount", "serviceAccountName"}, keys[len(keys)-1])
}

// refusal is what all guesses are refused with.
type refusal struct {
	problems []message
	mixed    bool
}

func (r *refusal) add(problems []message) {
	denied := func(m message) bool { return m.severity != source.Error || m.code == "denied" }
	same := func(a, b message) bool { return a.text() == b.text() }
	r.mixed = r.mixed || slices.ContainsFunc(problems, func(m message) bool { return !denied(m) }) ||
		r.problems != nil && !slices.EqualFunc(r.problems, problems, same)
	r.problems = problems
}

// isCertain reports whether policies deny all guesses with the same words.
func (r *refusal) isCertain() bool { return !r.mixed && r.problems != nil }

// isLeftIn reports whether all unknown parts are still in their places. If a policy has replaced
// one, the result depends on whether it was there.
func (p *partly) isLeftIn(result any) bool {
	left := map[string]int{}
	for _, keys := range newPartly(result).paths {
		left[strings.Join(keys, "\n")]++
	}
	for _, keys := range p.paths {
		path := strings.Join(keys, "\n")
		if left[path]--; left[path] < 0 {
			return false
		}
	}
	return true
}

// common returns the common parts of two results; other parts are unknown.
func (p *partly) common(a, b any) any {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return unknown{anything}
		}
		object := make(map[string]any, len(a))
		for key := range a {
			if _, ok := b[key]; !ok {
				return unknown{anything}
			}
			object[key] = p.common(a[key], b[key])
		}
		return object
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return unknown{anything}
		}
		list := make([]any, len(a))
		for i := range a {
			list[i] = p.common(a[i], b[i])
		}
		return list
	}
	if a == b {
		return a
	}
	if u, ok := a.(unknown); ok {
		if p.typeOf(zero[u.kind], b) == u.kind {
			return u
		}
		return unknown{anything}
	}
	return unknown{p.typeOf(a, b)}
}

// zero has a value for every kind of scalar.
var zero = map[valueKind]any{someText: "", someNumber: json.Number("0"), someBool: false}

// typeOf returns the common kind of two scalars.
func (p *partly) typeOf(a, b any) valueKind {
	if !p.typed {
		return anything
	}
	switch a.(type) {
	case string:
		if _, ok := b.(string); ok {
			return someText
		}
	case json.Number:
		if _, ok := b.(json.Number); ok {
			return someNumber
		}
	case bool:
		if _, ok := b.(bool); ok {
			return someBool
		}
	}
	return anything
}

// merging are the keys by which list items are merged. A policy that writes such a key depends on
// its value.
var merging = []string{"name", "key", "containerPort", "port", "protocol", "mountPath", "devicePath", "ip", "topologyKey", "whenUnsatisfiable", "type", "uid", "conditionType"}

// everywhere are keys in the paths of most fields. A rule for Pods also applies to pod templates,
// without containing these keys.
var everywhere = []string{"metadata", "spec", "template", "jobTemplate"}

// mayDecide reports whether something that is not observed may decide on an unknown part. The
// config has one of the guesses as its manifest.
func (p *partly) mayDecide(sets *cache, c *config) bool {
	stream, _ := manifest.Read("", []byte(c.texts[settings.Manifests][0].data))
	object := stream.Documents()[0]
	compiled := sets.compile(c)
	if compiled.plugins(c).Covers(object) {
		return true
	}
	var context string
	for _, t := range c.texts[settings.Context] {
		context += t.data
	}
	isNamed := !slices.ContainsFunc(p.paths, isName)
	return slices.ContainsFunc(compiled.singles(c), func(s single) bool {
		if isNamed && s.set != nil && !s.set.Covers(object) {
			return false
		}
		text := string(manifest.JSON(s.document.Object()["spec"]))
		isCEL := slices.Contains([]string{"admissionregistration.k8s.io", "policies.kyverno.io"}, s.document.Kind().Group)
		return slices.ContainsFunc(p.paths, func(keys []string) bool {
			if isCEL {
				return selects(text, keys) || p.merges(text, context, keys)
			}
			return names(text, keys) || p.merges(text, context, keys) || hasKey(context, keys[len(keys)-1])
		})
	})
}

func isName(keys []string) bool {
	return slices.Contains([]string{"metadata.name", "metadata.generateName"}, strings.Join(keys, "."))
}

// isSelected reports whether selectors may choose by the value at a path.
func isSelected(keys []string) bool { return isName(keys) || isLabel(keys) }

func isLabel(keys []string) bool {
	return len(keys) > 2 && keys[0] == "metadata" && keys[1] == "labels"
}

// selects reports whether a policy may choose by a value without an expression.
func selects(text string, keys []string) bool {
	switch {
	case isLabel(keys):
		return strings.Contains(text, "Selector")
	case isName(keys):
		return strings.Contains(text, "resourceNames") || strings.Contains(text, "Selector")
	}
	return false
}

// merges reports whether a policy may merge a list by a value, or test it with a JSON Patch.
func (p *partly) merges(text, context string, keys []string) bool {
	last := keys[len(keys)-1]
	isKey := p.items[strings.Join(keys, "\n")] && (slices.Contains(merging, last) || p.direct[strings.Join(keys, "\n")])
	return isKey && (hasKey(text, last) || hasKey(context, last)) || strings.Contains(text, `"test"`) || strings.Contains(text, `'test'`) || strings.Contains(text, `\"test\"`)
}

// names reports whether a policy that is not observed may read a value: it contains all keys of the
// path, except those in the paths of most fields.
func names(text string, keys []string) bool {
	if strings.Contains(text, "*") && wildcardKey().MatchString(text) {
		return true
	}
	hasExpressions := strings.Contains(text, "{{") || reference().MatchString(text)
	for _, key := range keys {
		switch {
		case slices.Contains(everywhere, key):
		case !hasKey(text, key):
			return getsAll(text)
		case hasExpressions: // it may get all of a map or a list
			return true
		}
	}
	return true
}

// getsAll reports whether an expression of JMESPath gets the whole object, or one of the parts that
// most objects have.
func getsAll(text string) bool {
	return slices.ContainsFunc(reference().FindAllStringSubmatch(text, -1), func(match []string) bool {
		steps := strings.Split(match[1], ".")[1:]
		if len(steps) > 0 && steps[0] != "object" {
			return false
		}
		return len(steps) == 0 || !slices.ContainsFunc(steps[1:], func(key string) bool { return !slices.Contains(everywhere, key) })
	})
}

var (
	// wildcardKey matches a key with a wildcard in JSON.
	wildcardKey = lazyregexp.New(`"[^"]*[*?][^"]*":`)
	// reference matches a reference of JMESPath to the request, with the fields that follow.
	reference = lazyregexp.New(`\brequest\b((?:\.\w+)*)`)
)

// hasKey reports whether a text contains a key, also in the notation of JSON Pointers.
func hasKey(text, key string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, strings.ToLower(key)) || strings.Contains(text, strings.ToLower(strings.NewReplacer("~", "~0", "/", "~1").Replace(key)))
}
