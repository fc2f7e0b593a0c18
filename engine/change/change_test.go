package change

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// byName compares all lists by the key "name".
type byName struct{}

func (byName) Field(string) Shape { return byName{} }
func (byName) Item() Shape        { return byName{} }
func (byName) Keys() []string     { return []string{"name"} }

func object(t testing.TB, text string) map[string]any {
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return integers(value).(map[string]any)
}

// integers converts whole numbers to int64, as in manifests.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = integers(value[key])
		}
	case []any:
		for i := range value {
			value[i] = integers(value[i])
		}
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}

func TestDiff(t *testing.T) {
	for _, tc := range []struct {
		name, from, to string
		shape          Shape
		want           string
	}{
		{"nothing", `{"a": [1, {"b": null}]}`, `{"a": [1, {"b": null}]}`, nil, ""},
		{
			"maps", `{"a": 1, "b": 2, "c": {"d": 3}}`, `{"b": 4, "c": {"d": 3, "e": 5}}`, nil,
			"remove a: 1; replace b: 2 -> 4; add c.e: 5",
		},
		{"a map for a scalar", `{"a": 1}`, `{"a": {"b": 1}}`, nil, "replace a: 1 -> map[b:1]"},
		{"an integer is not a float", `{"a": 1}`, `{"a": 1.5}`, nil, "replace a: 1 -> 1.5"},
		{
			"keyed: insert, change", `{"l": [{"name": "a", "v": 1}, {"name": "c"}]}`,
			`{"l": [{"name": "a", "v": 2}, {"name": "b"}, {"name": "c"}]}`,
			byName{},
			"add l[1]: map[name:b]; replace l[0].v: 1 -> 2",
		},
		{
			"keyed: remove", `{"l": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}`, `{"l": [{"name": "b"}]}`,
			byName{},
			"remove l[2]: map[name:c]; remove l[0]: map[name:a]",
		},
		{
			"keyed: move and change", `{"l": [{"name": "a"}, {"name": "b"}, {"name": "c", "v": 1}]}`,
			`{"l": [{"name": "c", "v": 2}, {"name": "a"}, {"name": "b"}]}`,
			byName{},
			"move l[0] from 2; replace l[0].v: 1 -> 2",
		},
		{
			"keyed: repeated keys by order", `{"l": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}`,
			`{"l": [{"name": "a", "v": 1}, {"name": "a", "v": 3}]}`,
			byName{},
			"replace l[1].v: 2 -> 3",
		},
		{
			"keyed: another key", `{"l": [{"name": "a", "v": 1, "w": 2}, {"name": "b"}, {"name": "c", "v": 1}]}`,
			`{"l": [{"name": "x", "v": 1, "w": 2}, {"name": "y"}, {"name": "c", "v": 1}]}`,
			byName{},
			"replace l[0].name: a -> x; replace l[1].name: b -> y",
		},
		{
			"keyed: another key after an insertion", `{"l": [{"name": "a", "v": 1}, {"name": "b", "v": 1}]}`,
			`{"l": [{"name": "n", "v": 2}, {"name": "a", "v": 1}, {"name": "x", "v": 1}]}`,
			byName{},
			"add l[0]: map[name:n v:2]; replace l[2].name: b -> x",
		},
		{
			"keyed: another item", `{"l": [{"name": "a", "v": 1, "w": 2}]}`, `{"l": [{"name": "x", "v": 1, "w": 3}]}`,
			byName{},
			"remove l[0]: map[name:a v:1 w:2]; add l[0]: map[name:x v:1 w:3]",
		},
		{"by value: insert in the middle", `{"l": [1, 2, 3]}`, `{"l": [1, 9, 2, 3]}`, nil, "add l[1]: 9"},
		{
			"by value: a changed item", `{"l": [{"a": 1}, {"a": 2, "b": 0}, {"a": 3}]}`, `{"l": [{"a": 1}, {"a": 7, "b": 0}, {"a": 3}]}`, nil,
			"replace l[1].a: 2 -> 7",
		},
		{
			"odd keys", `{"metadata": {"labels": {}}}`, `{"metadata": {"labels": {"example.com/a": "x", "plain": "y"}}}`, nil,
			"add metadata.labels[example.com/a]: x; add metadata.labels.plain: y",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			from, to := object(t, tc.from), object(t, tc.to)
			changes := Diff(from, to, tc.shape)
			var lines []string
			for _, c := range changes {
				lines = append(lines, c.String())
			}
			if got := strings.Join(lines, "; "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			checkApply(t, from, to, changes)
		})
	}
}

func checkApply(t *testing.T, from, to map[string]any, changes []Change) {
	t.Helper()
	got := CloneObject(from)
	if err := Apply(got, changes); err != nil {
		t.Fatalf("%v: %v", changes, err)
	}
	if !Equal(got, to) {
		t.Errorf("applying %v\nto   %v\ngave %v\nwant %v", changes, from, got, to)
	}
	before, copies := CloneObject(from), Copies{}
	copied := copies.Object(from)
	for _, c := range changes {
		if err := copies.Apply(copied, c); err != nil {
			t.Fatal(err)
		}
	}
	if !Equal(copied, to) || !Equal(from, before) {
		t.Errorf("with copies: got %v from %v, want %v from %v", copied, from, to, before)
	}
}

func TestApplyErrors(t *testing.T) {
	for want, c := range map[string]Change{
		"replace a.b: there is no map to select \"b\" of":          {Path: Keys("a", "b"), Op: Replace, New: "x"},
		"remove m.x.y: there is no map to select \"y\" of":         {Path: Keys("m", "x", "y"), Op: Remove},
		"add l[4]: the list has 2 items, there is no item 4":       {Path: Keys("l").Index(4), Op: Add},
		"remove l[2]: the list has 2 items, there is no item 2":    {Path: Keys("l").Index(2), Op: Remove},
		"replace m[0]: there is no list to select item 0 of":       {Path: Keys("m").Index(0), Op: Replace},
		"a change must not replace the whole object":               {Op: Replace},
		"add l[0].x: there is no map to select \"x\" of":           {Path: Keys("l").Index(0).Key("x"), Op: Add},
		"move l[0]: the list has 2 items, there is no item 7":      {Path: Keys("l").Index(0), Op: Move, From: 7},
		"replace l[5].x: the list has 2 items, there is no item 5": {Path: Keys("l").Index(5).Key("x"), Op: Replace},
	} {
		err := Apply(object(t, `{"a": 1, "m": {}, "l": [1, 2]}`), []Change{c})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestApplyMakesMaps(t *testing.T) {
	got := map[string]any{}
	if err := Apply(got, []Change{{Path: Keys("metadata", "labels", "a"), Op: Add, New: "b"}}); err != nil {
		t.Fatal(err)
	}
	if want := object(t, `{"metadata": {"labels": {"a": "b"}}}`); !Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestPath(t *testing.T) {
	p := Keys("spec", "a/b~c").Index(3).Key("x")
	if got, want := p.String(), "spec[a/b~c][3].x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := p.Pointer(), "/spec/a~1b~0c/3/x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, ok := p.Get(map[string]any{"spec": map[string]any{"a/b~c": []any{}}}); ok {
		t.Error("found a value in an empty list")
	}
}

// FuzzDiff checks the laws of Diff and Apply on objects built from the fuzzer's bytes.
func FuzzDiff(f *testing.F) {
	f.Add([]byte("abcabc"), []byte("cba"), true)
	f.Add([]byte("\x00\x12\x24\x33\x41\x52\x62\x71"), []byte("\x71\x62\x52\x41\x33\x24\x12\x00"), false)
	f.Fuzz(func(t *testing.T, a, b []byte, keyed bool) {
		from, to := grow(a), grow(b)
		var shape Shape
		if keyed {
			shape = byName{}
		}
		changes := Diff(from, to, shape)
		checkApply(t, from, to, changes)
		if again := Diff(from, to, shape); fmt.Sprint(again) != fmt.Sprint(changes) {
			t.Errorf("got %v, then %v", changes, again)
		}
		if same := Diff(from, from, shape); len(same) > 0 {
			t.Errorf("an object differs from itself: %v", same)
		}
	})
}

// grow builds an object. Every byte adds an item to a list, in some lists an item with a name, or a
// value to a map.
func grow(seed []byte) map[string]any {
	o := map[string]any{}
	for _, c := range seed {
		key, kind, v := string(rune('a'+c%3)), c>>2%4, int64(c>>4)
		switch kind {
		case 0:
			o[key] = v
		case 1:
			list, _ := o["l"+key].([]any)
			o["l"+key] = append(list, map[string]any{"name": fmt.Sprint(v % 5), "v": float64(v) / 2})
		case 2:
			list, _ := o["s"+key].([]any)
			o["s"+key] = append(list, v)
		default:
			child, _ := o["m"].(map[string]any)
			if child == nil {
				child = map[string]any{}
			}
			child[key] = []any{v, nil, map[string]any{}}
			o["m"] = child
		}
	}
	return o
}

// TestSummary checks the paths and the count in summaries.
func TestSummary(t *testing.T) {
	from := map[string]any{"a": "1", "b": "1", "c": "1", "d": "1", "e": "1"}
	for want, to := range map[string]map[string]any{
		"a is not the same":                   {"a": "2", "b": "1", "c": "1", "d": "1", "e": "1"},
		"a, b are not the same":               {"a": "2", "c": "1", "d": "1", "e": "1"},
		"a, b, c and 2 more are not the same": {},
	} {
		if got := Summary(Diff(from, to, nil)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
