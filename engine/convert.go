package engine

import (
	"github.com/preadmit/preadmit/engine/internal/mapolicy"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Convert edits policies among the documents: policies in the form of an older version or of a
// proposal get the form of admissionregistration.k8s.io/v1. If any diagnostic is an error, the
// documents must not be used.
func Convert(streams []*manifest.Stream) []source.Diagnostic {
	language := mapolicy.New(release.Newest, 0)
	var diagnostics []source.Diagnostic
	for _, stream := range streams {
		for _, d := range stream.Documents() {
			diagnostics = append(diagnostics, language.Convert(d)...)
		}
	}
	source.Sort(diagnostics)
	return diagnostics
}
