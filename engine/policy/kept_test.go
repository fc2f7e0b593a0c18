package policy

import (
	"context"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// keeper makes something of each document of a file, and counts how often.
type keeper struct {
	t    *testing.T
	kept *Kept
}

// next returns how many documents of a text something is made of, in a run after the earlier ones.
func (k *keeper) next(ctx context.Context, text string) (made int) {
	stream, problems := manifest.Read("a.yaml", []byte(text))
	if len(problems) > 0 {
		k.t.Fatal(problems)
	}
	now := NewKept(ctx, k.kept)
	for _, d := range stream.Documents() {
		name := Keep(now, "name", []*manifest.Document{d}, func() string {
			made++
			return d.Name() + d.At(nil).String()
		})
		if want := d.Name() + d.At(nil).String(); name != want {
			k.t.Errorf("kept %s, want %s", name, want)
		}
	}
	k.kept = Merged(now)
	return made
}

// TestKept edits a file of three documents. Something is made again only of those that have another text,
// place or line break.
func TestKept(t *testing.T) {
	const text = "kind: A\napiVersion: v1\nmetadata: {name: a}\n---\nkind: A\napiVersion: v1\nmetadata: {name: b}\n---\nkind: A\napiVersion: v1\nmetadata: {name: c}\n"
	ended, end := context.WithCancel(t.Context())
	end()
	k := &keeper{t: t}
	for _, step := range []struct {
		name, text string
		ctx        context.Context
		want       int
	}{
		{"interrupted", text, ended, 3},
		{"start", text, t.Context(), 3},
		{"same", text, t.Context(), 0},
		{"edited", strings.Replace(text, "name: b", "name: bb", 1), t.Context(), 1},
		{"edited back", text, t.Context(), 1},
		{"one line more", strings.Replace(text, "---", "# A comment.\n---", 1), t.Context(), 3},
		{"removed", text[:strings.LastIndex(text, "---")], t.Context(), 2},
		{"added", text, t.Context(), 2},
		{"line breaks", strings.ReplaceAll(text, "\n", "\r\n"), t.Context(), 3},
	} {
		if got := k.next(step.ctx, step.text); got != step.want {
			t.Errorf("%s: made %d, want %d", step.name, got, step.want)
		}
		if len(k.kept.made) > 3 {
			t.Errorf("%s: %d are kept", step.name, len(k.kept.made))
		}
	}
}
