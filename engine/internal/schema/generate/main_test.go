package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestCurrent fails when the embedded text is not what the archive gives.
func TestCurrent(t *testing.T) {
	archive, err := os.ReadFile(filepath.Join("..", archivePath))
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(archive)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", textPath))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what go generate makes of %s: run go generate ./engine/internal/schema", textPath, archivePath)
	}
}

// TestPackAgain packs what an archive holds: its files must come out the same, and
// packing twice gives the same bytes. (Those of the archive depend on the version of
// Go, too.)
func TestPackAgain(t *testing.T) {
	archive, err := os.ReadFile(filepath.Join("..", archivePath))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	err = unpack(archive, func(name string, data []byte) error {
		files[name] = &fstest.MapFile{Data: data}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := pack(files)
	if err != nil || !bytes.Equal(again, twice) {
		t.Errorf("packing twice gives different bytes, error %v", err)
	}
	count := 0
	err = unpack(again, func(name string, data []byte) error {
		count++
		if !bytes.Equal(data, files[name].Data) {
			t.Errorf("%s has changed", name)
		}
		return nil
	})
	if err != nil || count != len(files) {
		t.Errorf("%d files of %d, error %v", count, len(files), err)
	}
}

func TestPack(t *testing.T) {
	files := fstest.MapFS{
		"apis__example.com__v1.json": {Data: []byte(`{"components": {"schemas": {"b": {"description": "gone", "properties": {"description": {"description": "gone", "type": "string"}}}}}}`)},
		discoveryName: {Data: []byte(`[{"groupVersion": "example.com/v1", "resource": "bs"},
			{"groupVersion": "other.example.com/v1", "resource": "custom"}]`)},
	}
	archive, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"apis__example.com__v1.json": `{"components":{"schemas":{"b":{"properties":{"description":{"type":"string"}}}}}}` + "\n",
		discoveryName:                `[{"groupVersion":"example.com/v1","resource":"bs"}]` + "\n",
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
