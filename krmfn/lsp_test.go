package krmfn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// asProgram is the variable of the environment with which the test binary is the program itself.
const asProgram = "PREADMIT_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	os.Exit(Main(context.Background(), &Process{Args: os.Args[1:], Dir: dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}

// TestLSP runs the transcripts in testdata/lsp through a server. A transcript has a description, the
// commands of an editor, each with the indented lines that it shows, and the files of the workspace.
// A place in a file is before a text in quotes: "^" in that text is the cursor.
func TestLSP(t *testing.T) {
	paths, err := filepath.Glob("testdata/lsp/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			playTranscript(t, path)
		})
	}
}

// TestFoldersWithoutFiles opens folders that the server cannot read: it says so once for each, and serves the others.
func TestFoldersWithoutFiles(t *testing.T) {
	dir := t.TempDir()
	c := startClient(t, dir, "", capable, ".", "gone", "vscode-vfs://github/a/b")
	c.check()
	c.notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{"added": c.folders([]string{"untitled://x"}), "removed": []any{}}})
	c.check()
	want := "preadmit: the folder " + c.uri("gone") + " does not exist\n" +
		"preadmit: the folder vscode-vfs://github/a/b is not on a disk: preadmit reads only files there\n" +
		"preadmit: the folder untitled://x is not on a disk: preadmit reads only files there\n"
	if c.shown != want {
		t.Errorf("the server says\n%swant\n%s", c.shown, want)
	}
	if status := c.stop(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// TestOldText opens an old text of a file, as editors do beside the new one: the text of the file still counts.
func TestOldText(t *testing.T) {
	dir := t.TempDir()
	const wrong = "apiVersion: v1\nkind: Pod\nmetadata: {name: A}\n"
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	c := startLSP(t, dir, "utf-8")
	c.open("a.yaml")
	c.check()
	before := len(c.diagnostics["a.yaml"])
	old := "git:" + strings.TrimPrefix(c.uri("a.yaml"), "file://") + "?ref=HEAD"
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": old, "languageId": "yaml", "version": 1, "text": "a: b\n"}})
	c.request("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": old}})
	c.check()
	if after := len(c.diagnostics["a.yaml"]); before == 0 || after != before {
		t.Errorf("%d findings, then %d", before, after)
	}
	c.stop()
}

func playTranscript(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := sectionLine.FindIndex(data)
	if at == nil {
		t.Fatal("there are no files")
	}
	commands, files := string(data[:at[0]]), string(data[at[0]:])
	dir, _ := makeWorkspace(t, files)
	e := &editorScript{t: t, dir: dir}
	var b strings.Builder
	for line := range strings.Lines(commands) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "    ") {
			continue
		}
		b.WriteString(line + "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			for shown := range strings.Lines(strings.TrimSuffix(e.run(line), "\n")) {
				if shown = strings.TrimRight(shown, " \n"); shown != "" { // an empty line would not belong to what is shown
					b.WriteString("    " + shown + "\n")
				}
			}
		}
	}
	if e.client != nil {
		if status := e.client.stop(); status != 0 {
			t.Errorf("the server ends with status %d", status)
		}
	}
	got := b.String() + files
	if *update {
		writeFile(t, path, got)
	} else if got != string(data) {
		t.Errorf("%s: expected\n%s\ngot\n%s", path, commands, b.String())
	}
}

// makeWorkspace makes a directory, which is the root of a repository, with the files of a text.
func makeWorkspace(t *testing.T, files string) (dir string, names []string) {
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	marks := sectionLine.FindAllStringSubmatchIndex(files, -1)
	for i, m := range marks {
		end := len(files)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		names = append(names, files[m[2]:m[3]])
		makeFile(t, dir, files[m[2]:m[3]], files[m[1]:end])
	}
	return dir, names
}

// editorScript is an editor that follows a script.
type editorScript struct {
	t      *testing.T
	dir    string
	client *lspClient
}

// run runs a line of a script, and returns what it shows.
func (e *editorScript) run(line string) string {
	words := scriptWords(e.t, line)
	if words[0] == "start" {
		e.client = startLSP(e.t, e.dir, append(words[1:], "")[0])
		return e.client.encoding
	}
	if words[0] == "client" {
		if e.client != nil {
			e.client.stop()
		}
		e.client = startClient(e.t, e.dir, "", words[1], words[2:]...)
		return ""
	}
	if e.client == nil {
		e.client = startLSP(e.t, e.dir, "")
	}
	c := e.client
	switch words[0] {
	case "open":
		c.open(words[1])
	case "close":
		c.close(words[1])
	case "replace":
		from := strings.Index(c.texts[words[1]], words[2])
		if from < 0 {
			e.t.Fatalf("%s: the text is not there", line)
		}
		c.replace(words[1], from, from+len(words[2]), words[3])
	case "type":
		at := e.cursor(words[1], words[2])
		for _, char := range words[3] {
			c.replace(words[1], at, at, string(char))
			at += len(string(char))
		}
	case "append":
		e.append(words[1], words[2])
	case "pick":
		return e.pick(words[1], words[2], words[3:]...)
	case "text":
		return c.texts[words[1]]
	case "folders":
		change := map[byte][]string{}
		for _, word := range words[1:] {
			change[word[0]] = append(change[word[0]], word[1:])
		}
		c.notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{"added": c.folders(change['+']), "removed": c.folders(change['-'])}})
	case "write":
		makeFile(e.t, e.dir, words[1], words[2])
		c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{"uri": c.uri(words[1]), "type": 2}}})
	case "protect":
		path := filepath.Join(e.dir, words[1])
		if err := os.Chmod(path, 0o555); err != nil {
			e.t.Fatal(err)
		}
		e.t.Cleanup(func() { _ = os.Chmod(path, 0o777) }) // so that the directory can be removed
	case "check":
		c.check()
		return c.showDiagnostics()
	default:
		return e.ask(words)
	}
	return ""
}

// append types at the end of a file.
func (e *editorScript) append(name, text string) {
	for _, char := range text {
		at := len(e.client.texts[name])
		e.client.replace(name, at, at, string(char))
	}
}

// pick types the beginning of a word at the end of a file, and writes the completion with a label. That is
// the only one if none is given, and there must be a difference to what was typed.
func (e *editorScript) pick(name, typed string, label ...string) string {
	e.append(name, typed)
	c := e.client
	items, _ := c.ask("textDocument/completion", name, len(c.texts[name]), nil).([]any)
	var found []map[string]any
	for _, item := range items {
		item := item.(map[string]any)
		if name := item["label"].(string); len(label) > 0 && name == label[0] || len(label) == 0 && strings.HasPrefix(name, typed) {
			found = append(found, item)
		}
	}
	if len(found) != 1 {
		return fmt.Sprintf("%s of %d", plural(len(found), "item", "items"), len(items))
	}
	edit := found[0]["textEdit"].(map[string]any)
	span := edit["range"].(map[string]any)
	from, to := c.offset(c.texts[name], span["start"]), c.offset(c.texts[name], span["end"])
	if was := c.texts[name][from:to]; was != typed {
		e.t.Errorf("pick %s %q: the server replaces %q", name, typed, was)
	}
	c.replace(name, from, to, edit["newText"].(string))
	return ""
}

// ask sends a request about a place.
func (e *editorScript) ask(words []string) string {
	c := e.client
	var b strings.Builder
	at := func() int { return e.cursor(words[1], words[2]) }
	switch words[0] {
	case "complete":
		wanted := words[3:]
		items, _ := c.ask("textDocument/completion", words[1], at(), nil).([]any)
		fmt.Fprintf(&b, "%s\n", plural(len(items), "item", "items"))
		for _, item := range items {
			item := item.(map[string]any)
			if len(wanted) > 0 && !slices.Contains(wanted, item["label"].(string)) {
				continue
			}
			fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprint(item["label"], "  ", cmp.Or(item["detail"], any("")))))
		}
	case "hover":
		hover, _ := c.ask("textDocument/hover", words[1], at(), nil).(map[string]any)
		if hover == nil {
			return "nothing"
		}
		return hover["contents"].(map[string]any)["value"].(string)
	case "definition", "references":
		found, _ := c.ask("textDocument/"+words[0], words[1], at(), map[string]any{"context": map[string]any{"includeDeclaration": true}}).([]any)
		for _, location := range found {
			location := location.(map[string]any)
			fmt.Fprintln(&b, c.place(c.nameOf(location["uri"].(string)), location["range"]))
		}
	case "rename":
		return c.rename(words[1], at(), words[3])
	case "run":
		return c.run(words[1], words[2])
	case "actions":
		from, to := e.selection(words[1], words[2])
		return c.act(words[1], from, to, words[3:]...)
	case "preadmit":
		return e.preadmit(words[1:])
	case "tokens":
		return c.tokens(words[1], words[2])
	case "folds":
		found, _ := c.request("textDocument/foldingRange", map[string]any{"textDocument": map[string]any{"uri": c.uri(words[1])}}).([]any)
		lines := strings.Split(c.texts[words[1]], "\n")
		for _, fold := range found {
			first, last := int(fold.(map[string]any)["startLine"].(float64)), int(fold.(map[string]any)["endLine"].(float64))
			fmt.Fprintf(&b, "%d-%d %s\n", first+1, last+1, strings.TrimSpace(lines[first]))
		}
	case "symbols", "lenses":
		method := map[string]string{"symbols": "documentSymbol", "lenses": "codeLens"}[words[0]]
		found, _ := c.request("textDocument/"+method, map[string]any{"textDocument": map[string]any{"uri": c.uri(words[1])}}).([]any)
		for _, item := range found {
			item := item.(map[string]any)
			if words[0] == "lenses" {
				fmt.Fprintf(&b, "%s: %s\n", c.place(words[1], item["range"]), item["command"].(map[string]any)["title"])
			} else {
				fmt.Fprintf(&b, "%s: %s %s\n", c.place(words[1], item["selectionRange"]), item["detail"], item["name"])
			}
		}
	default:
		e.t.Fatalf("unknown command %s", words[0])
	}
	return b.String()
}

// tokens returns the tokens of a line of a file with a text, by their classes.
func (c *lspClient) tokens(name, in string) string {
	capabilities := c.result["capabilities"].(map[string]any)["semanticTokensProvider"].(map[string]any)
	classes := capabilities["legend"].(map[string]any)["tokenTypes"].([]any)
	answer, _ := c.request("textDocument/semanticTokens/full", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}}).(map[string]any)
	data := answer["data"].([]any)
	text := c.texts[name]
	wanted := strings.Count(text[:strings.Index(text, in)], "\n")
	line, character := 0, 0
	var shown []string
	for ; len(data) > 0; data = data[5:] {
		if by := int(data[0].(float64)); by > 0 {
			line, character = line+by, 0
		}
		character += int(data[1].(float64))
		from := c.offset(text, map[string]any{"line": float64(line), "character": float64(character)})
		to := c.offset(text, map[string]any{"line": float64(line), "character": float64(character) + data[2].(float64)})
		if class := classes[int(data[3].(float64))]; line == wanted && class != "operator" {
			shown = append(shown, fmt.Sprintf("%s %s", class, text[from:to]))
		}
	}
	return strings.Join(shown, ", ")
}

// rename renames what is at an offset.
func (c *lspClient) rename(name string, at int, to string) string {
	answer, _ := c.ask("textDocument/rename", name, at, map[string]any{"newName": to}).(map[string]any)
	if answer["message"] != nil {
		return answer["message"].(string)
	}
	return c.apply(answer)
}

// apply makes the changes of an edit of the workspace, and returns their places.
func (c *lspClient) apply(workspaceEdit map[string]any) string {
	changes, _ := workspaceEdit["changes"].(map[string]any)
	var b strings.Builder
	for _, uri := range slices.Sorted(maps.Keys(changes)) {
		b.WriteString(c.applyTo(c.nameOf(uri), changes[uri].([]any)))
	}
	documents, _ := workspaceEdit["documentChanges"].([]any)
	for _, change := range documents {
		change := change.(map[string]any)
		if change["kind"] == "create" {
			name := c.nameOf(change["uri"].(string))
			if _, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
				c.t.Errorf("%s exists", name)
			}
			c.open(name)
			continue
		}
		document := change["textDocument"].(map[string]any)
		name := c.nameOf(document["uri"].(string))
		if version, isOpen := c.versions[name]; isOpen && document["version"] != nil && document["version"] != float64(version) {
			c.t.Errorf("%s: the edit is for version %v, not %d", name, document["version"], version)
		}
		b.WriteString(c.applyTo(name, change["edits"].([]any)))
	}
	return b.String()
}

// applyTo makes edits of a file.
func (c *lspClient) applyTo(name string, edits []any) string {
	var b strings.Builder
	edits = slices.Clone(edits)
	start := func(edit any) int {
		return c.offset(c.textOf(name), edit.(map[string]any)["range"].(map[string]any)["start"])
	}
	slices.SortStableFunc(edits, func(a, b any) int { return start(a) - start(b) })
	for _, edit := range slices.Backward(edits) { // from the end, so that positions hold
		edit := edit.(map[string]any)
		span := edit["range"].(map[string]any)
		fmt.Fprintln(&b, c.place(name, span))
		if _, isOpen := c.texts[name]; !isOpen {
			c.open(name)
		}
		text := c.texts[name]
		c.replace(name, c.offset(text, span["start"]), c.offset(text, span["end"]), edit["newText"].(string))
	}
	return b.String()
}

// run runs the command of the lens with a title, and returns what the server shows.
func (c *lspClient) run(name, title string) string {
	c.shown = ""
	found, _ := c.request("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}}).([]any)
	for _, lens := range found {
		if command := lens.(map[string]any)["command"].(map[string]any); command["title"] == title {
			c.request("workspace/executeCommand", map[string]any{"command": command["command"], "arguments": command["arguments"]})
		}
	}
	return c.shown
}

// actions returns the actions between two offsets.
func (c *lspClient) actions(name string, from, to int) []any {
	text := c.texts[name]
	found, _ := c.request("textDocument/codeAction", map[string]any{
		"textDocument": map[string]any{"uri": c.uri(name)}, "range": map[string]any{"start": c.position(text, from), "end": c.position(text, to)},
		"context": map[string]any{"diagnostics": []any{}},
	}).([]any)
	return found
}

// perform applies an action, and returns the lines that it changes, and what the server shows then.
func (c *lspClient) perform(action map[string]any) string {
	if disabled, ok := action["disabled"].(map[string]any); ok {
		return fmt.Sprintln("not possible:", disabled["reason"])
	}
	if action["edit"] == nil {
		answer, _ := c.request("codeAction/resolve", action).(map[string]any)
		if answer["message"] != nil {
			return fmt.Sprintln("not possible:", answer["message"])
		}
		action = answer
	}
	before := maps.Clone(c.texts)
	c.apply(action["edit"].(map[string]any))
	var b strings.Builder
	for _, file := range slices.Sorted(maps.Keys(c.texts)) {
		was, isOpen := before[file]
		if !isOpen {
			text, _ := os.ReadFile(filepath.Join(c.dir, file))
			was = string(text)
		}
		if was != c.texts[file] {
			b.WriteString(changedLines(file, was, c.texts[file]))
		}
	}
	if command, ok := action["command"].(map[string]any); ok {
		c.shown = ""
		c.request("workspace/executeCommand", map[string]any{"command": command["command"], "arguments": command["arguments"]})
		b.WriteString(c.shown)
	}
	return b.String()
}

// act lists the actions between two offsets, or applies the one with a title.
func (c *lspClient) act(name string, from, to int, title ...string) string {
	var b strings.Builder
	for _, action := range c.actions(name, from, to) {
		action := action.(map[string]any)
		switch {
		case len(title) == 0:
			fmt.Fprintf(&b, "%s: %s\n", action["kind"], action["title"])
			if disabled, ok := action["disabled"].(map[string]any); ok {
				fmt.Fprintf(&b, "  not possible: %s\n", disabled["reason"])
			}
		case action["title"] == title[0]:
			return c.perform(action)
		}
	}
	return b.String()
}

// changedLines shows the lines between the first and the last one that differ.
func changedLines(name, before, after string) string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var text strings.Builder
	for _, line := range a {
		fmt.Fprintf(&text, "%s - %s\n", name, strings.TrimSuffix(line, "\n"))
	}
	for _, line := range b {
		fmt.Fprintf(&text, "%s + %s\n", name, strings.TrimSuffix(line, "\n"))
	}
	return text.String()
}

// cursor returns the offset of "^" in a text of a file.
func (e *editorScript) cursor(name, text string) int {
	before, after, ok := strings.Cut(text, "^")
	at := strings.Index(e.client.texts[name], before+after)
	if !ok || at < 0 {
		e.t.Fatalf("%s: there is no place %q", name, text)
	}
	return at + len(before)
}

// selection returns the offsets of what is between the first and the last "^" in a text of a file.
func (e *editorScript) selection(name, text string) (from, to int) {
	before, rest, _ := strings.Cut(text, "^")
	selected, after, isRange := strings.Cut(rest, "^")
	if !isRange {
		from = e.cursor(name, text)
		return from, from
	}
	at := strings.Index(e.client.texts[name], before+selected+after)
	if at < 0 {
		e.t.Fatalf("%s: there is no text %q", name, text)
	}
	return at + len(before), at + len(before) + len(selected)
}

// preadmit saves the open files, and runs a command in the workspace.
func (e *editorScript) preadmit(args []string) string {
	for name, text := range e.client.texts {
		makeFile(e.t, e.dir, name, text)
	}
	var out, problems strings.Builder
	status := Main(context.Background(), &Process{Args: args, Dir: e.dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &problems})
	return fmt.Sprintf("%s%sexit status %d\n", out.String(), problems.String(), status)
}

// scriptWords splits a line into words. Words in quotes are Go strings.
func scriptWords(t *testing.T, line string) (words []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word, rest, _ := strings.Cut(line, " ")
		if line[0] == '"' || line[0] == '`' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			word, _ = strconv.Unquote(quoted)
			rest = line[len(quoted):]
		}
		words, line = append(words, word), rest
	}
	return words
}

// showDiagnostics returns the diagnostics of the files about which the server has told something new.
func (c *lspClient) showDiagnostics() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.fresh)) {
		if len(c.diagnostics[name]) == 0 {
			fmt.Fprintf(&b, "%s: nothing\n", name)
		}
		for _, d := range c.diagnostics[name] {
			d := d.(map[string]any)
			severity := [...]string{"", "error", "warning", "info"}[int(d["severity"].(float64))]
			fmt.Fprintf(&b, "%s %s[%s]: %s\n", c.place(name, d["range"]), severity, d["code"], strings.ReplaceAll(d["message"].(string), "\n", "\n  "))
			related, _ := d["relatedInformation"].([]any)
			for _, r := range related {
				r := r.(map[string]any)
				location := r["location"].(map[string]any)
				fmt.Fprintf(&b, "  %s: %s\n", c.place(c.nameOf(location["uri"].(string)), location["range"]), r["message"])
			}
		}
	}
	clear(c.fresh)
	return b.String()
}
