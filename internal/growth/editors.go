package growth

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/preadmit/preadmit/krmfn"
)

// serve is the command of the language server. It reads its directory.
const serve = "lsp"

// message is a request or a notification of an editor. In its params, "root/" begins the URI of a file in the
// workspace.
type message struct{ method, params string }

func (m message) isNotification() bool {
	return m.method == "initialized" || m.method == "exit" || strings.HasPrefix(m.method, "textDocument/did")
}

// ofEditors are the dimensions of the language server: what is in the workspace, what an editor does, and what it
// asks.
func ofEditors() (all []dimension) {
	session := func(name string, n int, files func(n int) map[string]string, messages func(n int) []message) {
		all = append(all, dimension{name: "editor/" + name, n: n, commands: []string{serve}, files: files, session: messages})
	}
	manifests := func(n int) map[string]string { return workspaceOf(1, n) }
	policies := func(n int) map[string]string { return workspaceOf(n, 1) }
	apart := func(n int) map[string]string {
		files := map[string]string{"manifests.yaml": configMaps(1)}
		for i := range n {
			files[policyFile(i)] = ownPolicy(i)
		}
		return files
	}
	checked := func(int) []message { return []message{check} }
	opened := func(text func(n int) string, then func(n int) []message) func(n int) []message {
		return func(n int) []message { return append([]message{check, open(policyFile(0), text(n))}, then(n)...) }
	}
	one := func(int) string { return ownPolicy(0) }
	whole := func(n int) string { return repeat(n, ownPolicy) }
	tenEdits := func(int) []message { return edits(10) }
	ask := func(int) []message { return questions() }
	wrong := func(n int) map[string]string { return map[string]string{policyFile(0): wrongRules(n)} }
	session("manifests", 40, manifests, checked)
	session("policies", 16, policies, checked)
	session("edits", 10, func(int) map[string]string { return workspaceOf(1, 1) }, opened(one, edits))
	session("edits among manifests", 40, manifests, opened(one, tenEdits))
	session("edits among policies", 16, apart, opened(one, tenEdits))
	session("edits in a large file", 16, policies, opened(whole, tenEdits))
	session("questions in a large file", 16, policies, opened(whole, ask))
	session("questions among policies", 16, apart, opened(one, ask))
	session("fixes", 64, wrong, allFixes)
	session("open files", 16, apart, func(n int) []message {
		all := []message{check}
		for i := range n {
			all = append(all, open(policyFile(i), ownPolicy(i)))
		}
		return append(all, edits(1)...)
	})
	return all
}

// workspaceOf returns a file with policies and one with manifests.
func workspaceOf(policies, manifests int) map[string]string {
	return map[string]string{policyFile(0): repeat(policies, ownPolicy), "manifests.yaml": configMaps(manifests)}
}

func policyFile(i int) string { return fmt.Sprintf("policies-%d.yaml", i) }

// ownPolicy returns a policy that writes a label of its own, with a variable, on one object.
func ownPolicy(i int) string {
	return boundPolicy(fmt.Sprint("p-", i), "configmaps", fmt.Sprintf("  variables:\n  - {name: team, expression: object.metadata.name}\n  matchConditions:\n  - {name: own, expression: 'object.metadata.name == \"c-%d\"'}\n", i), "",
		patch(`[JSONPatch{op: "add", path: "/metadata/labels", value: {"team": variables.team}}]`))
}

// allFixes asks for the fixes of all mistakes.
func allFixes(n int) []message {
	return []message{open(policyFile(0), wrongRules(n)), check, actions(policyFile(0), 0, 0, 1<<20, 0)}
}

// wrongRules returns a policy with rules that have mistakes: a misspelt word, a missing field, and values in their texts.
func wrongRules(n int) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: wrong\nspec:\n  rules:\n" + repeat(n, func(i int) string {
		return fmt.Sprintf(`  - name: r-%d
    match:
      any:
      - resources: {kinds: [ConfigMap], selector: {matchExpressions: [{key: a, operator: exists}]}}
    preconditions:
      all:
      - {key: "{{ request.operation }}", operator: equals, value: CREATE}
    mutate:
      patchStrategicMerge: {metadata: {labels: {a: 5}}}
`, i)
	})
}

// check lets the server check everything before it answers.
var check = message{"workspace/executeCommand", `{"command": "preadmit.check"}`}

// open opens a file.
func open(name, text string) message {
	quoted, _ := json.Marshal(text) // a string
	return message{"textDocument/didOpen", fmt.Sprintf(`{"textDocument": {"uri": "root/%s", "languageId": "yaml", "version": 0, "text": %s}}`, name, quoted)}
}

// place returns the line and the character at which the first policy has a text.
func place(text string) (line, character int) {
	before, _, _ := strings.Cut(ownPolicy(0), text)
	return strings.Count(before, "\n"), len(before) - strings.LastIndex(before, "\n") - 1
}

// edits returns n edits of the condition of the first policy, each with a complete check.
func edits(n int) (all []message) {
	line, at := place("c-0")
	for i := range n {
		where := fmt.Sprintf(`"start": {"line": %d, "character": %d}, "end": {"line": %[1]d, "character": %d}`, line, at, at+1)
		all = append(all, message{"textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": "root/%s", "version": %d}, "contentChanges": [{"range": {%s}, "text": "%c"}]}`, policyFile(0), i+1, where, 'a'+i%26)}, check)
	}
	return all
}

// questions are about the variable of the first policy.
func questions() (all []message) {
	line, character := place("variables.team")
	of := fmt.Sprintf(`{"textDocument": {"uri": "root/%s"}`, policyFile(0))
	at := fmt.Sprintf(`%s, "position": {"line": %d, "character": %d}`, of, line, character+len("variables.t"))
	for _, method := range []string{"completion", "hover", "definition", "prepareRename", "semanticTokens/full", "foldingRange", "documentSymbol", "codeLens"} {
		all = append(all, message{"textDocument/" + method, at + "}"})
	}
	return append(all, message{"textDocument/references", at + `, "context": {"includeDeclaration": true}}`}, message{"textDocument/rename", at + `, "newName": "crew"}`},
		actions(policyFile(0), line, character, line, character+len("variables.team")))
}

// actions asks for the actions between two places of a file.
func actions(file string, line, character, endLine, end int) message {
	return message{"textDocument/codeAction", fmt.Sprintf(`{"textDocument": {"uri": "root/%s"}, "range": {"start": {"line": %d, "character": %d}, "end": {"line": %d, "character": %d}}, "context": {"diagnostics": []}}`, file, line, character, endLine, end)}
}

// converse returns what runs the server, and is its editor: it sends each message after the answer to the one before.
func converse(p *krmfn.Process, messages []message) func() error {
	messages = append([]message{{"initialize", `{"processId": null, "rootUri": "root/", "capabilities": {"general": {"positionEncodings": ["utf-8"]}, "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}}}}}`}, {"initialized", "{}"}}, messages...)
	messages = append(messages, message{"shutdown", "null"}, message{"exit", "null"})
	return func() error {
		fromEditor, toServer := io.Pipe()
		fromServer, toEditor := io.Pipe()
		p.Stdin, p.Stdout = fromEditor, toEditor
		answers := make(chan error)
		go func() {
			answers <- read(bufio.NewReader(fromServer), answers)
		}()
		status := make(chan int, 1)
		go func() {
			status <- krmfn.Main(context.Background(), p)
			toEditor.Close()
			fromEditor.Close()
		}()
		for i, m := range messages {
			if _, err := io.WriteString(toServer, m.framed(i, p.Dir)); err != nil {
				return fmt.Errorf("%s: %w", m.method, err)
			}
			if !m.isNotification() {
				if err := <-answers; err != nil {
					return fmt.Errorf("%s: %w", m.method, err)
				}
			}
		}
		if got := <-status; got != 0 {
			return fmt.Errorf("the server ended with status %d", got)
		}
		<-answers // the end of the output
		return nil
	}
}

// framed returns a message as an editor sends it to the server of a directory.
func (m message) framed(id int, dir string) string {
	text := fmt.Sprintf(`"method": %q, "params": %s}`, m.method, strings.ReplaceAll(m.params, `"root/`, `"file://`+filepath.ToSlash(dir)+"/"))
	if !m.isNotification() {
		text = fmt.Sprintf(`"id": %d, `, id) + text
	}
	text = `{"jsonrpc": "2.0", ` + text
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text)
}

// read reads what a server sends, and reports each answer: nil, or its error. It returns the end of the output.
func read(from *bufio.Reader, answers chan<- error) error {
	for {
		header, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		size := 0
		if _, err := fmt.Sscanf(header, "Content-Length: %d", &size); err != nil {
			return err
		}
		if _, err := from.ReadString('\n'); err != nil { // the line between header and message
			return err
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(from, data); err != nil {
			return err
		}
		var m struct {
			Method string
			Error  *struct{ Message string }
		}
		switch err := json.Unmarshal(data, &m); {
		case err != nil:
			return err
		case m.Error != nil:
			answers <- fmt.Errorf("%s", m.Error.Message)
		case m.Method == "": // the server asks nothing, and notifications are no answers
			answers <- nil
		}
	}
}
