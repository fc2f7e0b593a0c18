package webhook

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/preadmit/preadmit/engine/policy"
)

// TestSame compares answers whose patches have the same operations in two orders.
func TestSame(t *testing.T) {
	answer := func(first, second string) policy.Answer {
		patch := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "[%s,%s]", first, second))
		return policy.Answer{Body: fmt.Appendf(nil, `{"response":{"uid":"a","allowed":true,"patchType":"JSONPatch","patch":%q}}`, patch)}
	}
	add := func(path string) string { return fmt.Sprintf(`{"op":"add","path":%q,"value":{}}`, path) }
	for name, c := range map[string]struct {
		first, second string
		same          bool
	}{
		"fields":             {add("/metadata/labels"), add("/spec/a"), true},
		"fields of items":    {add("/spec/containers/0/env"), add("/spec/containers/1/env"), true},
		"like names":         {add("/metadata/labels/a"), add("/metadata/labels/ab"), true},
		"a field in another": {add("/metadata/labels"), add("/metadata/labels/a"), false},
		"the same field":     {add("/spec/a"), `{"op":"remove","path":"/spec/a"}`, false},
		"written twice":      {`{"op":"add","path":"/spec/a","value":""},{"op":"replace","path":"/spec/a","value":"b"}`, add("/metadata/labels"), true},
		"items":              {add("/spec/containers/0"), add("/spec/containers/1"), false},
		"new items":          {add("/spec/containers/-"), add("/spec/volumes/-"), false},
		"an item's field":    {add("/spec/containers/0"), add("/spec/containers/0/env"), false},
		"a copy":             {`{"op":"copy","from":"/a","path":"/b"}`, add("/a"), false},
		"a test":             {`{"op":"test","path":"/a","value":1}`, add("/b"), false},
		"the whole object":   {add(""), add("/b"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Same(answer(c.first, c.second), answer(c.second, c.first)); got != c.same {
				t.Errorf("%t, want %t", got, c.same)
			}
			if !Same(answer(c.first, c.second), answer(c.first, c.second)) {
				t.Error("an answer differs from itself")
			}
		})
	}
}
