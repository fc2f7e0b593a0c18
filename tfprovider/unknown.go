package tfprovider

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/settings"
)

// An object with unknown parts is admitted several times with different placeholder values. Parts
// of the results that differ depend on unknown values. This does not detect a policy that compares
// an unknown value, for example with "prod". But such a policy contains the keys of the path to the
// value. If a policy contains them, the whole result is unknown.

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
	// whole reports that one part is a list or a map, typed that all parts have a known type.
	whole, typed bool
}

func newPartly(object any) *partly {
	p := &partly{object: object, typed: true, items: map[string]bool{}}
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
	case []any:
		for _, item := range v {
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
	if p.whole || !p.isPlaced() {
		return nothing, nil, nil
	}
	var result any
	var problems []message
	count := 0
	for _, g := range guesses {
		a := admit(ctx, sets, c.with(manifest.JSON(plain(p.object, g.value))))
		if a.outcome == nil || ctx.Err() != nil {
			return nothing, a.problems, nil // the problems are not about the object
		}
		if a.failed() {
			continue
		}
		if a.requirePolicies(); a.failed() {
			return nothing, a.problems, nil
		}
		admitted, err := readJSON(a.documents[0].json)
		if err != nil {
			return nil, nil, err
		}
		if count++; count == 1 {
			result, problems = admitted, a.problems
		} else {
			result = p.common(result, admitted)
		}
	}
	if count < 2 || p.isNamed(&c) || !p.isLeftIn(result) {
		return nothing, nil, nil
	}
	return result, problems, nil
}

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

// isNamed reports whether a policy may depend on an unknown part: it contains all keys of the path,
// or all except the last, which may come from the context.
func (p *partly) isNamed(c *config) bool {
	var context string
	for _, t := range c.texts[settings.Context] {
		context += t.data
	}
	for _, t := range slices.Concat(c.texts[settings.Policies], c.texts[settings.Context]) {
		stream, _ := manifest.Read(t.name, []byte(t.data))
		for _, d := range stream.Documents() {
			if !engine.IsPolicy(d.Kind()) {
				continue
			}
			names, text := namer(d), string(manifest.JSON(d.Object()["spec"]))
			for _, keys := range p.paths {
				last := len(keys) - 1
				if slices.ContainsFunc(keys[:last], func(key string) bool { return !names(key) }) {
					continue
				}
				merges := p.items[strings.Join(keys, "\n")] && slices.Contains(merging, keys[last]) && hasKey(text, keys[last])
				if names(keys[last]) || merges || hasKey(context, keys[last]) {
					return true
				}
			}
		}
	}
	return false
}

// namer returns a function that reports whether a policy reads a key. In CEL, a field that is read
// follows a dot or is in quotes; a field that is only written does not have to.
func namer(d *manifest.Document) func(key string) bool {
	object := d.Object()
	text := string(manifest.JSON(object["spec"]))
	isCEL := slices.Contains([]string{"admissionregistration.k8s.io", "policies.kyverno.io"}, d.Kind().Group)
	return func(key string) bool {
		switch {
		case slices.Contains(everywhere, key):
			return true
		case !isCEL:
			return hasKey(text, key)
		}
		return slices.ContainsFunc([]string{".", "?", "'", `"`, "/", "`"}, func(before string) bool { return hasKey(text, before+key) })
	}
}

// hasKey reports whether a text contains a key, also in the notation of JSON Pointers.
func hasKey(text, key string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, strings.ToLower(key)) || strings.Contains(text, strings.ToLower(strings.NewReplacer("~", "~0", "/", "~1").Replace(key)))
}
