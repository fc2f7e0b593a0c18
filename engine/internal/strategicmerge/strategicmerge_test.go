package strategicmerge

import (
	"slices"
	"strings"
	"testing"

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

// pod returns a pod with the fields in a text.
func pod(t testing.TB, text string) map[string]any {
	t.Helper()
	fields := object(t, text)
	fields["apiVersion"], fields["kind"] = "v1", "Pod"
	return fields
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
		{"replace an item: nothing happens", "{spec: {containers: [{name: a, image: x}]}}", "{spec: {containers: [{name: a, tty: true, $patch: replace}]}}", "{spec: {containers: [{name: a, image: x}]}}"},
		{"replace a list", "{spec: {containers: [{name: a}, {name: b}]}}", "{spec: {containers: [{$patch: replace}, {name: c}]}}", "{spec: {containers: [{name: c}]}}"},
		{"replace a map", "{spec: {securityContext: {runAsUser: 1, fsGroup: 2}}}", "{spec: {securityContext: {$patch: replace, fsGroup: 3}}}", "{spec: {securityContext: {fsGroup: 3}}}"},
		{"delete a map", "{spec: {securityContext: {runAsUser: 1}}}", "{spec: {securityContext: {$patch: delete}}}", "{spec: {}}"},
		{
			"second key missing: the item of the patch is ignored", "{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: UDP}]}]}}", "{spec: {containers: [{name: a, ports: [{containerPort: 80, name: x}]}]}}",
			"{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: UDP}]}]}}",
		},
		{
			"several keys: merged items keep their places", "{spec: {containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}, {containerPort: 2, protocol: TCP}]}]}}",
			"{spec: {containers: [{name: a, ports: [{containerPort: 2, protocol: TCP, name: x}, {containerPort: 3, protocol: TCP}]}]}}",
			"{spec: {containers: [{name: a, ports: [{containerPort: 3, protocol: TCP}, {containerPort: 1, protocol: TCP}, {containerPort: 2, protocol: TCP, name: x}]}]}}",
		},
		{"items with the same key become one", "{spec: {containers: [{name: a, env: [{name: A, value: x}, {name: B}, {name: A, value: z}]}]}}", "{spec: {}}", "{spec: {containers: [{name: a, env: [{name: A, value: z}, {name: B}]}]}}"},
		{"an item without a key loses others", "{spec: {containers: [{name: a}, {image: x}]}}", "{spec: {}}", "{spec: {containers: [{image: x}]}}"},
		{"lists that are newer than the schema", "{spec: {schedulingGates: [{name: a}]}}", "{spec: {schedulingGates: [{name: b}]}}", "{spec: {schedulingGates: [{name: b}]}}"},
		{"an object inside an object", "{extra: {apiVersion: v1, kind: Pod, spec: {volumes: [{name: a}]}}}", "{extra: {apiVersion: v1, kind: Pod, spec: {volumes: [{name: b}]}}}", "{extra: {apiVersion: v1, kind: Pod, spec: {volumes: [{name: b}, {name: a}]}}}"},
		{
			"second key differs", "{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: UDP}]}]}}", "{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP}]}]}}",
			"{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]}]}}",
		},
		{"other shape", "{spec: {containers: [{name: a}]}}", "{spec: {containers: {name: a}}}", "!spec.containers: the object has a list here, the patch a map"},
		{"no key", "{spec: {containers: [{name: a}]}}", "{spec: {containers: [{image: x}]}}", "{spec: {containers: []}}"},
		{"unknown directive", "{spec: {}}", "{spec: {$retainKeys: [a]}}", "{spec: {$retainKeys: [a]}}"},
		{"bad directive", "{spec: {}}", "{spec: {$patch: remove}}", "!spec.$patch: expected merge, replace or delete"},
		{"empty key", "{metadata: {labels: {'': a}}}", "{spec: {}}", "!metadata.labels: kyaml cannot set an empty key"},
		{"empty key in a patch", "{spec: {}}", "{metadata: {labels: {'': a}}}", "!metadata.labels: kyaml cannot set an empty key"},
		{"delete everything", "{spec: {}}", "{$patch: delete}", "!: a patch must not delete the whole object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, patch := pod(t, c.object), object(t, c.patch)
			got, _, err := Merge(nil, before, patch, podType())
			if wantError, ok := strings.CutPrefix(c.want, "!"); ok {
				if err == nil || err.Error() != wantError {
					t.Errorf("got %v, %v; want %s", got, err, wantError)
				}
			} else if want := pod(t, c.want); err != nil || !change.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			if !change.Equal(before, pod(t, c.object)) || !change.Equal(patch, object(t, c.patch)) {
				t.Error("an argument was modified")
			}
		})
	}
}

// TestRead reads texts and keys as kyaml does; an error begins with "!".
func TestRead(t *testing.T) {
	const escaped = len(`\u003c`) // as JSON writes <
	short, long := strings.Repeat("<", maxKey/escaped), strings.Repeat("k", maxKey-1)
	for _, c := range []struct{ name, key, text, want string }{
		{"lines", "a", "one \u0085 two", "one two"},
		{"empty lines", "a", "\u0085one\u0085 \u0085\u0085two\u0085", " one\n\ntwo "},
		{"other characters", "a", "\u2028 \ufeff\x1b\t\r\n\u00a0", "\u2028 \ufeff\x1b\t\r\n\u00a0"},
		{"a boundary", "a", "one\u0085--- two", "!labels.a: the text has a control character, or the end of a YAML document"},
		{"a boundary before a line end", "a", "one\u0085...\u0085", "!labels.a: the text has a control character, or the end of a YAML document"},
		{"no boundaries", "a", "---\u0085---a\u0085 ---\u0085...", "--- ---a --- ..."},
		{"a control character", "a", "one\x7f", "!labels.a: the text has a control character, or the end of a YAML document"},
		{"a control character of two bytes", "a", "\u0090", "!labels.a: the text has a control character, or the end of a YAML document"},
		{"no character", "a", "\ufffe", "!labels.a: the text has a control character, or the end of a YAML document"},
		{"a key of two lines", "a\u0085b", "", "!labels[a\u0085b]: the key is too long, or has control characters"},
		{"a long key", short, "x", "x"},
		{"a key that is too long", long, "x", "!labels." + long + ": the key is too long, or has control characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := map[string]any{"labels": map[string]any{c.key: c.text}}
			got, err := Read(nil, before)
			theirs, problem := kyamlMerge(t, before, map[string]any{})
			if wantError, ok := strings.CutPrefix(c.want, "!"); ok {
				if err == nil || err.Error() != wantError || problem == nil {
					t.Errorf("got %v, %v; kyaml %v", got, err, problem)
				}
			} else if want := map[string]any{"labels": map[string]any{c.key: c.want}}; !change.Equal(got, want) || !change.Equal(theirs, want) {
				t.Errorf("got %v, %v; kyaml %v, %v", got, err, theirs, problem)
			}
			if !change.Equal(before, map[string]any{"labels": map[string]any{c.key: c.text}}) {
				t.Error("the object was modified")
			}
		})
	}
}

// TestReadFirstError checks that of several texts that kyaml cannot read, the error names the first one.
func TestReadFirstError(t *testing.T) {
	labels := map[string]any{}
	for _, key := range strings.Split("b c a d e f g h", " ") {
		labels[key] = "\x7f"
	}
	for range 20 {
		if _, err := Read(nil, map[string]any{"labels": labels}); err == nil || !strings.HasPrefix(err.Error(), "labels.a:") {
			t.Fatal(err)
		}
	}
}

// TestWithoutSchema checks that lists of an unknown kind are replaced as a whole.
func TestWithoutSchema(t *testing.T) {
	got, _, err := Merge(nil, object(t, "{spec: {a: [{name: x}], b: {c: d}}}"), object(t, "{spec: {a: [{name: z}], b: {e: f}}}"), nil)
	if want := object(t, "{spec: {a: [{name: z}], b: {c: d, e: f}}}"); err != nil || !change.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestMemo checks that what a memo remembers about a map does not depend on the field around it:
// ports of ephemeralContainers are newer than the schema, so they may have the same key twice.
func TestMemo(t *testing.T) {
	item := object(t, "{name: a, ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: TCP}]}")
	for _, fields := range []string{"containers", "ephemeralContainers"} {
		before := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{fields: []any{item}}}
		for _, other := range []string{"containers", "ephemeralContainers"} {
			var memo change.Memo
			first := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{other: []any{item}}}
			if _, _, err := Merge(&memo, first, object(t, "{metadata: {labels: {a: b}}}"), podType()); err != nil {
				t.Fatal(err)
			}
			patch := object(t, "{metadata: {labels: {a: c}}}")
			got, plain, _ := Merge(&memo, before, patch, podType())
			want, wantPlain, _ := Merge(nil, before, patch, podType())
			if plain != wantPlain || !change.Equal(got, want) {
				t.Errorf("%s after %s: got %v, %v; want %v, %v", fields, other, got, plain, want, wantPlain)
			}
		}
	}
}

// TestMayJoin names the kinds whose objects may have two items of one key in a list that merges by key.
func TestMayJoin(t *testing.T) {
	var found []string
	for _, k := range schema.Builtin().Kinds() {
		if k.Resource != "" && !k.Unknown && MayJoin(k) {
			found = append(found, k.Kind.Kind)
		}
	}
	slices.Sort(found)
	if got, want := strings.Join(found, " "), "ComponentStatus CronJob DaemonSet Deployment Job Pod PodTemplate ReplicaSet ReplicationController ServiceAccount StatefulSet"; got != want {
		t.Errorf("got %s", got)
	}
	if !MayJoin(schema.Builtin().Unknown(gvk.Kind{Kind: "*"})) || MayJoin(schema.Builtin().Unknown(gvk.Kind{Group: "example.com", Version: "v1", Kind: "Pod"})) {
		t.Error("every kind may, and an unknown one may not")
	}
}
