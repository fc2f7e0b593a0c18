package krmfn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnswersEverywhere asks everything at many places of the policies of the cases, of which some have line breaks of
// Windows. No answer is an error, and none is about a place that its file does not have.
func TestAnswersEverywhere(t *testing.T) {
	paths, err := filepath.Glob("../testdata/cases/*/policies/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no policies", err)
	}
	dir := t.TempDir()
	var names []string
	for i := 0; i < len(paths); i += 3 {
		text, err := os.ReadFile(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		if len(names)%4 == 3 {
			text = []byte(strings.ReplaceAll(string(text), "\n", "\r\n"))
		}
		name := filepath.Base(filepath.Dir(filepath.Dir(paths[i]))) + "/" + filepath.Base(paths[i])
		makeFile(t, dir, name, string(text))
		names = append(names, name)
	}
	c := startLSP(t, dir, "")
	c.check()
	asked := 0
	for _, name := range names {
		c.open(name)
		document := map[string]any{"uri": c.uri(name)}
		for _, method := range []string{"documentSymbol", "foldingRange", "codeLens", "semanticTokens/full"} {
			c.isIn(name, method, c.request("textDocument/"+method, map[string]any{"textDocument": document}))
		}
		for at := 0; at <= len(c.texts[name]); at = atCharacter(c.texts[name], at+61) {
			position := c.position(c.texts[name], at)
			more := map[string]any{
				"context": map[string]any{"includeDeclaration": true, "diagnostics": []any{}}, "newName": "other",
				"range": map[string]any{"start": position, "end": position},
			}
			for _, method := range []string{"completion", "hover", "definition", "references", "prepareRename", "rename", "codeAction"} {
				c.isIn(name, method, c.ask("textDocument/"+method, name, at, more))
				asked++
			}
		}
		c.close(name)
	}
	c.stop()
	if t.Logf("%d answers in %d files", asked, len(names)); asked < 2000 {
		t.Error("too few answers")
	}
}

// isIn checks that an answer is no error, and that its ranges are within the text of its file.
func (c *lspClient) isIn(name, method string, answer any) {
	switch answer := answer.(type) {
	case []any:
		for _, item := range answer {
			c.isIn(name, method, item)
		}
	case map[string]any:
		if message, isError := answer["message"]; isError && answer["code"] != nil && answer["severity"] == nil {
			c.t.Fatalf("%s: %s: %v", name, method, message)
		}
		if uri, ok := answer["uri"].(string); ok {
			name = c.nameOf(uri)
		}
		for key, value := range answer {
			switch key {
			case "command": // what it selects is in the text that the action makes
			case "range", "selectionRange":
				c.isRangeIn(name, method, value.(map[string]any))
			case "changes":
				for uri, edits := range value.(map[string]any) {
					c.isIn(c.nameOf(uri), method, edits)
				}
			default:
				c.isIn(name, method, value)
			}
		}
	}
}

func (c *lspClient) isRangeIn(name, method string, span map[string]any) {
	text, isOpen := c.texts[name]
	if !isOpen {
		data, _ := os.ReadFile(filepath.Join(c.dir, name)) // an action may make it
		text = string(data)
	}
	lines := strings.Split(text, "\n")
	for _, end := range []string{"start", "end"} {
		at := span[end].(map[string]any)
		line, character := int(at["line"].(float64)), int(at["character"].(float64))
		if line >= len(lines) || character > c.width(lines[line]) {
			c.t.Fatalf("%s: %s: %v is outside of the text", name, method, span)
		}
	}
}
