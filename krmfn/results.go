package krmfn

import (
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// locator finds the items that diagnostics are about. Users of a client never see the
// ResourceList, so locator translates positions in it to the files of the items, if these are
// known.
type locator struct {
	config *functionConfig
	// documents are the items and the functionConfig in the order of the text.
	documents []*manifest.Document
	byID      map[string]*manifest.Document
	byOrigin  map[source.Position]*manifest.Document
}

func newLocator(stream *manifest.Stream, config *functionConfig, a *admission) *locator {
	l := &locator{config: config, documents: slices.Clone(stream.Documents()), byID: map[string]*manifest.Document{}, byOrigin: map[source.Position]*manifest.Document{}}
	if config != nil {
		l.documents = append(l.documents, config.document)
		slices.SortStableFunc(l.documents, func(a, b *manifest.Document) int { return a.At(nil).Compare(b.At(nil)) })
	}
	if a.outcome != nil {
		for _, m := range a.outcome.Manifests {
			l.byID[m.ID] = m.Document
			l.byOrigin[m.Document.At(nil)] = m.Document
		}
	}
	return l
}

// documentAt returns the item at a position, or nil.
func (l *locator) documentAt(p source.Position) *manifest.Document {
	if l.config != nil {
		p = l.config.locate(p)
	}
	if p.File != "-" || p.Line == 0 {
		return nil
	}
	i, found := slices.BinarySearchFunc(l.documents, p, func(d *manifest.Document, p source.Position) int { return d.At(nil).Compare(p) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return l.documents[i]
}

// locate returns a position that the user understands.
func (l *locator) locate(p source.Position) source.Position {
	if l.config != nil {
		p = l.config.locate(p)
	}
	if d := l.documentAt(p); d != nil {
		if file, _ := fileOf(d); file != "" {
			return source.Position{File: file}
		}
	}
	return p
}

// file is locate without positions in the ResourceList.
func (l *locator) file(p source.Position) source.Position {
	if p = l.locate(p); p.File == "-" {
		return source.Position{}
	}
	return p
}

// fileOf returns the file of a document, and its index in the file, from the annotations of the
// client.
func fileOf(d *manifest.Document) (file string, index int64) {
	annotations := annotationsOf(d.Object())
	either := func(name, oldName string) string {
		if value := annotations[name]; value != "" {
			return value
		}
		return annotations[oldName]
	}
	if file = either(pathAnnotation, oldPathAnnotation); file != "" {
		index, _ = strconv.ParseInt(either(indexAnnotation, oldIndexAnnotation), 10, 64)
		return file, index
	}
	for line := range strings.Lines(annotations[originAnnotation]) {
		if path, ok := strings.CutPrefix(line, "path: "); ok {
			return strings.TrimSpace(path), 0
		}
	}
	return "", 0
}

// result returns a diagnostic as an entry of results. The message does not repeat values that
// the entry has in fields.
func (l *locator) result(d source.Diagnostic) map[string]any {
	result := map[string]any{"severity": d.Severity.String(), "tags": map[string]any{"code": d.Code}}
	about, is := l.byOrigin[d.Origin]
	if !is {
		about, is = l.byID[d.Subject]
	}
	at := l.documentAt(d.At)
	if !is && at != nil {
		about, is = at, d.Subject == "" || d.Subject == l.nameOf(at)
	}
	if about != nil {
		result["resourceRef"] = referenceTo(about)
		if file, index := fileOf(about); file != "" {
			result["file"] = map[string]any{"path": file, "index": index}
		}
	} else if d.At.IsKnown() && d.At.File != "-" {
		result["file"] = map[string]any{"path": d.At.File}
	}
	if is && d.Field != "" {
		result["field"] = map[string]any{"path": d.Field}
	}
	text := l.message(d, is)
	if p := l.locate(d.At); p.IsKnown() && p.File != "-" && (about != at || about == nil) {
		text = p.String() + ": " + text
	}
	result["message"] = strings.ToValidUTF8(text, "\uFFFD") // file names may contain any bytes
	return result
}

// message returns the text of a diagnostic, without its subject and its field if the entry of the
// results has them.
func (l *locator) message(d source.Diagnostic, known bool) string {
	var message strings.Builder
	for _, name := range []string{d.Subject, d.Field} {
		if !known && name != "" {
			message.WriteString(source.Printable(name) + ": ")
		}
	}
	message.WriteString(d.Printed())
	for _, p := range d.Relocated(l.file).Related {
		message.WriteString("; " + source.Printable(p.Name))
		if p.At.IsKnown() {
			message.WriteString(" (" + p.At.String() + ")")
		}
	}
	for _, f := range d.Relocated(l.file).Facts {
		message.WriteString("; " + f.String())
	}
	if d.Advice != "" { // not on a new line: kpt prints a line break as a space
		message.WriteString("; " + d.Advice)
	}
	if d.Excerpt != "" {
		message.WriteString("\n" + source.PrintableDetail(d.Excerpt))
	}
	if others := d.Relocated(l.file).Others(); others != nil {
		message.WriteString("; " + others[0] + " " + strings.Join(others[1:], ", "))
	}
	return message.String()
}

// nameOf returns the name of a document that is not a manifest, as in diagnostics.
func (l *locator) nameOf(d *manifest.Document) string {
	if l.config != nil && d == l.config.document && !engine.IsPolicy(d.Kind()) {
		return l.config.subject()
	}
	return strings.TrimSpace(d.Kind().Kind + " " + d.Name())
}

// referenceTo returns the resourceRef of an object.
func referenceTo(d *manifest.Document) map[string]any {
	reference := map[string]any{}
	for key, value := range map[string]string{"apiVersion": d.Kind().APIVersion(), "kind": d.Kind().Kind, "name": d.Name(), "namespace": d.Namespace()} {
		if value != "" {
			reference[key] = value
		}
	}
	if d.Name() == "" {
		if name, ok := change.Keys("metadata", "generateName").Get(d.Object()); ok {
			reference["name"] = name
		}
	}
	return reference
}
