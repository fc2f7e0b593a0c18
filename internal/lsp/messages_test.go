package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// frame returns a text as a message. A text with a line break has its own header.
func frame(text string) string {
	if strings.Contains(text, "\r\n") {
		return text
	}
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text)
}

// answersIn returns the answers that a server has sent: the ID, and the error or "ok".
func answersIn(t *testing.T, sent string) (answers []string) {
	for _, part := range strings.Split(sent, "Content-Length: ")[1:] {
		_, body, _ := strings.Cut(part, "\r\n\r\n")
		var m struct {
			ID     any
			Method string
			Error  *struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err, body)
		}
		switch {
		case m.Method != "":
		case m.Error != nil:
			answers = append(answers, fmt.Sprintf("%v: %d %s", m.ID, m.Error.Code, m.Error.Message))
		default:
			answers = append(answers, fmt.Sprintf("%v: ok", m.ID))
		}
	}
	return answers
}

// The messages of an editor that does as it should.
const (
	initialize = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": null, "rootUri": null, "capabilities": {}}}`
	shutdown   = `{"jsonrpc": "2.0", "id": 9, "method": "shutdown"}`
	exit       = `{"jsonrpc": "2.0", "method": "exit"}`
	hover      = `{"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///a.yaml"}, "position": {"line": 0, "character": 0}}}`
	hovers     = `{"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": `
)

// TestMessages checks what the server answers to messages that are wrong, or come at the wrong time, and that it
// answers the next one.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name       string
		sent, want []string
		orderly    bool
		err        string
	}{
		{"orderly", []string{initialize, hover, shutdown, exit}, []string{"1: ok", "2: ok", "9: ok"}, true, ""},
		{"before initialize", []string{hover, shutdown, initialize, shutdown, exit}, []string{"2: -32002 initialize has to come first", "9: -32002 initialize has to come first", "1: ok", "9: ok"}, true, ""},
		{"initialize twice", []string{initialize, initialize}, []string{"1: ok", "1: -32600 initialize has come before"}, false, ""},
		{"after shutdown", []string{initialize, shutdown, hover, shutdown, initialize, exit}, []string{"1: ok", "9: ok", "2: -32600 shutdown has come before", "9: -32600 shutdown has come before", "1: -32600 shutdown has come before"}, true, ""},
		{"exit twice", []string{initialize, shutdown, exit, exit}, []string{"1: ok", "9: ok"}, true, ""},
		{"exit alone", []string{exit}, nil, false, ""},
		{"unknown method", []string{initialize, `{"jsonrpc": "2.0", "id": 2, "method": "a/b", "params": {}}`, `{"jsonrpc": "2.0", "method": "a/b"}`, `{"jsonrpc": "2.0", "id": 3, "method": "$/a", "params": {}}`, `{"jsonrpc": "2.0", "id": 4, "method": "a/c"}`}, []string{"1: ok", "2: -32601 not implemented", "3: -32601 not implemented", "4: -32601 not implemented"}, false, ""},
		{
			"wrong params",
			[]string{initialize, hovers + "[1]}", hovers + "5}", hovers + `{"textDocument": 5}}`, hovers + `{"textDocument": {"uri": "file:///a"}, "position": {"line": -1, "character": 0}}}`},
			slices.Concat([]string{"1: ok"}, slices.Repeat([]string{"2: -32602"}, 4)), false, "",
		},
		{"wrong params of a notification", []string{initialize, `{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": []}}`, hover}, []string{"1: ok", "2: ok"}, false, ""},
		{"no JSON", []string{initialize, `{"a": `, "[1", "null", "\x00", hover}, []string{"1: ok", "<nil>: -32700", "<nil>: -32600", "<nil>: -32700", "<nil>: -32700", "2: ok"}, false, ""},
		{"no UTF-8", []string{initialize, `{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a.yaml", "languageId": "yaml", "version": 1, "text": "` + "\xff" + `"}}}`, hover}, []string{"1: ok", "2: ok"}, false, ""},
		{"no message", []string{initialize, `{}`, `[]`, `{"jsonrpc": "1.0", "id": 2, "method": "a"}`, hover}, []string{"1: ok", "<nil>: -32600", "<nil>: -32600", "<nil>: -32600", "2: ok"}, false, ""},
		{"no header", []string{initialize, "a: b\r\n\r\n{}", hover}, []string{"1: ok"}, false, "jsonrpc2: invalid message header"},
		{"a length that is no number", []string{initialize, "Content-Length: x\r\n\r\n{}"}, []string{"1: ok"}, false, "jsonrpc2: invalid message header"},
		{"a length below zero", []string{initialize, "Content-Length: -2\r\n\r\n{}"}, []string{"1: ok"}, false, "jsonrpc2: invalid message header"},
		{"a length that no message has", []string{initialize, "Content-Length: 99999999999\r\n\r\n{}"}, []string{"1: ok"}, false, "jsonrpc2: invalid message header"},
		{"half a message", []string{initialize, "Content-Length: 20\r\n\r\n{}"}, []string{"1: ok"}, false, "unexpected EOF"},
		{"nothing", nil, nil, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in strings.Builder
			for _, text := range c.sent {
				in.WriteString(frame(text))
			}
			var out bytes.Buffer
			orderly, err := Serve(t.Context(), strings.NewReader(in.String()), &out, Options{Dir: t.TempDir(), Open: func(string) Workspace { return slowWorkspace{} }})
			if orderly != c.orderly || fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
				t.Errorf("orderly %v, error %v", orderly, err)
			}
			got := answersIn(t, out.String())
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
