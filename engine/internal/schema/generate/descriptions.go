package generate

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
)

// descriptionsPath is the file with the descriptions of the fields of the default version.
const descriptionsPath = "descriptions.json.gz"

// described returns the descriptions of the fields of a module, by the name of their type and their own: those of the
// group versions that the archive of the module has.
func described(module fs.FS, minor int) ([]byte, error) {
	names, err := groupVersions(module)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range names {
		served, err := discover(module, name, minor)
		if err != nil {
			return nil, err
		}
		if len(served) == 0 {
			continue
		}
		data, err := fs.ReadFile(module, specifications+"/"+name+"_openapi.json")
		if err != nil {
			return nil, err
		}
		if err := describe(data, all); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return compressed(data)
}

// describe adds the descriptions of the fields in a document.
func describe(data []byte, all map[string]string) error {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	for of, schema := range document.Components.Schemas {
		for field, property := range schema.Properties {
			if key := of + "." + field; property.Description != "" {
				all[key] = cmp.Or(all[key], property.Description)
			}
		}
	}
	return nil
}

// compressed returns data in the format of gzip.
func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
