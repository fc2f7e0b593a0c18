package krmfn

import (
	"bytes"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// hookPath is the path of the annotation with the events at which Helm creates an object.
var hookPath = change.Keys("metadata", "annotations", "helm.sh/hook")

// testEvents are the events of helm test, as Helm 3 and 4 read them.
var testEvents = []string{"test", "test-success"}

// isTest reports whether Helm creates an object only for helm test.
func isTest(d *manifest.Document) bool {
	value, _ := hookPath.Get(d.Object())
	events, _ := value.(string)
	return events != "" && !slices.ContainsFunc(strings.Split(events, ","), func(event string) bool {
		return !slices.Contains(testEvents, strings.ToLower(strings.TrimSpace(event)))
	})
}

// withoutTests returns what helm has rendered for an application without the objects that are only for helm
// test, and a note for each of them: installing the release does not create them. All other lines keep their
// numbers.
func withoutTests(program *Program, application string, output []byte) ([]byte, []source.Diagnostic) {
	if program.name() != "helm" || !bytes.Contains(output, []byte(hookPath[len(hookPath)-1].Key)) {
		return output, nil
	}
	var notes []source.Diagnostic
	stream, _ := manifest.Read(application, output)
	lines, parts := strings.SplitAfter(stream.Text(), "\n"), templateParts(stream.Text())
	for _, d := range stream.Documents() {
		if !isTest(d) {
			continue
		}
		notes = append(notes, source.Diagnostic{
			Severity: source.Info, Code: "not-rendered", At: d.At(nil), Subject: d.Kind().Kind + "/" + d.Name(),
			Message: "helm creates this object only for helm test, so it is not evaluated",
		})
		part := parts[partAt(parts, d.At(nil).Line)]
		for i, line := range part.lines {
			if !strings.HasPrefix(line, helmSource) {
				lines[part.first-1+i] = "\n"
			}
		}
	}
	return []byte(strings.Join(lines, "")), notes
}
