package validation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// TestKeepsAll compares the shortcut with pruning, for all recorded custom resources.
func TestKeepsAll(t *testing.T) {
	files, err := filepath.Glob("../../testdata/custom/*.json")
	if err != nil {
		t.Fatal(err)
	}
	kept, compared := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Definitions []json.RawMessage
			Records     []struct {
				Name   string
				Object json.RawMessage
			}
		}
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatal(err)
		}
		schemas := schema.BuiltinOf(36).Clone()
		for _, definition := range recorded.Definitions {
			schemas.AddCRD(object(definition))
		}
		for _, r := range recorded.Records {
			o := object(r.Object)
			apiVersion, _ := o["apiVersion"].(string)
			name, _ := o["kind"].(string)
			kind := schemas.Lookup(gvk.Parse(apiVersion, name))
			if kind == nil || !Checks(kind) {
				continue
			}
			c, _ := New(36).newCustom(kind).(*custom)
			if c == nil {
				continue
			}
			compared++
			if !keepsAll(o, c.structural) {
				continue
			}
			kept++
			copied := change.CloneObject(o)
			dropped := pruning.PruneWithOptions(copied, c.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
			_, embedded := objectmeta.CoerceWithOptions(nil, copied, c.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
			if len(dropped)+len(embedded) > 0 || !change.Equal(copied, o) {
				t.Errorf("%s, %s: surely keeps all fields, but a server drops %v %v", file, r.Name, dropped, embedded)
			}
		}
	}
	if kept < 500 || kept == compared {
		t.Errorf("%d of %d keep all fields", kept, compared)
	}
}

func object(text json.RawMessage) map[string]any {
	value, _ := number.Decode(string(text))
	object, _ := value.(map[string]any)
	return object
}
