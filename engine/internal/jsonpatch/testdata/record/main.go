// Command record writes testdata/apiserver.jsonl: the results of patches in
// gopkg.in/evanphx/json-patch.v4 v4.13.0, with patches encoded as in k8s.io/apiserver v0.36.3.
// It is a module of its own, so that the library does not become a dependency. Run it in its
// directory:
//
//	go run . > ../apiserver.jsonl
package main

import (
	"encoding/json"
	"errors"
	"log"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// A recorded line: the document (if empty, that of the line before), the operations, and one of
// the three outcomes.
type line struct {
	Doc    any              `json:"doc,omitempty"`
	Patch  []map[string]any `json:"patch"`
	Result *json.RawMessage `json:"result,omitempty"`
	Error  string           `json:"error,omitempty"`
	// Failed says that the error is that of a failed test.
	Failed bool `json:"failed,omitempty"`
	// Crashed says that the library panicked.
	Crashed bool `json:"crashed,omitempty"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	var doc any
	for _, l := range slices.Concat(chosen(), nulls(), random(500)) {
		if l.Doc != nil {
			doc = l.Doc
		}
		l.run(doc)
		if err := out.Encode(l); err != nil {
			log.Fatal(err)
		}
	}
}

func (l *line) run(document any) {
	defer func() {
		if recover() != nil {
			l.Crashed = true
		}
	}()
	var patch jsonpatch.Patch
	for _, fields := range l.Patch {
		op := jsonpatch.Operation{}
		for name, value := range fields {
			var raw json.RawMessage
			if name == "value" {
				raw, _ = json.Marshal(value) // null is a value, not a missing value
			} else {
				raw = json.RawMessage(strconv.Quote(value.(string)))
			}
			op[name] = &raw
		}
		patch = append(patch, op)
	}
	doc, err := json.Marshal(document)
	if err != nil {
		log.Fatal(err)
	}
	result, err := patch.Apply(doc)
	if err != nil {
		l.Error, l.Failed = err.Error(), errors.Is(err, jsonpatch.ErrTestFailed)
		return
	}
	l.Result = (*json.RawMessage)(&result)
}

const document = `{"labels":{"app":"web","a/b":1,"a~b":2},"void":null,"n":3,"off":false,
"empty":{},"none":[],"list":[1,2,3],"deep":[{"env":[{"name":"A"}]},{"args":["x"]}]}`

func parse(text string) any {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		log.Fatal(err)
	}
	return value
}

// chosen combines every operation with useful pointers and values.
func chosen() []*line {
	lines := []*line{{Doc: parse(document), Patch: []map[string]any{}}}
	try := func(fields ...any) {
		op := map[string]any{}
		for i := 0; i < len(fields); i += 2 {
			op[fields[i].(string)] = fields[i+1]
		}
		lines = append(lines, &line{Patch: []map[string]any{op}})
	}
	for _, path := range append(strings.Fields(pointers), "") {
		try("op", "remove", "path", path)
		try("op", "merge", "path", path)
		for _, op := range []string{"add", "replace", "test"} {
			try("op", op, "path", path)
			try("op", op, "path", path, "value", nil)
			try("op", op, "path", path, "value", 3)
		}
		for _, op := range []string{"replace", "test"} {
			try("op", op, "path", path, "value", map[string]any{})
			try("op", op, "path", path, "value", []any{})
		}
		for _, op := range []string{"move", "copy"} {
			try("op", op, "path", path)
			for _, from := range []string{"/list/-1", "/nope", "/deep/0"} {
				try("op", op, "path", path, "from", from)
			}
			if path != "" { // the server leaves out an empty from
				try("op", op, "path", "/new", "from", path)
				try("op", op, "path", "/list/1", "from", path)
			}
		}
	}
	return lines
}

// nulls combines an operation that writes, moves or copies a null with other operations on the
// null and below it.
func nulls() []*line {
	lines := []*line{{Doc: parse(`{"a":{"b":1},"void":null,"list":[null,1],"empty":{}}`), Patch: []map[string]any{}}}
	written := [][]map[string]any{
		{{"op": "add", "path": "/x", "value": nil}},
		{{"op": "add", "path": "/x"}},
		{{"op": "replace", "path": "/a", "value": nil}, {"op": "move", "path": "/x", "from": "/a"}},
		{{"op": "add", "path": "/y", "value": nil}, {"op": "copy", "path": "/x", "from": "/y"}},
		{{"op": "copy", "path": "/x", "from": "/void"}},
		{{"op": "copy", "path": "/x", "from": "/nope"}},
		{{"op": "add", "path": "/x", "value": map[string]any{"b": nil}}},
		{{"op": "add", "path": "/x", "value": map[string]any{}}, {"op": "add", "path": "/x/b", "value": nil}},
		{{"op": "add", "path": "/y", "value": map[string]any{}}, {"op": "add", "path": "/y/b", "value": nil}, {"op": "copy", "path": "/x", "from": "/y"}},
		{{"op": "add", "path": "/list/0", "value": nil}, {"op": "move", "path": "/x", "from": "/list/0"}},
	}
	for _, before := range written {
		for _, path := range []string{"/x", "/x/b", "/x/b/c"} {
			for _, after := range []map[string]any{
				{"op": "add", "path": path, "value": 1},
				{"op": "replace", "path": path, "value": 1},
				{"op": "remove", "path": path},
				{"op": "test", "path": path},
				{"op": "test", "path": path, "value": nil},
				{"op": "test", "path": path, "value": map[string]any{}},
				{"op": "test", "path": path, "value": []any{}},
				{"op": "test", "path": path, "value": map[string]any{"b": nil}},
				{"op": "test", "path": path, "value": map[string]any{"b": map[string]any{}}},
				{"op": "move", "path": "/z", "from": path},
				{"op": "copy", "path": "/z", "from": path},
				{"op": "move", "path": path, "from": "/empty"},
				{"op": "copy", "path": path, "from": "/empty"},
			} {
				lines = append(lines, &line{Patch: append(slices.Clone(before), after)})
			}
		}
	}
	return lines
}

const pointers = `/ //x n x/n /n /nope /n/x /nope/x /off /empty /empty/x /void /void/x
	/labels /labels/app /labels/ /labels/a~1b /labels/a~0b /labels/a~2b /labels/nope
	/none /none/- /none/0 /none/-1 /none/1
	/list /list/0 /list/2 /list/3 /list/4 /list/- /list/-1 /list/-3 /list/-4 /list/-5
	/list/00 /list/01 /list/+1 /list/x /list/1.0 /list/99999999999999999999 /list/0/x
	/deep/1/args/0 /deep/-1/args/-1 /deep/-/name /deep/5/name /deep/0/env/0/name /deep/0`

// random returns patches of several operations on small documents.
func random(n int) []*line {
	r := rand.New(rand.NewSource(1))
	lines := make([]*line, n)
	for i := range lines {
		l := &line{Doc: object(r, 3)}
		for range 1 + r.Intn(4) {
			op := map[string]any{"op": pick(r, "add", "add", "remove", "replace", "move", "copy", "test"), "path": pointer(r, l.Doc)}
			switch op["op"] {
			case "move", "copy":
				op["from"] = pointer(r, l.Doc)
			case "remove":
			default:
				op["value"] = value(r, 2)
			}
			l.Patch = append(l.Patch, op)
		}
		lines[i] = l
	}
	return lines
}

func pick(r *rand.Rand, from ...string) string { return from[r.Intn(len(from))] }

func object(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range 1 + r.Intn(3) {
		m[pick(r, "a", "b", "c", "d/e")] = value(r, depth-1)
	}
	return m
}

// value returns a random value, sometimes null.
func value(r *rand.Rand, depth int) any {
	if r.Intn(8) == 0 {
		return nil
	}
	if depth <= 0 || r.Intn(3) == 0 {
		return []any{"x", "<y>", 1, 2.5, true, 1e21}[r.Intn(6)]
	}
	if r.Intn(2) == 0 {
		return object(r, depth)
	}
	list := []any{}
	for range r.Intn(4) {
		list = append(list, value(r, depth-1))
	}
	return list
}

// pointer returns a pointer to something in the document, or close to it.
func pointer(r *rand.Rand, value any) string {
	path := ""
	for {
		switch v := value.(type) {
		case map[string]any:
			key := pick(r, "a", "b", "c", "d/e")
			path += "/" + strings.ReplaceAll(key, "/", "~1")
			value = v[key]
		case []any:
			i := r.Intn(len(v)+3) - 1
			if i == len(v)+1 {
				path += "/-"
			} else {
				path += "/" + strconv.Itoa(i)
			}
			value = nil
			if 0 <= i && i < len(v) {
				value = v[i]
			}
		default:
			return path
		}
		if r.Intn(3) == 0 {
			return path
		}
	}
}
