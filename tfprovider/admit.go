package tfprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// document is one object with its result.
type document struct {
	written *manifest.Document
	text    *text
	// manifest is nil if policies do not run on the document, because it is a policy or only
	// for local use.
	manifest  *engine.Manifest
	namespace string // for the key
	// secret reports that it is a Secret, sensitive that its content must stay secret.
	secret, sensitive bool
	// json is the object with the changes.
	json string
}

// admission is one run of the engine.
type admission struct {
	config   *config
	streams  []*manifest.Stream
	outcome  *engine.Outcome // nil if the run did not start
	set      *engine.Set
	problems []message
	// reported are the texts of the problems. origins says where each text was given, by name.
	reported map[string]bool
	origins  map[string]origin
	// documents are the documents of the manifests in their order; nil if there are errors.
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

// admit runs the policies of a config on its manifests. Sensitive manifests come last.
func admit(ctx context.Context, sets *cache, c *config, observers ...engine.Observer) *admission {
	a := &admission{config: c, reported: map[string]bool{}}
	texts := a.texts()
	streams, diagnostics := c.readStreams(texts)
	a.streams = streams
	for _, stream := range streams[len(c.texts[settings.Manifests]):] {
		stream.MarkSensitive()
	}
	compiled := sets.compile(c)
	a.add(append(diagnostics, compiled.diagnostics...)...)
	if a.failed() || compiled.set == nil {
		return a
	}
	a.set = compiled.set
	a.outcome = a.set.Run(ctx, streams, observers...)
	a.collect(texts)
	a.add(a.outcome.Diagnostics...)
	if err := ctx.Err(); err != nil {
		a.add(source.Errorf(source.Position{}, "interrupted", "the run did not finish: %v", err))
	}
	return a
}

// texts returns the manifests of the config.
func (a *admission) texts() []text {
	return slices.Concat(a.config.texts[settings.Manifests], a.config.sensitive[settings.Manifests])
}

// collect collects the documents with their results from the streams, which were read from
// texts.
func (a *admission) collect(texts []text) {
	manifests := map[*manifest.Document]*engine.Manifest{}
	for _, m := range a.outcome.Manifests {
		manifests[m.Document] = m
	}
	for i, stream := range a.streams {
		results := edited(stream)
		for j, d := range stream.Documents() {
			found := document{
				written: d, text: &texts[i], manifest: manifests[d], secret: isSecret(d),
				json: string(results[j].JSON()),
			}
			found.namespace, found.sensitive = a.set.KeyNamespaceOf(d), found.secret || i >= len(a.config.texts[settings.Manifests])
			if found.manifest != nil {
				found.sensitive = found.sensitive || found.manifest.Sensitive
			}
			a.documents = append(a.documents, found)
		}
	}
}

// isSecret reports whether a document is a Secret, or may be meant as a Secret. It does not parse
// the text again.
func isSecret(d *manifest.Document) bool {
	if kind := d.Kind().Kind; kind != "" {
		return redact.IsSecretKind(kind)
	}
	return redact.IsSecret(d.Object())
}

// edited returns the documents of a stream after edits.
func edited(stream *manifest.Stream) []*manifest.Document {
	documents := stream.Documents()
	for _, d := range documents {
		if d.Changed() {
			// preadmit wrote the text, so it is valid.
			stream, _ := manifest.Reread(stream.Name(), stream.Bytes())
			return stream.Documents()
		}
	}
	return documents
}

// key returns the key of a document in results: "group/Kind/namespace/name", with "_" for an empty
// part. A generated name ends in "*". The key does not depend on other documents.
func (d *document) key() string {
	name := d.written.Name()
	if name == "" {
		prefix, _ := change.Keys("metadata", "generateName").Get(d.written.Object())
		if prefix, ok := prefix.(string); ok {
			name = prefix + "*"
		}
	}
	parts := []string{d.written.Kind().Group, d.written.Kind().Kind, d.namespace, name}
	for i, part := range parts {
		if part == "" {
			parts[i] = "_"
		}
	}
	return strings.Join(parts, "/")
}

// identity returns text that is unique for every object of a cluster, which a key is not; "" if it
// is not known.
func (d *document) identity() string {
	if d.manifest == nil || d.written.Name() == "" {
		return ""
	}
	return "id " + d.manifest.ID
}

// keys sets the keys of all documents. Two documents with the same key are an error.
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
			a.problems = append(a.problems, errorf(d.text.at, "manifest-defined-twice", "%s: %s is already defined in %s", a.where(d.written.At(nil)), key, a.where(other.written.At(nil))))
			continue
		}
		first[key] = d
	}
	return keys
}

// diff returns the unified diff between the text of the document and of its result. It indents
// JSON on one line first.
func (d *document) diff(key string) string {
	before, after := d.written.Text()
	if !strings.Contains(strings.TrimSpace(before), "\n") {
		before, after = indented(d.written.JSON()), indented([]byte(d.json))
	}
	return report.Diff(key, key, before, after)
}

func indented(text []byte) string {
	var b bytes.Buffer
	// The text was encoded from a value, so it is valid.
	_ = json.Indent(&b, text, "", "  ")
	return b.String() + "\n"
}

// result returns the value of the document after the changes.
func (d *document) result() map[string]any {
	stream, _ := manifest.Read("", []byte(d.json))
	return stream.Documents()[0].Object()
}

// patch returns the JSON Patch (RFC 6902) from the document to its result.
func (d *document) patch() string {
	operations := []any{}
	for _, c := range change.Diff(d.written.Object(), d.result(), nil) {
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
