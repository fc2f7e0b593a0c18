package redact

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// hideComments hides the comments of Secrets in a text of manifests, because people keep old values
// in them. A comment between two documents belongs to both. The number of lines does not change.
func hideComments(text string) string {
	parts := splitDocuments(text)
	isSecret := make([]bool, len(parts))
	for i, part := range parts {
		isSecret[i] = holdsSecret(part)
	}
	var b strings.Builder
	for i, part := range parts {
		beside := func(j int) bool { return j >= 0 && j < len(parts) && isSecret[j] }
		if isSecret[i] || isBlank(part) && (beside(i-1) || beside(i+1)) {
			part = withoutComments(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

// splitDocuments cuts a text before each of its document separators.
func splitDocuments(text string) []string {
	var parts []string
	start, at := 0, 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "---") && at > start {
			parts = append(parts, text[start:at])
			start = at
		}
		at += len(line)
	}
	return append(parts, text[start:])
}

// isBlank reports whether a part of a text has no document.
func isBlank(part string) bool {
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "\ufeff"), "---"))
		if line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

func holdsSecret(part string) bool {
	return slices.ContainsFunc(objectsIn(part), IsSecret)
}

// objectsIn reads the objects in a part of a text.
func objectsIn(part string) []map[string]any {
	stream, _ := manifest.Read("-", []byte(part))
	var objects []map[string]any
	for _, d := range stream.Documents() {
		objects = append(objects, d.Object())
	}
	return objects
}

// withoutComments hides the comments in a part of a text. A candidate is a comment if the objects
// stay the same without it. If testing all candidates is too much work, the part is written anew.
func withoutComments(part string) string {
	want := objectsIn(part)
	lines := splitBreaks(part)
	if hidden := hideAll(lines); sameObjects(objectsIn(hidden), want) {
		return hidden
	}
	tries := 0
	for i := range lines {
		for n := 0; n < len(commentStarts(lines[i])); n++ {
			if tries++; tries > mostTries || tries*len(part) > mostText {
				return anew(want)
			}
			line := lines[i]
			lines[i] = hideFrom(line, commentStarts(line)[n])
			if !sameObjects(objectsIn(strings.Join(lines, "")), want) {
				lines[i] = line
			}
		}
	}
	return strings.Join(lines, "")
}

const (
	// mostTries is how many candidates of a document are tested, and mostText how many bytes are
	// read in all tests.
	mostTries = 200
	mostText  = 16 << 20
)

// splitBreaks cuts a text after everything that YAML treats as a line break.
func splitBreaks(text string) []string {
	var lines []string
	start := 0
	for i, r := range text {
		if strings.ContainsRune(breaks, r) {
			end := i + utf8.RuneLen(r)
			lines = append(lines, text[start:end])
			start = end
		}
	}
	return append(lines, text[start:])
}

const breaks = "\r\n\u0085\u2028\u2029"

// hideAll hides everything that may be a comment.
func hideAll(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		if starts := commentStarts(line); len(starts) > 0 {
			line = hideFrom(line, starts[0])
		}
		b.WriteString(line)
	}
	return b.String()
}

// commentStarts returns the offsets in a line where a comment may start.
func commentStarts(line string) []int {
	var starts []int
	for i := range len(line) {
		if line[i] == '#' {
			starts = append(starts, i)
		}
	}
	return starts
}

// hideFrom hides the rest of a line, but keeps its line break.
func hideFrom(line string, at int) string {
	content := strings.TrimRight(line, breaks)
	if strings.Trim(content[at:], "# \t") == "" {
		return line
	}
	return content[:at] + "# " + Mask + line[len(content):]
}

func sameObjects(a, b []map[string]any) bool {
	return slices.EqualFunc(a, b, func(a, b map[string]any) bool { return change.Equal(a, b) })
}

// anew writes objects as new YAML, without comments and layout.
func anew(objects []map[string]any) string {
	var b strings.Builder
	for _, object := range objects {
		b.WriteString("---\n")
		b.Write(manifest.YAML(object))
	}
	return b.String()
}
