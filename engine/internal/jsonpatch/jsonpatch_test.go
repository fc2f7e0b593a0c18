package jsonpatch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
)

// recording is a line of testdata/apiserver.jsonl, which testdata/record generates.
type recording struct {
	Doc             map[string]any
	Patch           []map[string]any
	Result          any
	Error           string
	Failed, Crashed bool
}

func TestAPIServerRecorded(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "apiserver.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, odd := 0, 0
	var doc map[string]any
	for scanner := bufio.NewScanner(file); scanner.Scan(); lines++ {
		var r recording
		decode(t, scanner.Text(), &r)
		if r.Doc != nil {
			doc = numbers(r.Doc).(map[string]any)
		}
		ops := r.operations()
		before := change.CloneObject(doc)
		got, err := APIServer.Apply(doc, ops)
		if !change.Equal(before, doc) {
			t.Fatalf("%s: the object was modified", scanner.Text())
		}
		if want, isObject := numbers(r.Result).(map[string]any); isObject {
			if err != nil || !change.Equal(got, want) {
				t.Errorf("%s\n got %v, %v", scanner.Text(), got, err)
			}
			continue
		}
		odd++
		if err == nil {
			t.Errorf("%s\n got %v, want an error", scanner.Text(), got)
		} else if r.Error != "" && (err.Error() != r.Error || errors.Is(err, ErrTestFailed) != r.Failed) {
			t.Errorf("%s\n got %v", scanner.Text(), err)
		}
	}
	if lines < 1500 || odd < 500 {
		t.Errorf("%d lines with %d errors: the recording is not complete", lines, odd)
	}
}

func (r *recording) operations() []Operation {
	var ops []Operation
	for _, fields := range r.Patch {
		op := Operation{NoValue: true}
		op.Op, _ = fields["op"].(string)
		op.Path, _ = fields["path"].(string)
		op.From, _ = fields["from"].(string)
		if value, ok := fields["value"]; ok {
			op.Value, op.NoValue = numbers(value), false
		}
		ops = append(ops, op)
	}
	return ops
}

func decode(t testing.TB, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment",
"metadata":{"name":"web","namespace":"default","labels":{"app":"web"}},
"spec":{"replicas":1,"template":{"spec":{"containers":[
{"name":"app","image":"nginx:1.25","env":[{"name":"A","value":"1"}],"resources":{}},
{"name":"side","image":"busybox"}]}}},"status":{}}`

// The JSON Patches of policies recorded on kube-apiserver 1.36.3, with their effect before the
// server decoded the result.
var policies = []struct {
	name    string
	ops     []Operation
	changes string // as change.Change prints them, by line
	err     string
}{
	{name: "failed test", ops: []Operation{
		{Op: "add", Path: "/metadata/labels/x", Value: "y"},
		{Op: "test", Path: "/spec/replicas", Value: int64(100)},
	}, err: "testing value /spec/replicas failed: test failed"},
	{name: "test of a missing key", ops: []Operation{
		{Op: "test", Path: "/spec/nope", Value: int64(100)},
	}, err: "testing value /spec/nope failed: test failed"},
	{name: "test of a missing key for null", ops: []Operation{
		{Op: "test", Path: "/metadata/annotations"},
	}, err: "testing value /metadata/annotations failed: test failed"},
	{name: "test of a missing key without a value", ops: []Operation{
		{Op: "test", Path: "/metadata/annotations", NoValue: true},
		{Op: "add", Path: "/metadata/labels/x", Value: "y"},
	}, changes: "add metadata.labels.x: y"},
	{name: "test of a map and an integer", ops: []Operation{
		{Op: "test", Path: "/metadata/labels", Value: map[string]any{"app": "web"}},
		{Op: "test", Path: "/spec/replicas", Value: float64(1)},
		{Op: "add", Path: "/metadata/labels/x", Value: "y"},
	}, changes: "add metadata.labels.x: y"},
	{name: "copy and move", ops: []Operation{
		{Op: "copy", From: "/metadata/labels", Path: "/metadata/annotations"},
		{Op: "move", From: "/metadata/labels/app", Path: "/metadata/labels/app2"},
		{Op: "replace", Path: "/spec/replicas", Value: float64(3)},
		{Op: "add", Path: "/spec/template/spec/containers/-", Value: map[string]any{"name": "n", "image": "i"}},
		{Op: "add", Path: "/spec/template/spec/containers/0/env/0", Value: map[string]any{"name": "B"}},
	}, changes: `
		add metadata.annotations: map[app:web]
		remove metadata.labels.app: web
		add metadata.labels.app2: web
		replace spec.replicas: 1 -> 3
		add spec.template.spec.containers[2]: map[image:i name:n]
		add spec.template.spec.containers[0].env[0]: map[name:B]`},
	{name: "remove what is missing", ops: []Operation{
		{Op: "remove", Path: "/metadata/annotations"},
	}, err: "error in remove for path: '/metadata/annotations': Unable to remove nonexistent key: annotations: missing value"},
	{name: "replace what is missing", ops: []Operation{
		{Op: "replace", Path: "/metadata/annotations", Value: map[string]any{"a": "b"}},
	}, changes: "add metadata.annotations: map[a:b]"},
	{name: "add to a missing parent", ops: []Operation{
		{Op: "add", Path: "/metadata/annotations/x", Value: "b"},
	}, err: `add operation does not apply: doc is missing path: "/metadata/annotations/x": missing value`},
	{name: "pointer without slash", ops: []Operation{
		{Op: "add", Path: "metadata/labels/x", Value: "b"},
	}, err: `add operation does not apply: doc is missing path: "metadata/labels/x": missing value`},
	{name: "unknown operation", ops: []Operation{{Op: "merge", Path: "/a", Value: "b"}}, err: "Unexpected kind: merge"},
	{name: "no operation", ops: []Operation{{Path: "/a", Value: "b"}}, err: "Unexpected kind: "},
	{name: "index beyond the list", ops: []Operation{
		{Op: "add", Path: "/spec/template/spec/containers/9", Value: map[string]any{"name": "x"}},
	}, err: "error in add for path: '/spec/template/spec/containers/9': Unable to access invalid index: 9: invalid index referenced"},
	{name: "add without a value", ops: []Operation{
		{Op: "add", Path: "/metadata/labels/x", NoValue: true},
	}, changes: "add metadata.labels.x: <nil>"},
	{name: "negative index", ops: []Operation{
		{Op: "replace", Path: "/spec/template/spec/containers/-1/image", Value: "neg"},
	}, changes: "replace spec.template.spec.containers[1].image: busybox -> neg"},
	{name: "copy what is missing", ops: []Operation{
		{Op: "copy", From: "/metadata/annotations", Path: "/metadata/labels"},
	}, changes: "replace metadata.labels: map[app:web] -> <nil>"},
	{name: "move what is missing", ops: []Operation{
		{Op: "move", From: "/metadata/none", Path: "/metadata/labels"},
	}, err: "error in move for path: 'none': Unable to remove nonexistent key: none: missing value"},
	{name: "replace the whole object", ops: []Operation{
		{Op: "replace", Path: "", Value: map[string]any{"kind": "Deployment"}},
	}, changes: `
		remove apiVersion: apps/v1
		remove metadata: map[labels:map[app:web] name:web namespace:default]
		remove spec:
		remove status: map[]`},
	{name: "replace the whole object by a list", ops: []Operation{
		{Op: "replace", Path: "", Value: []any{}},
	}, err: "replace operation of the whole object needs an object, not a list"},
	{name: "escapes", ops: []Operation{
		{Op: "add", Path: "/metadata/labels/a~1b~0c", Value: "<&>\u2028é"},
	}, changes: "add metadata.labels[a/b~c]: <&>\u2028é"},
	{name: "large integer", ops: []Operation{
		{Op: "add", Path: "/spec/template/spec/activeDeadlineSeconds", Value: "9007199254740993"},
	}, changes: "add spec.template.spec.activeDeadlineSeconds: 9007199254740993"},
	{name: "fraction", ops: []Operation{
		{Op: "add", Path: "/spec/replicas", Value: 3.5},
	}, changes: "replace spec.replicas: 1 -> 3.5"},
	{name: "null", ops: []Operation{{Op: "add", Path: "/spec/replicas"}}, changes: "replace spec.replicas: 1 -> <nil>"},
	{name: "nothing", ops: nil},
}

func TestAPIServerPolicies(t *testing.T) {
	for _, test := range policies {
		t.Run(test.name, func(t *testing.T) {
			object := parse(t, deployment)
			got, err := APIServer.Apply(object, test.ops)
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Fatalf("error %v, want %s", err, test.err)
				}
				if failed := errors.Is(err, ErrTestFailed); failed != strings.HasSuffix(test.err, "test failed") {
					t.Errorf("a failed test: %v", failed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			changes := change.Diff(object, got, nil)
			var want []string
			if test.changes != "" {
				want = strings.Split(strings.TrimSpace(test.changes), "\n")
			}
			if len(changes) != len(want) {
				t.Fatalf("got %v, want %d changes", changes, len(want))
			}
			for i, c := range changes {
				if have := c.String(); !strings.HasPrefix(have, strings.TrimSpace(want[i])) {
					t.Errorf("got %s, want %s", have, want[i])
				}
			}
		})
	}
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	var object map[string]any
	decode(t, text, &object)
	return numbers(object).(map[string]any)
}

// TestNumbers checks that untouched numbers keep their types, in place and through the library,
// and that values of a patch are read as JSON.
func TestNumbers(t *testing.T) {
	object := map[string]any{"i": int64(1<<62 + 1), "f": 3.0, "e": 1e21, "l": []any{2.5, int64(4)}}
	for _, op := range []Operation{
		{Op: "add", Path: "/l/0", Value: map[string]any{"v": 3.0, "w": 0.5, "x": int64(math.MinInt64), "y": 1e19}},
		{Op: "add", Path: "/l/-3", Value: map[string]any{"v": 3.0, "w": 0.5, "x": int64(math.MinInt64), "y": 1e19}},
	} {
		got, err := APIServer.Apply(object, []Operation{op})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"i": int64(1<<62 + 1), "f": 3.0, "e": 1e21,
			"l": []any{map[string]any{"v": int64(3), "w": 0.5, "x": int64(math.MinInt64), "y": 1e19}, 2.5, int64(4)},
		}
		if !change.Equal(got, want) {
			t.Errorf("%s: got %#v", op.Path, got)
		}
	}
	for _, value := range []any{int64(3), 3.0} {
		if _, err := APIServer.Apply(object, []Operation{{Op: "test", Path: "/f", Value: value}}); err != nil {
			t.Errorf("test of 3.0 for %#v: %v", value, err)
		}
	}
}

// TestCopies checks that the copies of a patch are independent of each other and of the patch.
func TestCopies(t *testing.T) {
	value := map[string]any{"k": "v"}
	ops := []Operation{{Op: "add", Path: "/a", Value: value}, {Op: "copy", From: "/a", Path: "/b"}}
	got, err := APIServer.Apply(map[string]any{}, ops)
	if err != nil {
		t.Fatal(err)
	}
	got["a"].(map[string]any)["k"] = "changed"
	if value["k"] != "v" || got["b"].(map[string]any)["k"] != "v" {
		t.Errorf("value %v, copy %v", value, got["b"])
	}
}

// FuzzKyverno compares the dialect with the library that Kyverno uses, for patches of two
// operations.
func FuzzKyverno(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, document, op, path, from, value string) {
		object, o, ok := fuzzed(document, op, path, from, value)
		if !ok || o.NoValue && o.Op != "move" && o.Op != "copy" && o.Op != "remove" || !slices.Contains([]string{"add", "remove", "replace", "move", "copy", "test"}, o.Op) {
			t.Skip()
		}
		for _, pointer := range []string{path, from} {
			if strings.HasPrefix(pointer, "//") || pointer != "" && pointer[0] != '/' || hasLargeIndex(pointer) {
				t.Skip() // Kyverno's command refuses them, or the library changes a copy
			}
		}
		if path == "" || path == "/" || from == "" && (o.Op == "move" || o.Op == "copy") {
			t.Skip()
		}
		for _, ops := range [][]Operation{{o}, {o, {Op: "add", Path: path + "/x", Value: int64(1)}}, {{Op: "add", Path: path}, o}} {
			got, err := Kyverno.Apply(object, ops)
			want, wantErr := library(t, object, ops)
			if (err == nil) != (wantErr == nil) || err == nil && !change.Equal(got, want) {
				t.Errorf("%v\n got %v, %v\nwant %v, %v", ops, got, err, want, wantErr)
			}
		}
	})
}

func hasLargeIndex(pointer string) bool {
	return slices.ContainsFunc(Keys(pointer), func(key string) bool {
		i, err := strconv.Atoi(key)
		return err == nil && i > 1000
	})
}

// library applies a patch with json-patch/v5 as Kyverno does. The library crashes on a test that
// compares a null that the patch wrote with a list.
func library(t *testing.T, object map[string]any, ops []Operation) (result map[string]any, err error) {
	t.Helper()
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = true
	options.AllowMissingPathOnRemove = true
	options.EnsurePathExistsOnAdd = true
	var list []any
	for _, op := range ops {
		list = append(list, map[string]any{"op": op.Op, "path": op.Path, "from": op.From, "value": exact(number.Wholes(op.Value))})
	}
	patch, err := jsonpatch.DecodePatch(encode(t, list))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("crashed: %v", problem)
		}
	}()
	text, err := patch.ApplyWithOptions(encode(t, exact(object)), options)
	if err != nil {
		return nil, err
	}
	decode(t, string(text), &result)
	return numbers(result).(map[string]any), nil
}

// exact writes the float64s of a value so that numbers can distinguish them from integers. The
// library keeps the text of untouched values.
func exact(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[key] = exact(member)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = exact(item)
		}
		return copied
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	}
	return value
}

// numbers sets the types of the numbers in a decoded value, in place.
func numbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			value[key] = numbers(member)
		}
	case []any:
		for i, item := range value {
			value[i] = numbers(item)
		}
	case json.Number:
		if i, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return i
		}
		f, _ := value.Float64()
		return f
	}
	return value
}

// FuzzApply checks that every patch gives an object or an error, and modifies nothing.
func FuzzApply(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, document, op, path, from, value string) {
		object, o, ok := fuzzed(document, op, path, from, value)
		if !ok {
			t.Skip()
		}
		objectBefore, valueBefore := change.CloneObject(object), change.Clone(o.Value)
		for _, dialect := range []Dialect{APIServer, Kyverno} {
			got, err := dialect.Apply(object, []Operation{o, {Op: "add", Path: "/-", Value: "x"}, o})
			if (got == nil) == (err == nil) {
				t.Errorf("%v and %v", got, err)
			}
		}
		if !change.Equal(object, objectBefore) || !change.Equal(o.Value, valueBefore) {
			t.Errorf("modified: %v, %v", object, o.Value)
		}
	})
}

// seed adds the recorded patches with one operation to the corpus.
func seed(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "apiserver.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	var document string
	for line := range strings.Lines(string(text)) {
		var r recording
		decode(f, line, &r)
		if r.Doc != nil {
			document = string(encode(f, r.Doc))
		}
		for _, op := range r.operations() {
			f.Add(document, op.Op, op.Path, op.From, string(encode(f, op.Value)))
		}
	}
	f.Add(`{"a":[1.0,2]}`, "add", "/a/1", "", `[{"b":1e3}]`)
}

func fuzzed(document, op, path, from, value string) (map[string]any, Operation, bool) {
	o := Operation{Op: op, Path: path, From: from, NoValue: value == ""}
	object, ok := fuzzedValue(document).(map[string]any)
	if o.Value = fuzzedValue(value); isUnfit(object) || isUnfit(o.Value) {
		return nil, o, false
	}
	return object, o, ok && utf8.ValidString(strings.Join([]string{document, op, path, from, value}, " "))
}

func fuzzedValue(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return numbers(value)
}

// isUnfit reports whether a value has a null in a list, which makes the library crash in a test,
// or a number too large for a float64.
func isUnfit(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if isUnfit(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return item == nil || isUnfit(item) })
	case float64:
		return math.IsInf(value, 0)
	}
	return false
}

func encode(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestSharing checks that untouched values are shared, and that a patch that changes nothing
// returns the object itself.
func TestSharing(t *testing.T) {
	object := parse(t, deployment)
	before := change.CloneObject(object)
	for name, dialect := range map[string]Dialect{"APIServer": APIServer, "Kyverno": Kyverno} {
		got, err := dialect.Apply(object, []Operation{
			{Op: "add", Path: "/spec/template/spec/containers/0/env/-", Value: map[string]any{"name": "B"}},
			{Op: "move", From: "/spec/template/spec/containers/0/env/0", Path: "/spec/template/spec/containers/0/env/1"},
			{Op: "copy", From: "/spec/template/spec/containers/0", Path: "/spec/template/spec/containers/-"},
		})
		if err != nil {
			t.Fatal(name, err)
		}
		for _, path := range []change.Path{change.Keys("metadata"), change.Keys("spec", "template", "spec", "containers").Index(1), change.Keys("spec", "template", "spec", "containers").Index(0).Key("resources")} {
			old, _ := path.Get(object)
			now, _ := path.Get(got)
			if !change.Same(old, now) {
				t.Errorf("%s: %s is not shared", name, path)
			}
		}
		if got, err := dialect.Apply(object, []Operation{{Op: "test", Path: "/spec/replicas", Value: int64(1)}}); err != nil || !change.Same(got, object) {
			t.Errorf("%s: a test gives another object (%v)", name, err)
		}
	}
	if !change.Equal(object, before) {
		t.Error("the object was modified")
	}
}

// BenchmarkOperations applies patches with more and more operations to an object with as many
// members: the time per operation must stay the same.
func BenchmarkOperations(b *testing.B) {
	for _, n := range []int{1000, 4000, 16000} {
		data, list := map[string]any{}, []any{}
		var replace, grow, odd []Operation
		for i := range n {
			key := fmt.Sprintf("key%d", i)
			data[key], list = "x", append(list, key)
			replace = append(replace, Operation{Op: "replace", Path: "/data/" + key, Value: "y"})
			grow = append(grow, Operation{Op: "add", Path: "/list/-", Value: "y"}, Operation{Op: "add", Path: "/data/new" + key, Value: "y"})
			odd = append(odd, Operation{Op: "replace", Path: "/data/new" + key, Value: "y"}, Operation{Op: "add", Path: "/list/-2", Value: "y"})
		}
		object := map[string]any{"data": data, "list": list}
		for name, ops := range map[string][]Operation{"replace": replace, "grow": grow, "odd": odd} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := APIServer.Apply(object, ops); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ops)), "ns/operation")
			})
		}
	}
}

func BenchmarkApply(b *testing.B) {
	object := parse(b, deployment)
	for _, bench := range []struct {
		name string
		op   Operation
	}{
		{"plain", Operation{Op: "add", Path: "/spec/template/spec/containers/1/env", Value: []any{map[string]any{"name": "A", "value": "1"}}}},
		{"negative", Operation{Op: "add", Path: "/spec/template/spec/containers/-1/env", Value: []any{map[string]any{"name": "A", "value": "1"}}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := APIServer.Apply(object, []Operation{bench.op}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
