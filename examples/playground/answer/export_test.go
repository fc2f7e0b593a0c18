package answer

import (
	"reflect"
	"testing"

	"github.com/preadmit/preadmit/internal/settings"
)

// TestPut writes options into the spec of a test as their types ask.
func TestPut(t *testing.T) {
	spec := map[string]any{}
	for name, values := range map[string][]string{
		"admission-plugins": {"LimitRanger,Priority"}, "as-group": {"a", "b"}, "as": {"me"}, "strict": {"true"}, "kubernetes-version": {"1.36"},
	} {
		put(spec, settings.Find(name, func(o *settings.Option) string { return o.Flag }), values)
	}
	want := map[string]any{
		"admissionPlugins": []any{"LimitRanger", "Priority"}, "strict": true, "kubernetesVersion": "1.36",
		"request": map[string]any{"userInfo": map[string]any{"username": "me", "groups": []any{"a", "b"}}},
	}
	if !reflect.DeepEqual(spec, want) {
		t.Errorf("%v, want %v", spec, want)
	}
}
