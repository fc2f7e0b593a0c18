package snapshot

import (
	"errors"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

func object(namespace, name string) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{"metadata": metadata}
}

var configMap = gvk.Kind{Version: "v1", Kind: "ConfigMap"}

func TestGetAndList(t *testing.T) {
	var s Snapshot
	for _, at := range [][2]string{{"b", "z"}, {"b", "a"}, {"a", "z"}, {"b", "a"}} {
		s.Put(configMap, at[0], at[1], func(*Reader) (map[string]any, error) { return object(at[0], at[1]), nil })
	}
	s.Put(gvk.Kind{Version: "v1", Kind: "Secret"}, "b", "s", func(*Reader) (map[string]any, error) { return object("b", "s"), nil })
	if got, err := s.Reader(nil).Get(configMap, "b", "a"); err != nil || !change.Equal(got, object("b", "a")) {
		t.Error(got, err)
	}
	if got, err := s.Reader(nil).Get(configMap, "c", "a"); got != nil || err != nil {
		t.Error(got, err)
	}
	for namespace, want := range map[string][]any{
		"":  {object("a", "z"), object("b", "a"), object("b", "z")},
		"b": {object("b", "a"), object("b", "z")},
		"c": {},
	} {
		objects, err := s.Reader(nil).List(configMap, namespace)
		got := make([]any, len(objects))
		for i := range objects {
			got[i] = objects[i]
		}
		if err != nil || !change.Equal(got, want) {
			t.Errorf("%q: got %v, want %v; error %v", namespace, got, want, err)
		}
	}
}

// TestFailure checks that the error of an object that cannot be made is kept in its reader.
func TestFailure(t *testing.T) {
	var s Snapshot
	failed := errors.New("a cycle")
	s.Put(configMap, "b", "f", func(*Reader) (map[string]any, error) { return nil, failed })
	s.Put(configMap, "b", "g", func(*Reader) (map[string]any, error) { return object("b", "g"), nil })
	r := s.Reader(nil)
	if _, err := r.List(configMap, "b"); !errors.Is(err, failed) || !errors.Is(r.Err(), failed) {
		t.Error("got", err, r.Err())
	}
	if _, err := r.Get(configMap, "b", "g"); !errors.Is(err, failed) {
		t.Error("got", err)
	}
	if got, err := s.Reader(nil).Get(configMap, "b", "g"); got == nil || err != nil {
		t.Error("another reader got", got, err)
	}
}

// TestOnce checks that a value is computed once, and that errors are not kept.
func TestOnce(t *testing.T) {
	var s Snapshot
	calls := 0
	for range 3 {
		got, err := s.Reader(nil).Once(configMap, func() (any, error) {
			if calls++; calls == 1 {
				return nil, errors.New("not yet")
			}
			return calls, nil
		})
		if (err == nil) != (calls > 1) || err == nil && got != 2 {
			t.Error(got, err)
		}
	}
	if calls != 2 {
		t.Error("computed", calls, "times")
	}
}

// TestNamespace checks that policies see namespaces as kube-apiserver 1.36.3 stores them.
func TestNamespace(t *testing.T) {
	var s Snapshot
	given := map[string]any{
		"metadata": map[string]any{"name": "shop", "labels": map[string]any{"team": "web"}},
		"spec":     map[string]any{"finalizers": []any{"example.com/mine"}},
	}
	s.Put(namespaceKind, "", "shop", func(*Reader) (map[string]any, error) { return given, nil })
	r := s.Reader(nil)
	got, known, err := r.Namespace("shop")
	if want := (map[string]any{
		"metadata": map[string]any{"name": "shop", "labels": map[string]any{"team": "web", "kubernetes.io/metadata.name": "shop"}},
		"spec":     map[string]any{"finalizers": []any{"example.com/mine", "kubernetes"}},
		"status":   map[string]any{"phase": "Active"},
	}); err != nil || !known || !change.Equal(got, want) {
		t.Error(got, known, err)
	}
	if len(given["spec"].(map[string]any)["finalizers"].([]any)) != 1 {
		t.Error("the namespace that was given is modified")
	}
	got, known, err = r.Namespace("nowhere")
	if want := (map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": "nowhere", "labels": map[string]any{"kubernetes.io/metadata.name": "nowhere"}},
		"spec":     map[string]any{"finalizers": []any{"kubernetes"}},
		"status":   map[string]any{"phase": "Active"},
	}); err != nil || known || !change.Equal(got, want) {
		t.Error(got, known, err)
	}
}
