package tfprovider

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
)

// An object of which parts are not known yet is admitted with stand-ins for them, several
// times: where the results differ, the result depends on what is not known. A policy may
// also ask what it is, for instance whether it is "prod"; that cannot be seen so, but such a
// policy names the keys that lead to it. If one does, nothing is known of the result, since
// what the policy would do then may be anything.

// guess is one choice of stand-ins.
type guess struct {
	text   string
	number json.Number
	bool   bool
}

// guesses are the choices: texts that are good for names, labels and base64, those that are
// quantities, too, and one that is an image with a tag.
var guesses = []guess{
	{"preadmitunknown1", "1112", true},
	{"preadmitunknown2", "1113", false},
	{"1112", "1112", true},
	{"1113", "1113", false},
	{"preadmit.invalid/unknown:1.0", "1114", true},
}

func (s guess) value(u unknown) any {
	switch u.shape {
	case someNumber:
		return s.number
	case someBool:
		return s.bool
	}
	return s.text
}

// partly is an object of which parts are not known.
type partly struct {
	object any
	// paths are the keys that lead to these parts, items those to parts in lists.
	paths [][]string
	items map[string]bool
	// whole says that one of them is a list or a map, typed that all have a type.
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
		p.whole = p.whole || v.shape == several
		p.typed = p.typed && v.shape != anything
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

// isPlaced reports whether it is known which object it is.
func (p *partly) isPlaced() bool {
	return !slices.ContainsFunc(p.paths, func(keys []string) bool {
		switch strings.Join(keys, ".") {
		case "", "apiVersion", "kind", "metadata", "metadata.namespace":
			return true
		}
		return false
	})
}

// admit returns the result as far as it is known: unknown if that is nothing. The error
// is one whatever the unknown parts will be.
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
			return nothing, a.problems, nil // it has nothing to do with the object
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

// isLeftIn reports whether all that is not known is still where it was. Where a policy has
// written something else, it matters whether that was there.
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

// common is what two results have in common; the rest is unknown.
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
		if p.typeOf(zero[u.shape], b) == u.shape {
			return u
		}
		return unknown{anything}
	}
	return unknown{p.typeOf(a, b)}
}

// zero are values of shapes.
var zero = map[shape]any{someText: "", someNumber: json.Number("0"), someBool: false}

// typeOf is what will be in the place of two scalars.
func (p *partly) typeOf(a, b any) shape {
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

// merging are keys by which items of lists are merged, so that a policy that writes one asks
// for it.
var merging = []string{"name", "key", "containerPort", "port", "protocol", "mountPath", "devicePath", "ip", "topologyKey", "whenUnsatisfiable", "type", "uid", "conditionType"}

// everywhere are keys that lead to most fields. A rule about Pods is one about templates
// of them, too, so that it need not name them.
var everywhere = []string{"metadata", "spec", "template", "jobTemplate"}

// isNamed reports whether a policy may ask for what is not known: it has all the keys that
// lead there, or all but a last one that it may take from the context.
func (p *partly) isNamed(c *config) bool {
	var context string
	for _, t := range c.context {
		context += t.data
	}
	for _, t := range slices.Concat(c.policies, c.context) {
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

// namer returns what says whether a policy has a key. In CEL a field that is read stands
// after a dot or in quotes; one that is written need not.
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

// hasKey reports whether a text has a key, also as JSON Pointers write it.
func hasKey(text, key string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, strings.ToLower(key)) || strings.Contains(text, strings.ToLower(strings.NewReplacer("~", "~0", "/", "~1").Replace(key)))
}
