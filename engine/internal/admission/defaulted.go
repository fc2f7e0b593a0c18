package admission

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Defaulted returns the default of a field of a kind, and whether it has one, in an object that
// has only the parents of the field. All indexes of the path must be 0.
func Defaulted(kind *schema.Kind, path change.Path) (any, bool) {
	if len(path) < 2 || path[0] == change.Key("metadata") {
		return nil, false
	}
	var holder any = map[string]any{}
	for _, e := range slices.Backward(path[:len(path)-1]) {
		if e.IsIndex() {
			holder = []any{holder}
		} else {
			holder = map[string]any{e.Key: holder}
		}
	}
	object := holder.(map[string]any)
	object["apiVersion"], object["kind"], object["metadata"] = kind.APIVersion(), kind.Kind.Kind, map[string]any{"name": "any"}
	view, err := View(nil, kind, object, "default")
	if err != nil {
		return nil, false
	}
	return path.Get(view)
}
