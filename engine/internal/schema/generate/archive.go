package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// pack makes the archive of a directory's documents: sorted, without descriptions,
// and the same bytes for the same documents.
func pack(directory fs.FS) ([]byte, error) {
	names, err := fs.Glob(directory, "*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there are no *.json files in the directory")
	}
	var archive bytes.Buffer
	compressor, err := gzip.NewWriterLevel(&archive, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	writer := tar.NewWriter(compressor)
	for _, name := range names {
		data, err := fs.ReadFile(directory, name)
		if err != nil {
			return nil, err
		}
		if name == discoveryName {
			data, err = documented(data, names)
		} else {
			data, err = strip(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatUSTAR}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(data); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}

const discoveryName = "api-resources.json"

// documented returns the entries of a discovery whose group version has a document:
// custom resources of the recorded server have none.
func documented(data []byte, names []string) ([]byte, error) {
	var all []map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(entry map[string]any) bool {
		groupVersion, _ := entry["groupVersion"].(string)
		path := "apis/" + groupVersion
		if !strings.Contains(groupVersion, "/") {
			path = "api/" + groupVersion
		}
		return !slices.Contains(names, strings.ReplaceAll(path, "/", "__")+".json")
	})
	kept, err := json.Marshal(all)
	return append(kept, '\n'), err
}

// strip removes descriptions from a document and writes it in one line per
// document, with sorted keys.
func strip(data []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	stripped, err := json.Marshal(withoutDescriptions(document, false))
	return append(stripped, '\n'), err
}

// withoutDescriptions keeps a property that is called "description".
func withoutDescriptions(value any, properties bool) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if key == "description" && !properties {
				delete(value, key)
				continue
			}
			value[key] = withoutDescriptions(v, key == "properties" && !properties)
		}
	case []any:
		for i, v := range value {
			value[i] = withoutDescriptions(v, false)
		}
	}
	return value
}

// unpack calls file for each file of an archive.
func unpack(archive []byte, file func(name string, data []byte) error) error {
	decompressor, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	reader := tar.NewReader(decompressor)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		if err := file(header.Name, data); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}
