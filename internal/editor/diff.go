package editor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// Diff returns what a policy changes in the manifests, field by field in the form of a diff, which editors
// highlight. A field that other policies change, too, has the value after all of them.
func (s *State) Diff(policy string) string {
	var b strings.Builder
	if changes, _ := s.reports(); changes != nil {
		for i := range changes.Manifests {
			s.writeDiff(&b, &changes.Manifests[i], policy)
		}
	}
	if b.Len() == 0 {
		return "Policy " + source.Printable(policy) + " changes no manifest.\n"
	}
	return b.String()
}

// writeDiff writes what a policy changes in a manifest.
func (s *State) writeDiff(b *strings.Builder, m *report.Manifest, policy string) {
	isBegun := false
	for i := range m.Edits {
		e := &m.Edits[i]
		if !slices.ContainsFunc(e.Causes, func(c report.Step) bool { return c.Policy == policy }) {
			continue
		}
		if !isBegun {
			fmt.Fprintf(b, "--- %s\n+++ %s, after policy %s\n", source.Place{At: e.At, Name: m.ID}, source.Printable(m.ID), source.Printable(policy))
			isBegun = true
		}
		fmt.Fprintf(b, "@@ %s @@\n", source.Printable(e.Path))
		if e.Op != change.Add {
			s.writeValue(b, "-", e.Old)
		}
		if e.Op != change.Remove {
			s.writeValue(b, "+", e.New)
		}
	}
}

// writeValue writes a value as it may be shown, each line with a sign.
func (s *State) writeValue(b *strings.Builder, sign string, value any) {
	data, err := json.MarshalIndent(s.masked(value), "", "  ")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		b.WriteString(sign + source.Printable(strings.TrimSuffix(line, "\n")) + "\n")
	}
}
