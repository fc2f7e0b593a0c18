package krmfn

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// lspClient is an editor with a language server, a process of its own.
type lspClient struct {
	t        testing.TB
	dir      string
	process  *exec.Cmd
	in       io.WriteCloser
	messages chan []byte
	stderr   *strings.Builder
	requests int
	encoding string
	// result is the answer to initialize.
	result map[string]any
	// texts are the open files, and versions their versions.
	texts    map[string]string
	versions map[string]int
	// diagnostics are what the server has published, by file. fresh are the files of which it has
	// published something since they were shown.
	diagnostics map[string][]any
	fresh       map[string]bool
	// shown are the documents and messages that the server has shown.
	shown string
}

// capable are the capabilities of an editor that can do all that the server has a use for.
const capable = `{
	"window": {"showDocument": {"support": true}},
	"workspace": {"workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"]}},
	"textDocument": {"codeAction": {
		"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}},
		"disabledSupport": true, "dataSupport": true, "resolveSupport": {"properties": ["edit"]}}}}`

// startLSP starts a server for a directory. The client offers an encoding of positions, unless that is "".
func startLSP(t testing.TB, dir, encoding string) *lspClient {
	t.Helper()
	return startClient(t, dir, encoding, capable, ".")
}

// startClient is startLSP with the capabilities of the client, as JSON, and the folders that are open.
func startClient(t testing.TB, dir, encoding, can string, folders ...string) *lspClient {
	t.Helper()
	var capabilities map[string]any
	if err := json.Unmarshal([]byte(can), &capabilities); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &lspClient{
		t: t, dir: dir, process: exec.Command(self, "lsp"), stderr: new(strings.Builder),
		texts: map[string]string{}, versions: map[string]int{}, diagnostics: map[string][]any{}, fresh: map[string]bool{},
		messages: make(chan []byte, 1<<16),
	}
	c.process.Dir, c.process.Env, c.process.Stderr = dir, append(os.Environ(), asProgram+"=1"), c.stderr
	if c.in, err = c.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go c.listen(bufio.NewReader(out))
	if encoding != "" {
		capabilities["general"] = map[string]any{"positionEncodings": []string{"utf-7", encoding}}
	}
	c.result, _ = c.request("initialize", map[string]any{
		"processId": nil, "rootUri": nil, "capabilities": capabilities,
		"workspaceFolders": c.folders(folders),
	}).(map[string]any)
	c.encoding, _ = c.result["capabilities"].(map[string]any)["positionEncoding"].(string)
	c.notify("initialized", map[string]any{})
	return c
}

// folders returns folders, which are names or URIs, as the protocol has them.
func (c *lspClient) folders(names []string) []any {
	all := []any{}
	for _, name := range names {
		uri := c.uri(name)
		if strings.Contains(name, "://") {
			uri = name
		}
		all = append(all, map[string]any{"uri": uri, "name": name})
	}
	return all
}

// stop ends the server as an editor does, and returns its exit status.
func (c *lspClient) stop() int {
	c.t.Helper()
	c.request("shutdown", nil)
	c.notify("exit", nil)
	c.process.Wait()
	if text := c.stderr.String(); text != "" {
		c.t.Errorf("the server writes to standard error: %s", text)
	}
	return c.process.ProcessState.ExitCode()
}

func uriOf(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func (c *lspClient) uri(name string) string { return uriOf(filepath.Join(c.dir, name)) }

// nameOf returns the name of a file in the workspace.
func (c *lspClient) nameOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		c.t.Fatal(err)
	}
	name, err := filepath.Rel(c.dir, filepath.FromSlash(u.Path))
	if err != nil {
		c.t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

func (c *lspClient) send(message map[string]any) {
	message["jsonrpc"] = "2.0"
	data, err := json.Marshal(message)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(data), data); err != nil {
		c.t.Fatalf("%v\n%s", err, c.stderr)
	}
}

func (c *lspClient) notify(method string, params any) {
	message := map[string]any{"method": method}
	if params != nil {
		message["params"] = params
	}
	c.send(message)
}

// request sends a request, and reads messages up to its answer.
func (c *lspClient) request(method string, params any) any {
	c.t.Helper()
	c.requests++
	message := map[string]any{"id": c.requests, "method": method}
	if params != nil {
		message["params"] = params
	}
	c.send(message)
	for {
		switch m := c.read(); {
		case m["method"] == "textDocument/publishDiagnostics":
			p := m["params"].(map[string]any)
			name := c.nameOf(p["uri"].(string))
			found := p["diagnostics"].([]any)
			if len(found)+len(c.diagnostics[name]) > 0 || p["version"] != 1.0 { // of a file that was opened without findings the server may say so, or nothing
				c.fresh[name] = true
			}
			c.diagnostics[name] = found
		case m["method"] == "window/showDocument":
			u, err := url.Parse(m["params"].(map[string]any)["uri"].(string))
			if err != nil {
				c.t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.FromSlash(u.Path))
			if selection := m["params"].(map[string]any)["selection"]; selection != nil {
				c.shown += "select " + c.place(c.nameOf(u.String()), selection) + "\n"
				err = nil
			} else {
				c.shown += string(text)
			}
			c.send(map[string]any{"id": m["id"], "result": map[string]any{"success": err == nil}})
		case m["method"] == "window/showMessage":
			c.shown += m["params"].(map[string]any)["message"].(string) + "\n"
		case m["method"] != nil && m["id"] != nil:
			c.send(map[string]any{"id": m["id"], "result": nil})
		case m["id"] == float64(c.requests) && m["error"] != nil:
			return m["error"]
		case m["id"] == float64(c.requests):
			return m["result"]
		}
	}
}

// listen reads the messages of the server. A client must always read: a server that cannot write does not read.
func (c *lspClient) listen(from *bufio.Reader) {
	defer close(c.messages)
	for {
		header, err := textproto.NewReader(from).ReadMIMEHeader()
		if err != nil {
			return
		}
		size, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(from, data); err != nil {
			return
		}
		c.messages <- data
	}
}

func (c *lspClient) read() map[string]any {
	c.t.Helper()
	data, ok := <-c.messages
	if !ok {
		c.t.Fatalf("the server has ended\n%s", c.stderr)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// open opens a file. Its text is that on the disk, or empty if there is none.
func (c *lspClient) open(name string) {
	text, _ := os.ReadFile(filepath.Join(c.dir, name))
	c.texts[name], c.versions[name] = string(text), 1
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri(name), "languageId": "yaml", "version": 1, "text": string(text)}})
}

// replace replaces the text between two offsets.
func (c *lspClient) replace(name string, from, to int, text string) {
	before := c.texts[name]
	c.versions[name]++
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri(name), "version": c.versions[name]},
		"contentChanges": []any{map[string]any{"range": map[string]any{"start": c.position(before, from), "end": c.position(before, to)}, "text": text}},
	})
	c.texts[name] = before[:from] + text + before[to:]
}

func (c *lspClient) close(name string) {
	delete(c.texts, name)
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}})
}

// check waits until the server has checked everything.
func (c *lspClient) check() {
	c.t.Helper()
	c.request("workspace/executeCommand", map[string]any{"command": "preadmit.check"})
}

// ask sends a request about a place in a file.
func (c *lspClient) ask(method, name string, at int, more map[string]any) any {
	c.t.Helper()
	params := map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": c.position(c.texts[name], at)}
	for key, value := range more {
		params[key] = value
	}
	return c.request(method, params)
}

// width returns how many units of the encoding a text has.
func (c *lspClient) width(text string) int {
	switch c.encoding {
	case "utf-8":
		return len(text)
	case "utf-32":
		return utf8.RuneCountInString(text)
	}
	return len(utf16.Encode([]rune(text)))
}

func (c *lspClient) position(text string, offset int) map[string]any {
	line := strings.LastIndex(text[:offset], "\n") + 1
	return map[string]any{"line": strings.Count(text[:offset], "\n"), "character": c.width(text[line:offset])}
}

// offset returns the offset of a position in a text.
func (c *lspClient) offset(text string, position any) int {
	p := position.(map[string]any)
	at := 0
	for range int(p["line"].(float64)) {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	end := at
	for c.width(text[at:end]) < int(p["character"].(float64)) {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return end
}

// textOf returns the text of a file as the editor shows it.
func (c *lspClient) textOf(name string) string {
	if text, ok := c.texts[name]; ok {
		return text
	}
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// place returns a range as "line:column text", where the text is what is there.
func (c *lspClient) place(name string, span any) string {
	text := c.textOf(name)
	from, to := c.offset(text, span.(map[string]any)["start"]), c.offset(text, span.(map[string]any)["end"])
	line := strings.LastIndex(text[:from], "\n") + 1
	return fmt.Sprintf("%s:%d:%d %q", name, strings.Count(text[:from], "\n")+1, utf8.RuneCountInString(text[line:from])+1, text[from:to])
}
