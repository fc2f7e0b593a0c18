package change

import (
	"fmt"
	"maps"
	"testing"
)

func TestMemo(t *testing.T) {
	var memo Memo
	conforms, size := new(Fact), new(Fact)
	list := []any{"a", "b", "c"}
	object := map[string]any{"list": list}
	memo.Note(conforms, object, 1)
	memo.Note(size, list, 3)
	memo.Note(size, list, 4)
	memo.Note(size, "text", 4)
	memo.Note(size, []any{}, 5)
	for _, c := range []struct {
		name  string
		fact  *Fact
		value any
		want  int // -1 if no answer is known
	}{
		{"a map", conforms, object, 1},
		{"another fact", size, object, -1},
		{"an equal map", conforms, maps.Clone(object), -1},
		{"a list, noted twice", size, list, 4},
		{"another list in the same memory", size, list[:2], -1},
		{"an equal list", size, []any{"a", "b", "c"}, -1},
		{"text", size, "text", -1},
		{"an empty list", size, []any{}, -1},
		{"null", size, nil, -1},
	} {
		if Reference {
			c.want = -1
		}
		if answer, known := memo.Recall(c.fact, c.value); known != (c.want >= 0) || known && answer != c.want {
			t.Errorf("%s: %d, %v", c.name, answer, known)
		}
	}
	memo.Reset()
	if _, known := memo.Recall(conforms, object); known {
		t.Error("Reset forgets nothing")
	}
}

func TestMemoOfNobody(t *testing.T) {
	var memo *Memo
	fact, object := new(Fact), map[string]any{}
	memo.Note(fact, object, 1)
	if _, known := memo.Recall(fact, object); known {
		t.Error("it remembers")
	}
}

// TestMemoGrows notes many values at once.
func TestMemoGrows(t *testing.T) {
	if Reference {
		t.Skip("nothing is recalled")
	}
	var memo Memo
	facts := []*Fact{new(Fact), new(Fact), new(Fact)}
	values := make([]any, 5000)
	for i := range values {
		values[i] = map[string]any{"i": i}
		if i%2 == 0 {
			values[i] = []any{i}
		}
		memo.Note(facts[i%3], values[i], i)
	}
	for i := range values {
		for n, fact := range facts {
			if answer, known := memo.Recall(fact, values[i]); known != (n == i%3) || known && answer != i {
				t.Fatalf("%d: fact %d: %d, %v", i, n, answer, known)
			}
		}
	}
}

// TestMemoGuards checks that the reference build notices the modification of a noted value.
func TestMemoGuards(t *testing.T) {
	if !Reference {
		t.Skip("only the reference looks for it")
	}
	var memo Memo
	fact, object := new(Fact), map[string]any{"list": []any{"a"}}
	memo.Note(fact, object, 0)
	memo.Recall(fact, object)
	object["list"].([]any)[0] = "b"
	defer func() {
		if recover() == nil {
			t.Error("it takes no notice")
		}
	}()
	memo.Recall(fact, object)
}

// FuzzShared checks that sharing equal parts of two objects does not change the results of Diff and
// Equal.
func FuzzShared(f *testing.F) {
	f.Add([]byte("abcabc"), []byte("cba"), true)
	f.Add([]byte("\x00\x12\x24\x33\x41\x52\x62\x71"), []byte("\x71\x62\x52\x41\x33\x24\x12\x00"), false)
	f.Add([]byte("\x15\x25\x35\x45\x55"), []byte("\x15\x25\x35\x45\x55\x65"), true)
	f.Fuzz(func(t *testing.T, a, b []byte, keyed bool) {
		from, to := grow(a), grow(b)
		var shape Shape
		if keyed {
			shape = byName{}
		}
		shared := share(from, to).(map[string]any)
		want, got := Diff(from, to, shape), Diff(from, shared, shape)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if !Equal(to, shared) || Equal(from, to) != (len(want) == 0) || Equal(from, shared) != Equal(from, to) {
			t.Errorf("Equal is mistaken about %v and %v", from, to)
		}
	})
}

// share returns a copy of value that shares the parts that are equal in from.
func share(from, value any) any {
	if fmt.Sprintf("%#v", from) == fmt.Sprintf("%#v", value) {
		return from
	}
	switch value := value.(type) {
	case map[string]any:
		from, _ := from.(map[string]any)
		shared := make(map[string]any, len(value))
		for key := range value {
			shared[key] = share(from[key], value[key])
		}
		return shared
	case []any:
		from, _ := from.([]any)
		shared := make([]any, len(value))
		for i := range value {
			shared[i] = value[i]
			for _, item := range from {
				if shared[i] = share(item, value[i]); Same(shared[i], item) {
					break
				}
			}
		}
		return shared
	}
	return value
}

// BenchmarkDiff compares objects that differ in one field and share the rest, like the objects
// before and after a step, and objects that share nothing.
func BenchmarkDiff(b *testing.B) {
	from := grow([]byte("\x15\x25\x35\x45\x55\x65\x75\x16\x26\x36\x46\x56\x03\x13\x23\x33"))
	to := maps.Clone(from)
	to["new"] = "x"
	for name, to := range map[string]map[string]any{"shared": to, "not": CloneObject(to)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(Diff(from, to, byName{})) != 1 {
					b.Fatal("one change was expected")
				}
			}
		})
	}
}
