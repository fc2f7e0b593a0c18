package generate

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

// The directories of the module k8s.io/kubernetes with the OpenAPI documents and the discovery.
const (
	specifications = "api/openapi-spec/v3"
	discoveries    = "api/discovery"
)

// gated are the group versions that the module documents, but that a server serves only with a
// feature gate. This holds up to a minor version; 0 means all known versions.
var gated = []struct {
	groupVersion string
	before       int
}{
	{"certificates.k8s.io/v1alpha1", 37},
	{"certificates.k8s.io/v1beta1", 37},
	{"lifecycle.k8s.io/v1alpha1", 0},
	{"scheduling.k8s.io/v1alpha1", 0},
	{"scheduling.k8s.io/v1alpha2", 0},
	{"scheduling.k8s.io/v1alpha3", 0},
	{"scheduling.k8s.io/v1beta1", 0},
	{"storagemigration.k8s.io/v1alpha1", 0},
	{"storagemigration.k8s.io/v1beta1", 37},
}

func isGated(groupVersion string, minor int) bool {
	for _, g := range gated {
		if g.groupVersion == groupVersion && (g.before == 0 || minor < g.before) {
			return true
		}
	}
	return false
}

// pack returns the archive of a version from its module: sorted, without descriptions, and with
// the same bytes for the same module.
func pack(module fs.FS, minor int) ([]byte, error) {
	names, err := groupVersions(module)
	if err != nil {
		return nil, err
	}
	var files []file
	var resources []resource
	for _, name := range names {
		served, err := discover(module, name, minor)
		if err != nil {
			return nil, err
		}
		if len(served) == 0 {
			continue
		}
		document, err := fs.ReadFile(module, specifications+"/"+name+"_openapi.json")
		if err != nil {
			return nil, err
		}
		stripped, err := strip(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, file{name + ".json", stripped})
		resources = append(resources, served...)
	}
	list, err := json.Marshal(resources)
	if err != nil {
		return nil, err
	}
	return archive(append([]file{{discoveryName, append(list, '\n')}}, files...))
}

// file is a file of an archive.
type file struct {
	name string
	data []byte
}

func archive(files []file) ([]byte, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data)), Format: tar.FormatUSTAR}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return compressed(archive.Bytes())
}

const discoveryName = "api-resources.json"

// groupVersions returns the file names of the group versions in the module, "api__v1" and
// "apis__apps__v1", sorted.
func groupVersions(module fs.FS) ([]string, error) {
	paths, err := fs.Glob(module, discoveries+"/*.json")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(path, discoveries+"/"), ".json")
		words := strings.Split(name, "__")
		if words[0] == "api" && len(words) == 2 || words[0] == "apis" && len(words) == 3 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the directory is not that of a module k8s.io/kubernetes: it has no " + discoveries)
	}
	slices.Sort(names)
	return names, nil
}

// discover returns the resources that a group version serves.
func discover(module fs.FS, name string, minor int) ([]resource, error) {
	data, err := fs.ReadFile(module, discoveries+"/"+name+".json")
	if err != nil {
		return nil, err
	}
	var list struct {
		GroupVersion string `json:"groupVersion"`
		Resources    []struct {
			Name, Kind, Group, Version string
			Namespaced                 bool
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var served []resource
	for _, r := range list.Resources {
		if !isGated(list.GroupVersion, minor) {
			served = append(served, resource{list.GroupVersion, r.Name, r.Kind, r.Group, r.Version, r.Namespaced})
		}
	}
	return served, nil
}

// strip keeps the schemas of a document without descriptions, and writes them on one line with
// sorted keys.
func strip(data []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	withoutDescriptions(document.Components.Schemas, true)
	stripped, err := json.Marshal(document)
	return append(stripped, '\n'), err
}

// withoutDescriptions removes descriptions, but keeps a property with the name "description".
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
