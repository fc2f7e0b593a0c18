package jsonpatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// plain carries out an operation on which all hosts agree, sharing what it does not
// touch with object. It does nothing and reports false if there is anything unusual
// about the operation: a pointer that leads nowhere or through null, an index that is
// negative or has leading zeros, a test that involves null.
func plain(object map[string]any, op Operation) (result map[string]any, done bool, err error) {
	var changed any
	switch op.Op {
	case "add":
		changed, done = edit(object, op.Path, add(op.Value))
	case "replace":
		changed, done = edit(object, op.Path, replace(op.Value))
	case "remove":
		changed, done = edit(object, op.Path, remove)
	case "move":
		var value any
		if value, done = find(object, op.From); done {
			changed, _ = edit(object, op.From, remove)
			changed, done = edit(changed, op.Path, add(value))
		}
	case "copy":
		var value any
		if value, done = find(object, op.From); done {
			changed, done = edit(object, op.Path, add(change.Clone(value)))
		}
	case "test":
		value, found := find(object, op.Path)
		if found && value != nil && op.Value != nil && !op.NoValue {
			return object, true, test(value, op)
		}
	}
	if !done {
		return nil, false, nil
	}
	return changed.(map[string]any), true, nil
}

// A change makes a changed copy of the map or list in which key selects a member;
// it reports false if key is not plain.
type changer func(parent any, key string) (changed any, ok bool)

// edit returns a copy of value in which the map or list that holds the target of
// path has been changed. What is not on the way there is shared.
func edit(value any, path string, change changer) (any, bool) {
	key, rest, ok := cut(path)
	if !ok {
		return nil, false
	}
	if rest == "" {
		return change(value, key)
	}
	member, ok := get(value, key)
	if !ok {
		return nil, false
	}
	if member, ok = edit(member, rest, change); !ok {
		return nil, false
	}
	return set(value, key, member), true
}

// find returns the value at the end of path.
func find(value any, path string) (any, bool) {
	for {
		key, rest, ok := cut(path)
		if !ok {
			return nil, false
		}
		if value, ok = get(value, key); !ok || rest == "" {
			return value, ok
		}
		path = rest
	}
}

// cut splits the first key off a JSON Pointer. It fails if there is none.
func cut(path string) (key, rest string, ok bool) {
	if path == "" || path[0] != '/' {
		return "", "", false
	}
	key, rest = path[1:], ""
	if i := strings.IndexByte(key, '/'); i >= 0 {
		key, rest = key[:i], key[i:]
	}
	return unescape(key), rest, true
}

// unescape decodes a key of a JSON Pointer. A tilde that escapes nothing stands for
// itself, as the library has it.
func unescape(key string) string {
	if strings.IndexByte(key, '~') < 0 {
		return key
	}
	return escapes.Replace(key)
}

var escapes = strings.NewReplacer("~1", "/", "~0", "~")

// index reads a plain index below limit.
func index(key string, limit int) (int, bool) {
	if key == "" || len(key) > 9 || key[0] == '0' && key != "0" {
		return 0, false
	}
	i := 0
	for _, c := range []byte(key) {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = 10*i + int(c-'0')
	}
	return i, i < limit
}

func get(parent any, key string) (any, bool) {
	switch parent := parent.(type) {
	case map[string]any:
		member, ok := parent[key]
		return member, ok
	case []any:
		if i, ok := index(key, len(parent)); ok {
			return parent[i], true
		}
	}
	return nil, false
}

// set returns a copy of parent in which a member that is there is another, or to
// which a map's member is added.
func set(parent any, key string, member any) any {
	switch parent := parent.(type) {
	case map[string]any:
		copied := make(map[string]any, len(parent)+1)
		maps.Copy(copied, parent)
		copied[key] = member
		return copied
	case []any:
		copied := slices.Clone(parent)
		i, _ := index(key, len(parent))
		copied[i] = member
		return copied
	}
	return parent
}

func add(value any) changer {
	return func(parent any, key string) (any, bool) {
		switch parent := parent.(type) {
		case map[string]any:
			return set(parent, key, value), true
		case []any:
			i, ok := index(key, len(parent)+1)
			if key == "-" {
				i, ok = len(parent), true
			}
			if !ok {
				return nil, false
			}
			return slices.Insert(slices.Clip(slices.Clone(parent)), i, value), true
		}
		return nil, false
	}
}

func replace(value any) changer {
	return func(parent any, key string) (any, bool) {
		if _, ok := get(parent, key); !ok {
			return nil, false
		}
		return set(parent, key, value), true
	}
}

func remove(parent any, key string) (any, bool) {
	if _, ok := get(parent, key); !ok {
		return nil, false
	}
	switch parent := parent.(type) {
	case map[string]any:
		copied := maps.Clone(parent)
		delete(copied, key)
		return copied, true
	case []any:
		i, _ := index(key, len(parent))
		return slices.Delete(slices.Clone(parent), i, i+1), true
	}
	return nil, false
}

// test compares numbers as JSON prints them: 3.0 is 3.
func test(value any, op Operation) error {
	if change.Equal(normalize(value), op.Value) {
		return nil
	}
	return failed(op)
}

func failed(op Operation) error {
	return fmt.Errorf("testing value %s failed: %w", op.Path, ErrTestFailed)
}
