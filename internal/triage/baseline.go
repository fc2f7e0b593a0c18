package triage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Entry is a finding in a baseline. It has no position, so that it stays when lines move, and no text,
// so that it has no values.
type Entry struct {
	// File is the file of the object, or of the policy if there is no object, relative to the baseline.
	File   string `json:"file,omitempty"`
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	Code   string `json:"code"`
	Policy string `json:"policy,omitempty"`
	// Count is how many findings are the same; zero means one.
	Count int `json:"count,omitempty"`
}

// key returns the entry without its file, which may have been renamed, and without its count.
func (e Entry) key() Entry { e.File, e.Count = "", 0; return e }

// String describes the entry on one line.
func (e Entry) String() string {
	text := e.Code
	for _, part := range []string{e.File, e.Object, e.Field} {
		if part != "" {
			text += " " + part
		}
	}
	if e.Policy != "" {
		text += " by " + e.Policy
	}
	return text
}

func (e Entry) number() int { return max(1, e.Count) }

func (e Entry) compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.File, other.File), cmp.Compare(e.Object, other.Object), cmp.Compare(e.Field, other.Field),
		cmp.Compare(e.Code, other.Code), cmp.Compare(e.Policy, other.Policy))
}

// Baseline has the findings of the past, for each command that looks for them.
type Baseline map[string][]Entry

// fields are the fields of an entry, all texts except count.
var fields = []string{"file", "object", "field", "code", "policy", "count"}

// writeAnew is the advice for a file that is no baseline, and is not overwritten for that reason.
const writeAnew = "remove the file, and write it anew with --write-baseline"

// ReadBaseline reads a baseline. commands are the commands that have one.
func ReadBaseline(name string, text []byte, commands []string) (Baseline, []source.Diagnostic) {
	stream, problems := manifest.ReadPlain(name, text)
	for i, d := range problems {
		if d.Code != "merge-conflict" {
			problems[i] = d.With(writeAnew)
		}
	}
	b := Baseline{}
	for _, d := range stream.Documents() {
		fail := func(at change.Path, text, advice string) {
			problem := source.Errorf(d.At(at), "baseline-invalid", "%s", text).With(advice)
			problem.Field = at.String()
			problems = append(problems, problem)
		}
		for _, command := range slices.Sorted(maps.Keys(d.Object())) {
			at := change.Keys(command)
			items, isList := d.Object()[command].([]any)
			switch {
			case !slices.Contains(commands, command):
				fail(at, "unknown key", source.Suggest(command, commands).Text)
			case !isList && d.Object()[command] != nil:
				fail(at, "expected a list", "")
			}
			for i, item := range items {
				entry, problem := entryOf(item)
				if problem != "" {
					fail(at.Index(i), problem, writeAnew)
				}
				b[command] = append(b[command], entry)
			}
		}
	}
	source.Sort(problems)
	return b, problems
}

func entryOf(item any) (entry Entry, problem string) {
	object, ok := item.(map[string]any)
	for key := range object {
		if !slices.Contains(fields, key) {
			return entry, fmt.Sprintf("unknown key %q; %s", key, source.Suggest(key, fields).Text)
		}
	}
	if !ok || json.Unmarshal(manifest.JSON(object), &entry) != nil || entry.Code == "" || entry.Count < 0 || entry.Count > math.MaxInt32 {
		return entry, "it is not an entry of a baseline"
	}
	return entry, ""
}

// Text returns the baseline as it is written to a file: one line for each finding, sorted.
func (b Baseline) Text() []byte {
	var text bytes.Buffer
	text.WriteString("# Findings of the past, which do not count: preadmit writes them with --write-baseline.\n")
	for _, command := range slices.Sorted(maps.Keys(b)) {
		fmt.Fprintf(&text, "%s:\n", command)
		entries := counted(b[command])
		if len(entries) == 0 {
			text.Truncate(text.Len() - 1)
			text.WriteString(" []\n")
		}
		for _, e := range entries {
			line := &bytes.Buffer{}
			encoder := json.NewEncoder(line)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(e) // an Entry has only texts and numbers
			text.WriteString("- " + line.String())
		}
	}
	return text.Bytes()
}

// counted joins equal entries, and sorts them.
func counted(entries []Entry) (joined []Entry) {
	number := map[Entry]int{}
	for _, e := range entries {
		n := e.number()
		e.Count = 0
		number[e] += n
	}
	for _, e := range slices.SortedFunc(maps.Keys(number), Entry.compare) {
		if n := number[e]; n > 1 {
			e.Count = n
		}
		joined = append(joined, e)
	}
	return joined
}

// Comparison is the result of a comparison with a baseline.
type Comparison struct {
	// Known says which findings are in the baseline. Left is how many are, and Gone are the entries that
	// were not found again.
	Known []bool
	Left  int
	Gone  []Entry
}

// Compare finds out which findings are in the baseline of a command. A finding in a file that was
// renamed is still known.
func (b Baseline) Compare(command string, found []Entry) Comparison {
	c := Comparison{Known: make([]bool, len(found))}
	exact := map[Entry]int{}
	for _, e := range b[command] {
		n := e.number()
		e.Count = 0
		exact[e] += n
	}
	take := func(i int, of map[Entry]int, key Entry) {
		if !c.Known[i] && of[key] > 0 {
			of[key]--
			c.Known[i] = true
			c.Left++
		}
	}
	for i, e := range found {
		take(i, exact, e)
	}
	elsewhere, taken := map[Entry]int{}, map[Entry]int{}
	for e, n := range exact {
		elsewhere[e.key()] += n
	}
	for i, e := range found {
		before := c.Left
		take(i, elsewhere, e.key())
		taken[e.key()] += c.Left - before
	}
	for _, e := range slices.SortedFunc(maps.Keys(exact), Entry.compare) {
		moved := min(exact[e], taken[e.key()])
		taken[e.key()] -= moved
		if n := exact[e] - moved; n > 0 {
			e.Count = n
			c.Gone = append(c.Gone, e)
		}
	}
	return c
}
