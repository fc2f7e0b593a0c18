package krmfn

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// origins finds the places in the repository of the objects that an application renders.
type origins struct {
	files    *files
	program  *Program
	rendered *manifest.Stream
	// found are what kustomize says about the objects, and parts the documents of helm as text.
	found []origin
	parts []templatePart
	// read has the files that were read, and placed the objects that were found in them.
	read   map[string]*manifest.Stream
	placed map[int]placed
}

// placed is where an object is in the repository. It has the document, or only a position.
type placed struct {
	document *manifest.Document
	at       source.Position
}

func newOrigins(f *files, program *Program, rendered *manifest.Stream, found []origin) *origins {
	return &origins{
		files: f, program: program, rendered: rendered, found: found, parts: templateParts(rendered.Text()),
		read: map[string]*manifest.Stream{}, placed: map[int]placed{},
	}
}

// locate returns the position in the repository of a position in the rendered text: of the field at a
// path, or else of the object. It returns the position itself if the file is not known.
func (o *origins) locate(at source.Position, field change.Path) source.Position {
	documents := o.rendered.Documents()
	i, found := slices.BinarySearchFunc(documents, at, func(d *manifest.Document, p source.Position) int { return d.At(nil).Compare(p) })
	if !found {
		i--
	}
	switch {
	case at.Line == 0:
		return at
	case i < 0 || partAt(o.parts, at.Line) != partAt(o.parts, documents[i].At(nil).Line): // of a document that cannot be read
		if full := o.template(at.Line); full != "" {
			return source.Position{File: o.files.reader.Name(input.Path{}, full), Line: 1, Column: 1}
		}
		return at
	}
	p, known := o.placed[i]
	if !known {
		p = o.place(i, documents[i])
		o.placed[i] = p
	}
	switch {
	case p.document != nil:
		return p.document.At(agreed(documents[i].Object(), p.document.Object(), field))
	case p.at.IsKnown():
		return p.at
	}
	return at
}

// place finds an object in the repository.
func (o *origins) place(i int, d *manifest.Document) placed {
	full, made := o.template(d.At(nil).Line), generator{}
	if o.program.name() != "helm" {
		full, made = ofKustomize(o.found, i, o.program.Dir)
	}
	if full == "" {
		return placed{}
	}
	name := o.files.reader.Name(input.Path{}, full)
	stream, read := o.read[full]
	if !read {
		if data, err := new(limit.Input).ReadFile(full); err == nil {
			stream, _ = manifest.ReadPlain(name, input.NewFile(name, data).Text)
		}
		o.read[full] = stream
	}
	switch {
	case stream == nil:
		return placed{}
	case made != generator{}:
		return placed{at: made.at(stream, d.Name())}
	case o.program.name() == "helm" && strings.Contains(stream.Text(), "{{"):
		return placed{at: source.Position{File: name, Line: inTemplate(stream.Text(), d.Kind().Kind, d.Name()), Column: 1}}
	}
	if written := sourceOf(stream, d); written != nil {
		return placed{document: written}
	}
	return placed{at: source.Position{File: name, Line: 1, Column: 1}}
}

// sourceOf returns the document of a file from which an object was rendered: of the same kind, and with
// its name or a part of it. It returns nil unless that is only one.
func sourceOf(stream *manifest.Stream, d *manifest.Document) *manifest.Document {
	sameKind := slices.DeleteFunc(slices.Clone(stream.Documents()), func(other *manifest.Document) bool { return other.Kind() != d.Kind() })
	for _, isSame := range []func(*manifest.Document) bool{
		func(other *manifest.Document) bool {
			return other.Name() == d.Name() && other.Namespace() == d.Namespace()
		},
		func(other *manifest.Document) bool { return other.Name() == d.Name() },
		func(other *manifest.Document) bool { return strings.Contains(d.Name(), other.Name()) },
		func(*manifest.Document) bool { return true },
	} {
		same := slices.DeleteFunc(slices.Clone(sameKind), func(other *manifest.Document) bool { return !isSame(other) })
		switch len(same) {
		case 0:
			continue
		case 1:
			return same[0]
		}
		return nil
	}
	return nil
}

// agreed returns the beginning of a path up to which a rendered object has what is written.
func agreed(rendered, written map[string]any, field change.Path) change.Path {
	for i := range field {
		a, inRendered := field[:i+1].Get(rendered)
		b, inWritten := field[:i+1].Get(written)
		switch _, isMap := a.(map[string]any); {
		case !inRendered && !inWritten:
			return field
		case inRendered != inWritten, field[i].IsIndex() && !sameItem(a, b):
			return field[:i]
		case !isMap && i == len(field)-1 && !change.Equal(a, b):
			return field[:i]
		}
	}
	return field
}

// sameItem reports whether two items of lists are the same.
func sameItem(a, b any) bool {
	from, isMap := a.(map[string]any)
	to, _ := b.(map[string]any)
	if name, named := from["name"]; isMap && named {
		return to["name"] == name
	}
	return change.Equal(a, b)
}

var (
	// kindLine is the line of a template that has the kind of an object, and includes matches what may
	// render objects that the template does not show.
	kindLine = lazyregexp.New(`^kind:\s*["']?([^"'\s#]*)`)
	includes = lazyregexp.New(`\{\{-?\s*(include|template|tpl|\.Values|toYaml)\b`)
)

// inTemplate returns the line of a template at which the only object of a kind begins, or the only one
// that also has a name; 1 if the template does not show it.
func inTemplate(text, kind, name string) int {
	var ofKind, named []int
	for _, part := range templateParts(text) {
		begin, kinds, isNamed := 0, 0, false
		for i, line := range part.lines {
			found := kindLine().FindStringSubmatch(line)
			if begin == 0 && (found != nil || strings.HasPrefix(line, "apiVersion:")) {
				begin = part.first + i
			}
			if found != nil {
				if kinds++; kinds > 1 || strings.Contains(found[1], "{{") {
					return 1
				}
				if found[1] == kind {
					ofKind = append(ofKind, begin)
				}
			} else if line != "" && line[0] == '{' && includes().MatchString(line) {
				return 1
			}
			isNamed = isNamed || strings.Trim(strings.TrimSpace(line), `"'`) == "name: "+name
		}
		if isNamed && len(ofKind) > 0 && ofKind[len(ofKind)-1] == begin {
			named = append(named, begin)
		}
	}
	switch {
	case len(ofKind) == 1:
		return ofKind[0]
	case len(named) == 1:
		return named[0]
	}
	return 1
}

// templatePart is a part of a template, or of the output of Helm, between separators. first is the number of its first
// line.
type templatePart struct {
	first int
	lines []string
}

func templateParts(text string) []templatePart {
	parts := []templatePart{{first: 1}}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "---") {
			parts = append(parts, templatePart{first: i + 2})
			continue
		}
		last := &parts[len(parts)-1]
		last.lines = append(last.lines, strings.TrimSuffix(line, "\r"))
	}
	return parts
}

// helmSource begins the comment in which helm names the template of an object.
const helmSource = "# Source: "

// partAt returns the index of the part that has a line; -1 if the line is before all of them.
func partAt(parts []templatePart, line int) int {
	i, found := slices.BinarySearchFunc(parts, line, func(p templatePart, line int) int { return cmp.Compare(p.first, line) })
	if !found {
		i--
	}
	return i
}

// sourceAt returns the template that helm names in a comment for a line of its output; "" if there is none.
func (o *origins) sourceAt(line int) string {
	i := partAt(o.parts, line)
	if i < 0 || o.program.name() != "helm" {
		return ""
	}
	for _, text := range o.parts[i].lines {
		if name, ok := strings.CutPrefix(text, helmSource); ok {
			return name
		}
	}
	return ""
}

// template returns the template that helm has rendered into a line of its output; "" if it is not known.
func (o *origins) template(line int) string {
	name := o.sourceAt(line)
	if name == "" {
		return ""
	}
	_, rest, _ := strings.Cut(filepath.ToSlash(filepath.Clean(name)), "/") // it begins with the name of the chart
	full := filepath.Join(o.program.Dir, filepath.FromSlash(rest))
	if input.IsWithin(full, o.program.Dir) && isRegular(full) {
		return full
	}
	return ""
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
