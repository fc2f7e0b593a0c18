package krmfn

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

var (
	plainLine      = regexp.MustCompile(`(?m)^( *(?:- )?\w+: [\w./-]+)$`)
	nameLine       = regexp.MustCompile(`(?m)^( *name: )(\w[\w.-]*)$`)
	expressionLine = regexp.MustCompile(`(?m)^( *(?:- )?expression: )(\w.*)$`)
)

// fixForms are other forms of the workspaces in testdata/fixes, which mean the same. without are the
// workspaces that do not have their finding with its fix in the form. An exact form is that of the text after the fix, too.
var fixForms = map[string]struct {
	encoding string
	without  string
	exact    bool
	form     func(text string) string
}{
	"windows":          {"utf-16", "", true, func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }},
	"byte order mark":  {"utf-16", "", true, func(text string) string { return "\uFEFF" + text }},
	"no final newline": {"utf-8", "", false, func(text string) string { return strings.TrimSuffix(text, "\n") }},
	"comment before":   {"utf-8", "", true, func(text string) string { return "# é😀\n" + text }},
	"JSON, UTF-8":      {"utf-8", "acceptance-unused boolean-key manifest-invalid.space", false, asJSON},
	"JSON, UTF-16":     {"utf-16", "acceptance-unused boolean-key manifest-invalid.space", false, asJSON},
	"JSON, UTF-32":     {"utf-32", "acceptance-unused boolean-key manifest-invalid.space", false, asJSON},
	"comments": {"utf-16", "malformed-yaml.indent", false, func(text string) string {
		return plainLine.ReplaceAllString(text, "$1\t# é😀: {")
	}},
	"anchors": {"utf-16", "", false, func(text string) string { return nameLine.ReplaceAllString(text, "$1&n $2") }},
	"single quotes": {"utf-16", "", false, func(text string) string {
		return expressionLine.ReplaceAllStringFunc(text, func(line string) string {
			key, value, _ := strings.Cut(line, ": ")
			return key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
		})
	}},
	"literals": {"utf-16", "", false, func(text string) string {
		return expressionLine.ReplaceAllString(strings.ReplaceAll(text, ">-\n", "|\n"), "$1|-\n                  $2")
	}},
	"folded": {"utf-16", "", false, func(text string) string {
		return expressionLine.ReplaceAllString(text, "$1>-\n                  $2")
	}},
}

// asJSON returns the documents of a text as JSON, each on one line with characters of several bytes.
func asJSON(text string) string {
	stream, problems := manifest.Read("", []byte(text))
	if source.HasErrors(problems) {
		return text
	}
	var lines []string
	for _, d := range stream.Documents() {
		object := d.Object()
		if metadata, ok := object["metadata"].(map[string]any); ok && metadata["annotations"] == nil {
			metadata["annotations"] = map[string]any{"é😀": "é😀"}
		}
		lines = append(lines, string(manifest.JSON(object)))
	}
	return strings.Join(lines, "\n---\n") + "\n"
}

// TestFixesForms mends the workspaces in testdata/fixes in other forms: with Windows line breaks, as JSON, with
// anchors and more. A fix of a form does what the form of the fix does, and the finding is gone.
func TestFixesForms(t *testing.T) {
	plain := fixAll(t, "", func(text string) string { return text }, nil)
	for name, f := range fixForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := fixAll(t, f.encoding, f.form, plain)
			without := strings.Fields(f.without)
			for workspace := range plain {
				if is := all[workspace] != nil; is == slices.Contains(without, workspace) {
					t.Errorf("%s is mended: %v", workspace, is)
				}
			}
			for workspace, got := range all {
				for file, text := range got.texts {
					want := f.form(plain[workspace].texts[file])
					if f.exact && text != want || !reflect.DeepEqual(valuesOf(text), valuesOf(want)) {
						t.Errorf("%s: %s\n%s: expected\n%q\ngot\n%q", workspace, got.title, file, want, text)
					}
				}
			}
		})
	}
}

// valuesOf returns the documents in a text, of whatever form; the text itself if it cannot be parsed.
func valuesOf(text string) (all []any) {
	stream, problems := manifest.Read("", []byte(text))
	if source.HasErrors(problems) {
		return []any{text}
	}
	for _, d := range stream.Documents() {
		object := d.Object()
		if metadata, ok := object["metadata"].(map[string]any); ok {
			if annotations, _ := metadata["annotations"].(map[string]any); annotations["é😀"] != nil { // asJSON has added it
				if delete(annotations, "é😀"); len(annotations) == 0 {
					delete(metadata, "annotations")
				}
			}
		}
		all = append(all, withPatches(object))
	}
	return all
}

// withPatches returns a value with the values of JSON Patches in place of their texts.
func withPatches(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = withPatches(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = withPatches(value[key])
			if text, isText := value[key].(string); isText && key == "patchesJson6902" {
				value[key], _ = manifest.Value(text) // a text that cannot be read has no value
			}
		}
	}
	return value
}

// fixed is a workspace after a fix.
type fixed struct {
	message, title string
	texts          map[string]string
}

// fixAll fixes the findings of the workspaces in testdata/fixes, each in a form, with one server for all: the
// findings and fixes of the plain ones, or the first ones. It returns the workspaces with a finding.
func fixAll(t *testing.T, encoding string, form func(string) string, plain map[string]*fixed) map[string]*fixed {
	paths, _ := filepath.Glob("testdata/fixes/*.txt") // TestFixes requires some
	dir := t.TempDir()
	var folders []string
	files := map[string][]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimSuffix(filepath.Base(path), ".txt")
		folders = append(folders, folder)
		_, text, _ := strings.Cut("\n"+string(data), "\n-- ")
		for part := range strings.SplitSeq(text, "\n-- ") {
			name, text, _ := strings.Cut(part, " --\n")
			files[folder] = append(files[folder], folder+"/"+name)
			makeFile(t, dir, folder+"/"+name, form(strings.TrimSuffix(text, "\n")+"\n"))
		}
	}
	c := startClient(t, dir, encoding, capable, folders...)
	for _, folder := range folders {
		for _, name := range files[folder] {
			c.open(name)
		}
	}
	c.check()
	all := map[string]*fixed{}
	for _, folder := range folders {
		if f := c.fixFirst(folder, files[folder], plain[folder]); f != nil {
			all[folder] = f
		}
	}
	c.check()
	for folder, f := range all {
		for _, name := range files[folder] {
			f.texts[name] = c.texts[name]
			for _, d := range c.diagnostics[name] {
				if d.(map[string]any)["message"] == f.message {
					t.Errorf("%s: after %s, the finding is still there: %s\n%s", name, f.title, f.message, c.texts[name])
				}
			}
		}
	}
	c.stop()
	return all
}

// fixFirst fixes the finding of a workspace; nil if it does not have that of the plain one.
func (c *lspClient) fixFirst(folder string, names []string, plain *fixed) *fixed {
	code, _, _ := strings.Cut(folder, ".")
	for _, name := range names {
		for _, d := range c.diagnostics[name] {
			d := d.(map[string]any)
			message := d["message"].(string)
			if d["code"] != code || plain != nil && message != plain.message {
				continue
			}
			titles, actions := c.actionsFor(name, c.offset(c.texts[name], d["range"].(map[string]any)["start"]), message)
			for i, title := range titles {
				if plain == nil || title == plain.title {
					c.perform(actions[i])
					return &fixed{message, title, map[string]string{}}
				}
			}
			if len(titles) > 0 {
				c.t.Errorf("%s: %s: no action %s, but %q\n%s", name, message, plain.title, titles, c.texts[name])
			}
		}
	}
	return nil
}
