package editor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// TestEveryPlace completes and hovers at every byte of policies of all languages, with the text after it and without,
// as while it is typed. What a completion replaces is before the cursor, no item is twice there, and a comment gets
// none.
func TestEveryPlace(t *testing.T) {
	files, err := filepath.Glob("../../examples/quickstart/policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	texts := []string{policy, rule, "# ünï😀\n" + strings.ReplaceAll(policy, "name: few", "name: fünf 😀"), strings.ReplaceAll(rule, "\n", "\r\n")}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	state := editor.NewState(engine.NewSchemas(nil, engine.Options{}), nil, nil)
	for _, text := range texts {
		for at := range text {
			before, after := text[:at], text[at:]
			completeAt(t, state, before, after)
			if at%5 == 0 {
				completeAt(t, state, before, "")
			}
		}
	}
}

// completeAt completes and hovers between two texts.
func completeAt(t *testing.T, state *editor.State, before, after string) {
	t.Helper()
	line := before[strings.LastIndex(before, "\n")+1:]
	at := source.Position{File: "a.yaml", Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(line) + 1}
	found := state.Complete(before+after, at)
	state.Hover(before+after, at)
	if !strings.HasSuffix(line, found.Word) {
		t.Errorf("%q is not at the end of %q", found.Word, line)
	}
	var names []string
	for _, item := range found.Items {
		names = append(names, item.Name+" "+item.Detail)
	}
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) < len(names) {
		t.Errorf("after %q some items are there twice: %q", line, names)
	}
	if strings.HasPrefix(strings.TrimSpace(line), "#") && len(names) > 0 {
		t.Errorf("after the comment %q there are items: %q", line, names)
	}
}
