package manifest

import (
	"sync"
	"testing"
)

// TestSetConcurrently edits all documents of a stream at once: items that share a text, a tape or
// anchors, and documents whose tapes are released.
func TestSetConcurrently(t *testing.T) {
	for name, text := range map[string]string{
		"shared anchors": "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  spec: &s {a: 1}\n- kind: B\n  spec: *s\n- kind: C\n  spec: {b: *s}\n",
		"own anchors":    "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  spec: &s {a: 1}\n  t: *s\n- kind: B\n  spec: &s {a: 2}\n  t: *s\n",
		"merge keys":     "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  spec: {<<: {a: 1}}\n- kind: B\n  data: |\n    x",
		"documents":      "kind: A\n---\nkind: B\n---\nkind: C\n",
		"results":        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{kind: A}, {kind: B}]\nfunctionConfig: {kind: F}\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := readClean(t, text)
			docs := s.Documents()
			if list := s.ResourceList(); list != nil {
				docs = append(docs[:len(docs):len(docs)], list.FunctionConfig())
			}
			var all sync.WaitGroup
			for _, d := range docs {
				all.Go(func() {
					object := d.Object()
					object["new"] = d.Kind().Kind
					if err := d.Set(object, nil); err != nil || !d.Changed() {
						t.Errorf("%s: %v", d.At(nil), err)
					}
					d.Warnings()
					d.Text()
					d.JSON()
					d.Release()
				})
			}
			all.Wait()
			again := readClean(t, string(s.Bytes())).Documents()
			for i, d := range again {
				if d.TextAt("new") != docs[i].Kind().Kind {
					t.Errorf("document %d is\n%s", i, d.YAML())
				}
			}
			if len(again) != len(s.Documents()) {
				t.Errorf("%d documents", len(again))
			}
		})
	}
}
