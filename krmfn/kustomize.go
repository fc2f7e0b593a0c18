package krmfn

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// originAnnotations is the item of buildMetadata with which kustomize annotates every object with the file
// that it comes from.
const originAnnotations = "originAnnotations"

// originPath is the path of the annotation in an object.
var originPath = change.Keys("metadata", "annotations", originAnnotation)

// generator is a generator of kustomize that has made an object.
type generator struct{ kind string }

// helmGenerator is the kind of the generator that renders the charts of a kustomization.
const helmGenerator = "HelmChartInflationGenerator"

// at returns the position in a kustomization of the generator of an object: the only one, or the one whose
// name the object has as the longest part of its own.
func (g generator) at(kustomization *manifest.Stream, name string) source.Position {
	field := strings.ToLower(g.kind[:1]) + g.kind[1:]
	if g.kind == helmGenerator {
		field = "helmCharts"
	}
	for _, d := range kustomization.Documents() {
		items, _ := d.Object()[field].([]any)
		best, length := -1, 0
		for i, item := range items {
			own, _ := item.(map[string]any)
			for _, key := range []string{"name", "releaseName"} {
				if part, _ := own[key].(string); len(part) > length && strings.Contains(name, part) {
					best, length = i, len(part)
				}
			}
		}
		switch {
		case len(items) == 1:
			return d.At(change.Keys(field).Index(0))
		case best >= 0:
			return d.At(change.Keys(field).Index(best))
		case items != nil:
			return d.At(change.Keys(field))
		}
	}
	return source.Position{File: kustomization.Name(), Line: 1, Column: 1}
}

// origin is what kustomize says about an object: the file that it was read from, or the kustomization
// and the generator that has made it.
type origin struct {
	file string
	made generator
}

// readOrigin reads the annotation of an object. base is the directory that its path is relative to.
func readOrigin(d *manifest.Document, base string) origin {
	text, _ := originPath.Get(d.Object())
	written, _ := text.(string)
	stream, _ := manifest.ReadPlain("", []byte(written))
	if len(stream.Documents()) != 1 {
		return origin{}
	}
	about := stream.Documents()[0]
	var o origin
	name := about.TextAt("path")
	if kind := about.TextAt("configuredBy", "kind"); kind != "" {
		name, o.made = about.TextAt("configuredIn"), generator{kind}
	}
	if name == "" || about.TextAt("repo") != "" { // a repository elsewhere
		return origin{}
	}
	o.file = filepath.Join(base, filepath.FromSlash(name))
	return o
}

// overlay writes a kustomization that has another one as its only resource and asks for the origins of
// objects. It returns its directory, and what removes it; an empty directory if the other one has to be
// built by itself.
func overlay(dir string) (above string, remove func()) {
	nothing := func() {}
	kustomization := map[string]any{}
	for _, name := range input.KustomizationNames {
		data, err := new(limit.Input).ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		stream, problems := manifest.ReadPlain(name, data)
		if source.HasErrors(problems) || len(stream.Documents()) != 1 {
			return "", nothing
		}
		kustomization = stream.Documents()[0].Object()
		break
	}
	metadata, _ := kustomization["buildMetadata"].([]any)
	if slices.Contains(metadata, any(originAnnotations)) || slices.Contains(metadata, "transformerAnnotations") {
		return "", nothing
	}
	above, err := os.MkdirTemp("", "preadmit-build-")
	if err != nil {
		return "", nothing
	}
	remove = func() { _ = os.RemoveAll(above) }
	rel, err := filepath.Rel(input.RealPath(above), input.RealPath(dir))
	wrapper := map[string]any{"resources": []any{filepath.ToSlash(rel)}, "buildMetadata": append(slices.Clone(metadata), originAnnotations)}
	if options, given := kustomization["sortOptions"]; given {
		wrapper["sortOptions"] = options
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(above, input.KustomizationNames[0]), manifest.YAML(wrapper), 0o600)
	}
	if err != nil {
		remove()
		return "", nothing
	}
	return above, remove
}

// kustomize renders the kustomization of an application. origins are those of its objects; nil if they
// are not known.
func (p *Process) kustomize(ctx context.Context, program *Program) (output []byte, found []origin, err error) {
	above, remove := overlay(program.Dir)
	defer remove()
	if above != "" {
		annotated := *program
		annotated.Args, annotated.Stderr = slices.Clone(program.Args), new(limit.Buffer)
		annotated.Args[slices.Index(annotated.Args, ".")] = above
		if output, err := p.start(ctx, &annotated); err == nil {
			if plain, found, ok := removeOrigins(output, input.RealPath(above)); ok {
				return plain, found, nil
			}
		}
	}
	if output, err = p.start(ctx, program); err != nil { // its messages are about the user's files
		return nil, nil, err
	}
	stream, _ := manifest.Read("", output)
	for _, d := range stream.Documents() {
		found = append(found, readOrigin(d, input.RealPath(program.Dir)))
	}
	return output, found, nil
}

// removeOrigins removes the annotations that overlay has asked for, and returns the origins. ok is false
// if not every object has one.
func removeOrigins(output []byte, base string) (plain []byte, found []origin, ok bool) {
	stream, problems := manifest.Read("", output)
	if source.HasErrors(problems) {
		return nil, nil, false
	}
	lines := strings.SplitAfter(stream.Text(), "\n")
	for _, d := range stream.Documents() {
		annotations, _ := originPath[:len(originPath)-1].Get(d.Object())
		first := d.At(originPath).Line - 1
		if all, _ := annotations.(map[string]any); all[originAnnotation] == nil || !strings.HasSuffix(lines[first], originAnnotation+": |\n") {
			return nil, nil, false
		}
		found = append(found, readOrigin(d, base))
		indent := len(lines[first]) - len(strings.TrimLeft(lines[first], " "))
		for i := first + 1; i < len(lines) && strings.HasPrefix(lines[i], strings.Repeat(" ", indent+1)); i++ {
			lines[i] = ""
		}
		if lines[first] = ""; len(annotations.(map[string]any)) == 1 {
			lines[first-1] = ""
		}
	}
	return []byte(strings.Join(lines, "")), found, true
}

// ofKustomize returns the file of the object with an index. dir is the directory of the kustomization,
// whose path may have symbolic links.
func ofKustomize(found []origin, i int, dir string) (string, generator) {
	if i >= len(found) || found[i].file == "" {
		return "", generator{}
	}
	rel, err := filepath.Rel(input.RealPath(dir), found[i].file)
	if err != nil {
		return found[i].file, found[i].made
	}
	return filepath.Join(dir, rel), found[i].made
}
