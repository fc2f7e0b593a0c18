package tfprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
	"github.com/preadmit/preadmit/internal/settings"
)

// An object with unknown parts is admitted several times with different placeholders. Parts of the
// results that differ depend on unknown values. A result that is the same for all placeholders may
// still differ for other values, if something decides on them:
//
//   - Expressions in CEL, match blocks and preconditions are observed (engine.Unknown). At every
//     decision on a placeholder both sides are explored, each in an admission of its own, and what
//     differs between them is unknown. The result of a function that cannot fail is a placeholder
//     again. If a policy uses a value in another way, the whole result is unknown.
//   - Merges, JSON Patches, and the parts of rules and mutators that are not observed are judged by
//     the texts of the policies.
//   - Admission plug-ins may decide on everything in the kinds that they cover.
//   - A policy that does not cover the kind of the object is never asked.
//   - All values of booleans are tried.
//   - Defaults depend on the tag of an image, and on a few fields (defaulting). The placeholders have
//     all cases. A value that replaces an unknown one is tried as that value, too.
//   - Where a server compares a value itself, the whole result is unknown: see isCompared.
//
// Validation only refuses, so it does not change what is known. If policies deny all placeholders
// with the same words, and nothing used a placeholder, the denial is an error at once.

// guess is one choice of placeholders.
type guess struct {
	// texts and numbers are the placeholders of the parts. computed are those of texts that policies
	// compute from them.
	texts, computed []string
	numbers         []int64
	// truths are the values of the booleans; truth is that of what policies compute.
	truths []bool
	truth  bool
}

// maxParts is how many parts of an object may be unknown, maxSwitches how many of them booleans, and
// maxAdmissions how often an object with unknown parts is admitted.
const maxParts, maxSwitches, maxAdmissions = 900, 3, 400

// The forms of placeholders: names, which are also valid as labels and base64; numbers, which are
// also valid as quantities; and images with a tag. Defaults depend on the tag.
const (
	nameForm     = "preadmitunk%d"
	nextNameForm = "preadmitnxt%d"
	numberForm   = "%d"
	imageForm    = "preadmit.invalid/unknown%d:1.0"
	otherForm    = "preadmit.invalid/unknown%d:2.0"
)

// defaulting are the values of fields by which a server sets defaults of other fields.
var defaulting = map[string][]string{
	"type":            {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "RollingUpdate", "Recreate", "OnDelete", "Container", "Pod", "PersistentVolumeClaim", "Resource"},
	"kind":            {"User", "Group", "ServiceAccount"},
	"allocationMode":  {"All", "ExactCount"},
	"restartPolicy":   {"Always", "Never"},
	"sessionAffinity": {"None", "ClientIP"},
}

// guesses returns the choices: every form of a value with what may be computed from it, each with all
// values of the booleans.
func (p *partly) guesses() []guess {
	var texts []guess
	for i, forms := range [][2]string{
		{nameForm, nameForm},
		{nextNameForm, otherForm},
		{numberForm, numberForm},
		{numberForm, numberForm},
		{imageForm, nameForm},
		{imageForm, otherForm},
	} {
		g := guess{truth: i%2 == 0}
		for j := range p.paths {
			number := 20011 + 7000*i + j // a valid port, and unusual otherwise
			g.texts, g.computed = append(g.texts, fmt.Sprintf(forms[0], number)), append(g.computed, fmt.Sprintf(forms[1], number))
			g.numbers = append(g.numbers, int64(number))
		}
		texts = append(texts, g)
	}
	for j, keys := range p.paths {
		for _, value := range defaulting[keys[len(keys)-1]] {
			g := texts[0]
			g.texts = slices.Clone(g.texts)
			g.texts[j] = value
			texts = append(texts, g)
		}
	}
	var all []guess
	for _, g := range texts {
		for bits := range 1 << p.switches {
			g.truths = nil
			for i := range p.switches {
				g.truths = append(g.truths, bits>>i&1 == 1)
			}
			all = append(all, g)
		}
	}
	return all
}

// fill returns a value with placeholders for its unknown parts, which it visits in the order of
// partly.find.
func (g *guess) fill(value any) any {
	part, truth := 0, 0
	var fill func(value any) any
	fill = func(value any) any {
		switch v := value.(type) {
		case unknown:
			part++
			switch v.kind {
			case someNumber:
				return json.Number(strconv.FormatInt(g.numbers[part-1], 10))
			case someBool:
				truth++
				return g.truths[truth-1]
			}
			return g.texts[part-1]
		case []any:
			list := make([]any, len(v))
			for i := range v {
				list[i] = fill(v[i])
			}
			return list
		case map[string]any:
			object := make(map[string]any, len(v))
			for _, key := range slices.Sorted(maps.Keys(v)) {
				object[key] = fill(v[key])
			}
			return object
		}
		return value
	}
	return fill(value)
}

// partly is an object with unknown parts.
type partly struct {
	object any
	// paths are the keys on the paths to these parts, without indexes; at are the paths, and kinds
	// the kinds of the parts. items says by path whether the part is in a list.
	paths [][]string
	at    []change.Path
	kinds []valueKind
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
	p.find(object, nil, nil, false)
	return p
}

func (p *partly) find(value any, keys []string, at change.Path, inList bool) {
	switch v := value.(type) {
	case unknown:
		p.paths, p.at, p.kinds = append(p.paths, slices.Clone(keys)), append(p.at, slices.Clone(at)), append(p.kinds, v.kind)
		p.items[strings.Join(keys, "\n")] = inList
		p.whole = p.whole || v.kind == several
		p.typed = p.typed && v.kind != anything
		if v.kind == someBool {
			p.switches++
		}
	case []any:
		for i, item := range v {
			if isUnknown(item) {
				p.direct[strings.Join(keys, "\n")] = true
			}
			p.find(item, keys, append(at, change.Index(i)), true)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.find(v[key], append(keys, key), append(at, change.Key(key)), inList)
		}
	}
}

// unknowns returns the unknown parts with the placeholders of a guess. A server keeps the keys of
// maps of texts.
func (p *partly) unknowns(g *guess) []engine.UnknownValue {
	values := make([]engine.UnknownValue, len(p.paths))
	for i, keys := range p.paths {
		parent := ""
		if len(keys) > 1 {
			parent = keys[len(keys)-2]
		}
		kept := slices.Contains([]string{"labels", "annotations", "data", "stringData", "matchLabels", "nodeSelector"}, parent)
		values[i] = engine.UnknownValue{Name: p.at[i].String(), Text: g.texts[i], Computed: g.computed[i], Number: g.numbers[i], MayBeAbsent: !kept}
	}
	return values
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

// partial is the result for an object with unknown parts.
type partial struct {
	// result is unknown{anything} if it is unknown as a whole. reasons say why.
	result  any
	reasons []engine.UnknownUse
	// problems do not depend on the unknown parts.
	problems []message
}

// because returns a result that is unknown as a whole, with the reason.
func because(reason, name string) partial {
	return partial{result: unknown{anything}, reasons: []engine.UnknownUse{{Policy: reason, Name: name}}}
}

// admit returns the result with unknown parts. An error does not depend on them.
func (p *partly) admit(ctx context.Context, sets *cache, c config) (partial, error) {
	switch {
	case p.whole || !p.isPlaced():
		return because("", "apiVersion, kind, metadata.namespace, or a whole list or map"), nil
	case p.switches > maxSwitches || len(p.paths) > maxParts:
		return because("", "too many values"), nil
	}
	if compared := slices.IndexFunc(p.at, p.isCompared); compared >= 0 {
		return because("", p.at[compared].String()), nil
	}
	c.options.Engine.NonIdempotent = engine.NonIdempotentSkip // replays would decide again
	t := trials{partly: p, worlds: map[string]*world{}}
	guesses := p.guesses()
	for i := 0; i < len(guesses); i++ {
		switch done, err := t.explore(ctx, sets, c, &guesses[i]); {
		case err != nil:
			return partial{}, err
		case done != nil:
			return *done, nil
		case i == len(guesses)-1 && !t.replaced:
			t.replaced = true
			guesses = append(guesses, p.replacements(&guesses[0], t.result)...)
		}
	}
	if policy, name := p.decider(sets, c.with(manifest.JSON(guesses[0].fill(p.object)))); name != "" {
		return because(policy, name), nil
	}
	return t.conclude(&c), nil
}

// trials are the admissions of an object with different placeholders.
type trials struct {
	partly *partly
	// result is common to all successful trials, and problems are those of the first.
	result   any
	problems []message
	count    int
	refused  refusal
	// replaced says that the values with which policies replace unknown ones have been tried, too.
	replaced bool
	// worlds are the trials by the decisions in them.
	worlds map[string]*world
	// judged reports that policies that only refuse used placeholders.
	judged bool
}

// world counts the successful trials with the same decisions. denied says that all others are
// denials.
type world struct {
	successes int
	denied    bool
}

// explore tries all decisions for one choice of placeholders. done is the result if it is certain.
func (t *trials) explore(ctx context.Context, sets *cache, c config, g *guess) (done *partial, err error) {
	text := manifest.JSON(g.fill(t.partly.object))
	for pending := [][]bool{nil}; len(pending) > 0; {
		choices := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		u := engine.NewUnknown(t.partly.unknowns(g), engine.UnknownOptions{Truth: g.truth, Untyped: !t.partly.typed, Choices: choices})
		a := admit(ctx, sets, c.with(text), engine.WithUnknown(u))
		t.judged = t.judged || u.Judged()
		taken := u.Taken()
		for i := len(choices); i < len(taken); i++ {
			pending = append(pending, append(slices.Clone(taken[:i]), !taken[i]))
		}
		if t.count++; t.count > maxAdmissions {
			return &partial{result: unknown{anything}, reasons: []engine.UnknownUse{{Name: "too many decisions"}}}, nil
		}
		if done, err = t.try(ctx, a, u, fmt.Sprint(taken)); done != nil || err != nil {
			return done, err
		}
	}
	return nil, nil
}

// try adds an admission. done is the result if it is certain.
func (t *trials) try(ctx context.Context, a *admission, u *engine.Unknown, decisions string) (done *partial, err error) {
	w := t.worlds[decisions]
	if w == nil {
		w = &world{denied: true}
		t.worlds[decisions] = w
	}
	switch {
	case a.outcome == nil || ctx.Err() != nil:
		return &partial{result: unknown{anything}, problems: a.problems}, nil
	case len(u.Uses()) > 0:
		return &partial{result: unknown{anything}, reasons: u.Uses()}, nil
	case a.failed():
		t.refused.add(a.problems)
		w.denied = w.denied && isDenial(a.problems)
		return nil, nil
	}
	if a.requirePolicies(); a.failed() {
		return &partial{result: unknown{anything}, problems: a.problems}, nil
	}
	t.refused.mixed = true
	admitted, err := readJSON(a.documents[0].json)
	if w.successes++; t.result == nil {
		t.result, t.problems = admitted, a.problems
	} else {
		t.result = t.partly.common(t.result, admitted)
	}
	return nil, err
}

// conclude returns the result of all trials.
func (t *trials) conclude(c *config) partial {
	if t.isRefused(c) {
		return partial{result: unknown{anything}, problems: t.refused.problems}
	}
	for _, w := range t.worlds {
		if w.successes == 1 || w.successes == 0 && (!w.denied || t.judged) {
			return because("", "the object is not valid with all values")
		}
	}
	if t.result == nil || !t.partly.keep(t.result) {
		return because("", "an unknown value is replaced")
	}
	return partial{result: t.result, problems: t.problems}
}

// isRefused reports whether policies deny the object whatever the unknown parts are.
func (t *trials) isRefused(c *config) bool {
	return t.refused.isCertain() && !t.judged && len(c.options.Engine.AdmissionPlugins) == 0
}

// isCompared reports whether a server itself compares the value at a path with another one: it drops
// an owner that is listed twice, and keeps two fields for the account of a Pod.
func (p *partly) isCompared(at change.Path) bool {
	return aliased(at, p.object) || slices.ContainsFunc(at, func(e change.Element) bool { return e.Key == "ownerReferences" })
}

// accounts are the two fields for the account of a Pod.
var accounts = []string{"serviceAccount", "serviceAccountName"}

// refusal is what all guesses are refused with.
type refusal struct {
	problems []message
	mixed    bool
}

func (r *refusal) add(problems []message) {
	same := func(a, b message) bool { return a.text() == b.text() }
	r.mixed = r.mixed || !isDenial(problems) || r.problems != nil && !slices.EqualFunc(r.problems, problems, same)
	r.problems = problems
}

// isDenial reports whether all errors are denials by policies.
func isDenial(problems []message) bool {
	return !slices.ContainsFunc(problems, func(m message) bool { return m.severity == source.Error && m.code != "denied" })
}

// isCertain reports whether policies deny all guesses with the same words.
func (r *refusal) isCertain() bool { return !r.mixed && r.problems != nil }

// replacements returns a guess for every unknown value that a policy replaces: it may have the new
// value already.
func (p *partly) replacements(like *guess, result any) []guess {
	var all []guess
	for i, at := range p.at {
		g := *like
		value, _ := at.Get(result)
		text, isText := value.(string)
		if number, is := value.(json.Number); is {
			text, isText = number.String(), true
		}
		number, err := strconv.ParseInt(text, 10, 64)
		switch {
		case !isText || p.kinds[i] == someNumber && err != nil:
			continue
		case p.kinds[i] == someNumber:
			g.numbers = slices.Clone(g.numbers)
			g.numbers[i] = number
		default:
			g.texts = slices.Clone(g.texts)
			g.texts[i] = text
		}
		all = append(all, g)
	}
	return all
}

// keep makes those values of a result unknown that have replaced an unknown value that may mean the
// same: that stays as it is written. It reports false if a policy has removed an unknown value, because
// the server may set the same one again.
func (p *partly) keep(result any) bool {
	for i, at := range p.at {
		value, found := at.Get(result)
		if !found && p.paths[i][0] == "stringData" { // normalize moves it
			value, found = append(change.Keys("data"), at[1:]...).Get(result)
			found = found && isUnknown(value)
		}
		text, isText := value.(string)
		_, isNumber := value.(json.Number)
		switch {
		case !found && !p.isUnknownAbove(at, result), isText && p.kinds[i] == someNumber && strings.Trim(text, "0123456789") != "", aliased(at, result):
			return false
		case found && isText && p.kinds[i] == someText && !strings.ContainsAny(text[:min(1, len(text))], "+-.0123456789"):
		case found && (isText || isNumber && p.kinds[i] != someNumber):
			setAt(result, at, unknown{p.kinds[i]})
		}
	}
	return true
}

// aliased reports whether a result has both fields for the account of a Pod, one of them at the path.
func aliased(at change.Path, result any) bool {
	last := len(at) - 1
	i := slices.Index(accounts, at[last].Key)
	if i < 0 {
		return false
	}
	_, both := at[:last:last].Key(accounts[1-i]).Get(result)
	return both
}

// isUnknownAbove reports whether a part of a result that holds a path is unknown.
func (p *partly) isUnknownAbove(at change.Path, result any) bool {
	for i := range at {
		if value, _ := at[:i].Get(result); isUnknown(value) {
			return true
		}
	}
	return false
}

// setAt replaces the value at a path, which exists.
func setAt(value any, at change.Path, by any) {
	last := at[len(at)-1]
	parent, _ := at[:len(at)-1].Get(value)
	switch parent := parent.(type) {
	case map[string]any:
		parent[last.Key] = by
	case []any:
		parent[last.Index] = by
	}
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

// decider returns what is not observed and may decide on an unknown part, and the path of the part;
// empty if nothing does. The config has one of the guesses as its manifest.
func (p *partly) decider(sets *cache, c *config) (policy, name string) {
	stream, _ := manifest.Read("", []byte(c.texts[settings.Manifests][0].data))
	object := stream.Documents()[0]
	compiled := sets.compile(c)
	if compiled.plugins(c).Covers(object) {
		return "admission plug-in", p.at[0].String()
	}
	var context string
	for _, t := range c.texts[settings.Context] {
		context += t.data
	}
	isNamed := !slices.ContainsFunc(p.paths, isName)
	for _, s := range compiled.singles(c) {
		if isNamed && s.set != nil && !s.set.Covers(object) {
			continue
		}
		text := string(manifest.JSON(s.document.Object()["spec"]))
		isObserved := slices.Contains([]string{"admissionregistration.k8s.io", "policies.kyverno.io", "kyverno.io", "mutations.gatekeeper.sh"}, s.document.Kind().Group)
		for i, keys := range p.paths {
			if p.merges(text, context, keys) || !isObserved && (names(text, keys) || hasKey(context, keys[len(keys)-1])) {
				return s.document.Name(), p.at[i].String()
			}
		}
	}
	return "", ""
}

func isName(keys []string) bool {
	return slices.Contains([]string{"metadata.name", "metadata.generateName"}, strings.Join(keys, "."))
}

// merges reports whether a policy may merge a list by a value, or test it with a JSON Patch.
func (p *partly) merges(text, context string, keys []string) bool {
	last := keys[len(keys)-1]
	list := last // the list with the key, or the list itself
	if !p.direct[strings.Join(keys, "\n")] && len(keys) > 1 {
		list = keys[len(keys)-2]
	}
	isKey := p.items[strings.Join(keys, "\n")] && (slices.Contains(merging, last) || list == last)
	written := regexp.MustCompile(`\b` + regexp.QuoteMeta(list) + `\b[\\"')]*\s*:`)
	return isKey && (hasKey(text, last) || hasKey(context, last)) && (written.MatchString(text) || written.MatchString(context)) || testOperation().MatchString(text)
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
	// testOperation matches the operation test of a JSON Patch, in JSON.
	testOperation = lazyregexp.New(`\bop\b[\\"' ]*:[\\"' ]*test\b`)
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
