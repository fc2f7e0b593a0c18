package validation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	metadata "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/preadmit/preadmit/engine/internal/schema"
)

// TestUsual compares isUsual with the rules of servers, on random metadata with parts that are almost of
// the usual form.
func TestUsual(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		parts := []string{"a", "web", "B", "7", "-", ".", "/", "_", "", "é", " ", "x.y", strings.Repeat("n", 50), "${A}"}
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(parts[min(r.IntN(len(parts)), r.IntN(len(parts)))])
		}
		return b.String()
	}
	value := func() any {
		if r.IntN(20) == 0 {
			return []any{nil, int64(1), true}[r.IntN(3)]
		}
		return text()
	}
	usual := 0
	for range 100_000 {
		object := map[string]any{"name": value()}
		for _, key := range []string{"labels", "annotations"} {
			if r.IntN(2) == 0 {
				object[key] = map[string]any{text(): value(), text(): value()}
			}
		}
		if r.IntN(10) == 0 {
			object[[]string{"namespace", "generateName", "finalizers", "uid", "creationTimestamp"}[r.IntN(5)]] = value()
		}
		if r.IntN(4) == 0 {
			entry, _ := managed(&schema.Kind{})[0].(map[string]any)
			if r.IntN(2) == 0 {
				entry[[]string{"manager", "operation", "fieldsType", "subresource", "apiVersion"}[r.IntN(5)]] = value()
			}
			object["managedFields"] = []any{entry}
		}
		if r.IntN(10) == 0 {
			object["generation"] = int64(r.IntN(3) - 1)
		}
		if !isUsual(object) {
			continue
		}
		usual++
		for _, namespaced := range []bool{false, true} {
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": object}}
			if problems := metadata.ValidateObjectMetaAccessor(u, namespaced, metadata.NameIsDNSSubdomain, field.NewPath("metadata")); isUsualCustom(object, namespaced) && len(problems) > 0 {
				t.Fatalf("%q of a custom resource: %v", object, problems)
			}
		}
		for kind, rule := range map[string]metadata.ValidateNameFunc{"Service": metadata.NameIsDNSLabel, "CronJob.batch": metadata.NameIsDNSSubdomain, "Namespace": isPathSegment} {
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": object}}
			problems := append(metadata.ValidateObjectMetaAccessor(u, true, rule, field.NewPath("metadata")), checkOwn(kind, u)...)
			for _, problem := range problems {
				if orderOf(problem) >= 0 {
					t.Fatalf("%q of a %s: %v", object, kind, problem)
				}
			}
		}
	}
	if usual < 1000 {
		t.Errorf("only %d of the metadata are usual", usual)
	}
	for size, want := range map[int]bool{10: true, maxUsual: false} {
		many := map[string]any{}
		for i := range 4 {
			many[fmt.Sprint("a", i)] = strings.Repeat("x", size/4)
		}
		if got := isUsual(map[string]any{"name": "a", "annotations": many}); got != want {
			t.Errorf("annotations of %d bytes: %v", size, got)
		}
	}
}
