package tfprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// document is one object and what became of it.
type document struct {
	*manifest.Document
	text *text
	// manifest is nil if policies are not run on the document: it is one, or it is for
	// the tools only.
	manifest  *engine.Manifest
	namespace string // as keys have it
	// secret says that it is a Secret, sensitive that its content must stay secret.
	secret, sensitive bool
	// json is the object with the changes.
	json string
}

// admission is one run of the engine.
type admission struct {
	config   *config
	streams  []*manifest.Stream
	outcome  *engine.Outcome // nil if the run never began
	set      *engine.Set
	problems []message
	// reported are the texts of the problems; origins says where texts were given, by name.
	reported map[string]bool
	origins  map[string]origin
	// documents are those of the manifests in their order; none if there are errors.
	documents []document
}

// failed reports whether there is no output.
func (a *admission) failed() bool {
	for _, p := range a.problems {
		if p.severity == source.Error {
			return true
		}
	}
	return false
}

// admit runs the policies of a config on its manifests, those that are sensitive last.
func admit(ctx context.Context, sets *cache, c *config, observers ...engine.Observer) *admission {
	a := &admission{config: c, reported: map[string]bool{}}
	texts := a.texts()
	streams, diagnostics := c.readStreams(texts)
	a.streams = streams
	for _, stream := range streams[len(c.manifests):] {
		stream.MarkSensitive()
	}
	compiled := sets.compile(c)
	a.add(nil, append(diagnostics, compiled.diagnostics...)...)
	if a.failed() || compiled.set == nil {
		return a
	}
	a.set = compiled.set
	a.outcome = a.set.Run(ctx, streams, observers...)
	a.collect(texts)
	a.add(a.secrets(), a.outcome.Diagnostics...)
	if err := ctx.Err(); err != nil {
		a.add(nil, source.Errorf(source.Position{}, "interrupted", "the run did not finish: %v", err))
	}
	return a
}

// texts are the manifests of the config.
func (a *admission) texts() []text {
	return append(a.config.manifests[:len(a.config.manifests):len(a.config.manifests)], a.config.sensitive...)
}

// collect takes the documents with their results out of the streams, which were read
// from texts.
func (a *admission) collect(texts []text) {
	manifests := map[*manifest.Document]*engine.Manifest{}
	for _, m := range a.outcome.Manifests {
		manifests[m.Document] = m
	}
	for i, stream := range a.streams {
		results := edited(stream)
		for j, d := range stream.Documents() {
			found := document{
				Document: d, text: &texts[i], manifest: manifests[d], secret: isSecret(d),
				json: string(results[j].JSON()),
			}
			found.namespace, found.sensitive = a.set.KeyNamespaceOf(d), found.secret || i >= len(a.config.manifests)
			if found.manifest != nil {
				found.sensitive = found.sensitive || found.manifest.Sensitive
			}
			a.documents = append(a.documents, found)
		}
	}
}

// isSecret reports whether a document is a Secret, or may be meant as one. Its kind is known
// without reading its text again.
func isSecret(d *manifest.Document) bool {
	if kind := d.Kind().Kind; kind != "" {
		return secret.IsKind(kind)
	}
	return secret.Is(d.Object())
}

// edited are the documents of a stream with their edits.
func edited(stream *manifest.Stream) []*manifest.Document {
	documents := stream.Documents()
	for _, d := range documents {
		if d.Changed() {
			// The text was just written by what reads it here.
			stream, _ := manifest.Reread(stream.Name(), stream.Bytes())
			return stream.Documents()
		}
	}
	return documents
}

// secrets are the IDs, as the engine has them, of the manifests whose content must not
// be in messages.
func (a *admission) secrets() map[string]bool {
	ids := map[string]bool{}
	for _, d := range a.documents {
		if d.sensitive && d.manifest != nil {
			ids[d.manifest.ID] = true
		}
	}
	return ids
}

// key names the object of a document in results: "group/Kind/namespace/name" with "_"
// for a part that is empty. A name that the server generates ends in "*". A document has the
// same key whatever it is given with.
func (d *document) key() string {
	name := d.Name()
	if name == "" {
		prefix, _ := change.Keys("metadata", "generateName").Get(d.Object())
		if prefix, ok := prefix.(string); ok {
			name = prefix + "*"
		}
	}
	parts := []string{d.Kind().Group, d.Kind().Kind, d.namespace, name}
	for i, part := range parts {
		if part == "" {
			parts[i] = "_"
		}
	}
	return strings.Join(parts, "/")
}

// identity is what no two objects of a cluster share, other than a key; empty if that is
// not known.
func (d *document) identity() string {
	if d.manifest == nil || d.Name() == "" {
		return ""
	}
	return "id " + d.manifest.ID
}

// keys gives every document its key. Each must have one of its own.
func (a *admission) keys() []string {
	var keys []string
	first := map[string]*document{}
	for i := range a.documents {
		d := &a.documents[i]
		key := d.key()
		keys = append(keys, key)
		other := first[key]
		if id := d.identity(); other == nil && id != "" {
			other = first[id]
			first[id] = d
		}
		if other != nil {
			a.problems = append(a.problems, errorf(d.text.at, "manifest-defined-twice", "%s: %s is already defined in %s", a.where(d.At(nil)), key, a.where(other.At(nil))))
			continue
		}
		first[key] = d
	}
	return keys
}

// diff is the unified diff from the text of the document to that of the result. JSON on
// one line is indented first.
func (d *document) diff(key string) string {
	before, after := d.Text()
	if !strings.Contains(strings.TrimSpace(before), "\n") {
		before, after = indented(d.JSON()), indented([]byte(d.json))
	}
	return report.Diff(key, key, before, after)
}

func indented(text []byte) string {
	var b bytes.Buffer
	// The text was just made of a value.
	_ = json.Indent(&b, text, "", "  ")
	return b.String() + "\n"
}

// result is the value of the document with the changes.
func (d *document) result() map[string]any {
	stream, _ := manifest.Read("", []byte(d.json))
	return stream.Documents()[0].Object()
}

// patch is the JSON Patch (RFC 6902) that leads from the document to its result.
func (d *document) patch() string {
	operations := []any{}
	for _, c := range change.Diff(d.Object(), d.result(), nil) {
		operation := map[string]any{"op": string(c.Op), "path": c.Path.Pointer()}
		switch c.Op {
		case change.Add, change.Replace:
			operation["value"] = c.New
		case change.Move:
			parent := c.Path[:len(c.Path)-1]
			operation["from"] = parent.Index(c.From).Pointer()
		}
		operations = append(operations, operation)
	}
	return string(manifest.JSON(operations))
}
