package generate

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestCurrent checks that the embedded texts are what the archives give.
func TestCurrent(t *testing.T) {
	want, err := texts("..")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range want {
		got, err := os.ReadFile(filepath.Join("..", path))
		if err != nil || string(got) != text {
			t.Errorf("%s is not what go generate makes of the archives: run go generate ./engine/internal/schema (%v)", path, err)
		}
	}
}

func TestPack(t *testing.T) {
	module := fstest.MapFS{
		discoveries + "/apis__example.com__v1.json": {Data: []byte(`{"groupVersion": "example.com/v1", "resources": [{"name": "bs", "kind": "b", "namespaced": true}]}`)},
		discoveries + "/apis__example.com.json":     {Data: []byte(`{"kind": "APIGroup"}`)},
		specifications + "/apis__example.com__v1_openapi.json": {Data: []byte(
			`{"paths": {}, "components": {"schemas": {"b": {"description": "gone", "properties": {"description": {"description": "gone", "type": "string"}}}}}}`)},
		discoveries + "/apis__certificates.k8s.io__v1beta1.json": {Data: []byte(`{"groupVersion": "certificates.k8s.io/v1beta1", "resources": [{"name": "gated"}]}`)},
		discoveries + "/api__v1.json":                            {Data: []byte(`{"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"}]}`)},
		specifications + "/api__v1_openapi.json":                 {Data: []byte(`{"components": {"schemas": {"description": {}}}}`)},
	}
	archive, err := pack(module, 36)
	if err != nil {
		t.Fatal(err)
	}
	again, err := pack(module, 36)
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("packing twice gives different bytes, error %v", err)
	}
	want := map[string]string{
		"apis__example.com__v1.json": `{"components":{"schemas":{"b":{"properties":{"description":{"type":"string"}}}}}}` + "\n",
		"api__v1.json":               `{"components":{"schemas":{"description":{}}}}` + "\n",
		discoveryName: `[{"groupVersion":"v1","resource":"pods","kind":"Pod"},` +
			`{"groupVersion":"example.com/v1","resource":"bs","kind":"b","namespaced":true}]` + "\n",
	}
	err = unpack(archive, func(name string, data []byte) error {
		if string(data) != want[name] {
			t.Errorf("%s: got %s want %s", name, data, want[name])
		}
		delete(want, name)
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("missing %v, error %v", want, err)
	}
}

func TestDescribed(t *testing.T) {
	all := map[string]string{}
	for _, document := range []string{
		`{"components": {"schemas": {"io.a.Pod": {"description": "not a field", "properties": {"spec": {"description": "what it is", "allOf": [{}]}, "kind": {"type": "string"}}}}}}`,
		`{"components": {"schemas": {"io.a.Pod": {"properties": {"spec": {"description": "the same type again"}}}}}}`,
	} {
		if err := describe([]byte(document), all); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]string{"io.a.Pod.spec": "what it is"}; !maps.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

// TestPackOther checks that a directory without the module is refused.
func TestPackOther(t *testing.T) {
	if _, err := pack(fstest.MapFS{"README.md": {}}, 36); err == nil {
		t.Error("packed a directory without a discovery")
	}
}
