package strategicmerge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
)

func podType() *schema.Type { return schema.Builtin().Lookup(gvk.Parse("v1", "Pod")).Type() }

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	value, err := manifest.Value(text)
	if err != nil {
		t.Fatal(err)
	}
	object, _ := value.(map[string]any)
	return object
}

// TestMerge merges patches into pods; an error begins with "!".
func TestMerge(t *testing.T) {
	for _, c := range []struct{ name, object, patch, want string }{
		{"maps", "{metadata: {labels: {a: x, b: y}}}", "{metadata: {labels: {b: z, c: w}}}", "{metadata: {labels: {a: x, b: z, c: w}}}"},
		{"null removes", "{metadata: {labels: {a: x, b: y}}}", "{metadata: {labels: {b: null}}}", "{metadata: {labels: {a: x}}}"},
		{"null below nothing", "{metadata: {}}", "{metadata: {annotations: {b: null}}}", "{metadata: {annotations: {}}}"},
		{"empty maps stay", "{spec: {}}", "{spec: {securityContext: {}}}", "{spec: {securityContext: {}}}"},
		{"new items first", "{spec: {containers: [{name: a}]}}", "{spec: {containers: [{name: b}, {name: c}]}}", "{spec: {containers: [{name: b}, {name: c}, {name: a}]}}"},
		{"merged items move", "{spec: {containers: [{name: a}, {name: b, image: x}]}}", "{spec: {containers: [{name: b, tty: true}]}}", "{spec: {containers: [{name: b, image: x, tty: true}, {name: a}]}}"},
		{"lists without a key", "{spec: {containers: [{name: a, args: [x, y]}]}}", "{spec: {containers: [{name: a, args: [z]}]}}", "{spec: {containers: [{name: a, args: [z]}]}}"},
		{"union", "{metadata: {finalizers: [a, b]}}", "{metadata: {finalizers: [c, a]}}", "{metadata: {finalizers: [c, a, b]}}"},
		{"delete an item", "{spec: {containers: [{name: a}, {name: b}]}}", "{spec: {containers: [{name: a, $patch: delete}]}}", "{spec: {containers: [{name: b}]}}"},
		{"replace an item", "{spec: {containers: [{name: a, image: x}]}}", "{spec: {containers: [{name: a, tty: true, $patch: replace}]}}", "{spec: {containers: [{name: a, tty: true}]}}"},
		{"replace a list", "{spec: {containers: [{name: a}, {name: b}]}}", "{spec: {containers: [{$patch: replace}, {name: c}]}}", "{spec: {containers: [{name: c}]}}"},
		{"replace a map", "{spec: {securityContext: {runAsUser: 1, fsGroup: 2}}}", "{spec: {securityContext: {$patch: replace, fsGroup: 3}}}", "{spec: {securityContext: {fsGroup: 3}}}"},
		{"delete a map", "{spec: {securityContext: {runAsUser: 1}}}", "{spec: {securityContext: {$patch: delete}}}", "{spec: {}}"},
		{
			"second key missing", "{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: UDP}]}]}}", "{spec: {containers: [{name: a, ports: [{containerPort: 80, name: x}]}]}}",
			"{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: UDP, name: x}]}]}}",
		},
		{
			"second key differs", "{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: UDP}]}]}}", "{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP}]}]}}",
			"{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]}]}}",
		},
		{
			"ambiguous key", "{spec: {containers: [{name: a, ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]}]}}", "{spec: {containers: [{name: a, ports: [{containerPort: 53, name: dns}]}]}}",
			"!spec.containers[0].ports[0]: the item fits 2 items of the list; give it the keys containerPort, protocol",
		},
		{"no key", "{spec: {containers: [{name: a}]}}", "{spec: {containers: [{image: x}]}}", `!spec.containers[0]: the item has no "name", by which the items of this list are told apart`},
		{"other shape", "{spec: {containers: [{name: a}]}}", "{spec: {containers: {name: a}}}", "!spec.containers: the object has a list here, the patch a map"},
		{"unknown directive", "{spec: {}}", "{spec: {$retainKeys: [a]}}", "!spec.$retainKeys: this directive is not known; expected $patch"},
		{"bad directive", "{spec: {}}", "{spec: {$patch: remove}}", "!spec.$patch: expected merge, replace or delete"},
		{"delete everything", "{spec: {}}", "{$patch: delete}", "!: a patch must not delete the whole object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, patch := object(t, c.object), object(t, c.patch)
			got, err := Merge(before, patch, podType())
			if wantError, ok := strings.CutPrefix(c.want, "!"); ok {
				if err == nil || err.Error() != wantError {
					t.Errorf("got %v, %v; want %s", got, err, wantError)
				}
			} else if want := object(t, c.want); err != nil || !change.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			if !change.Equal(before, object(t, c.object)) || !change.Equal(patch, object(t, c.patch)) {
				t.Error("an argument was modified")
			}
		})
	}
}

// TestItem merges into items by index: in a list with keys they move to the front, in other
// lists they keep their places.
func TestItem(t *testing.T) {
	before := object(t, "{spec: {containers: [{name: a}, {name: b}], tolerations: [{key: x}, {key: z}]}}")
	patch := map[string]any{"spec": map[string]any{
		"containers":  []any{Item{1, map[string]any{"image": "i"}}},
		"tolerations": []any{map[string]any{"key": "new"}, Item{1, map[string]any{"key": nil, "effect": "e"}}},
	}}
	got, err := Merge(before, patch, podType())
	want := object(t, "{spec: {containers: [{name: b, image: i}, {name: a}], tolerations: [{key: x}, {effect: e}, {key: new}]}}")
	if err != nil || !change.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// TestWithoutSchema checks that lists of an unknown kind are replaced as a whole.
func TestWithoutSchema(t *testing.T) {
	got, err := Merge(object(t, "{spec: {a: [{name: x}], b: {c: d}}}"), object(t, "{spec: {a: [{name: z}], b: {e: f}}}"), nil)
	if want := object(t, "{spec: {a: [{name: z}], b: {c: d, e: f}}}"); err != nil || !change.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// FuzzAgainstKyaml compares random merges of pods with those of kyaml.
func FuzzAgainstKyaml(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		before, patch := randomPod(r, false), randomPod(r, true)
		want, err := kyamlMerge(before, patch)
		if err != nil {
			t.Skip(err)
		}
		got, err := Merge(before, patch, podType())
		if err != nil || !change.Equal(dropEmpty(got), dropEmpty(want)) {
			a, _ := json.Marshal(before)
			b, _ := json.Marshal(patch)
			c, _ := json.Marshal(got)
			d, _ := json.Marshal(want)
			t.Errorf("object %s\npatch  %s\ngot    %s %v\nkyaml  %s", a, b, c, err, d)
		}
	})
}

// randomPod returns a pod, or a patch of a pod with nulls and directives.
func randomPod(r *rand.Rand, patch bool) map[string]any {
	pick := func(n int) bool { return r.IntN(n) == 0 }
	names := []string{"a", "b", "c", "d"}
	labels := func() map[string]any {
		m := map[string]any{}
		for _, name := range names {
			switch {
			case pick(2):
				m[name] = fmt.Sprint("v", r.IntN(3))
			case patch && pick(4):
				m[name] = nil
			}
		}
		return m
	}
	named := func(fill func(item map[string]any)) []any {
		list := []any{}
		for _, i := range r.Perm(len(names)) {
			if pick(2) {
				item := map[string]any{"name": names[i]}
				fill(item)
				if patch && pick(5) {
					item["$patch"] = []string{"delete", "merge"}[r.IntN(2)]
				}
				list = append(list, item)
			}
		}
		return list
	}
	container := func(item map[string]any) {
		item["image"] = fmt.Sprint("i", r.IntN(3))
		if pick(2) {
			item["args"] = []any{"x", fmt.Sprint(r.IntN(3))}
		}
		if env := named(func(e map[string]any) { e["value"] = fmt.Sprint(r.IntN(3)) }); len(env) > 0 && pick(2) {
			item["env"] = env
		}
		if pick(3) {
			item["volumeMounts"] = []any{map[string]any{"mountPath": fmt.Sprint("/", r.IntN(2)), "name": "v"}}
		}
	}
	spec := map[string]any{}
	if list := named(container); len(list) > 0 {
		spec["containers"] = list
	}
	if pick(2) {
		spec["tolerations"] = []any{map[string]any{"key": fmt.Sprint(r.IntN(2))}}
	}
	if pick(2) {
		spec["nodeSelector"] = labels()
	}
	if patch && pick(5) {
		spec["hostname"] = nil
	} else if pick(2) {
		spec["hostname"] = "h"
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "labels": labels()}, "spec": spec}
}

func kyamlMerge(before, patch map[string]any) (map[string]any, error) {
	a, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	merged, err := merge2.MergeStrings(string(b), string(a), false, yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend})
	if err != nil {
		return nil, err
	}
	value, err := manifest.Value(merged)
	object, _ := value.(map[string]any)
	return object, err
}

// dropEmpty removes empty values: when all items of a list are deleted, kyaml keeps or drops the
// empty list, depending on its place.
func dropEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, member := range value {
			if member = dropEmpty(member); member != nil {
				result[key] = member
			}
		}
		if len(result) == 0 {
			return nil
		}
		return result
	case []any:
		result := []any{}
		for _, item := range value {
			result = append(result, dropEmpty(item))
		}
		if len(result) == 0 {
			return nil
		}
		return result
	}
	return value
}
