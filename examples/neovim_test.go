package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// neovim is a Neovim whose screen is that of the test. It talks MessagePack-RPC on its standard input
// and output.
type neovim struct {
	t      *testing.T
	in     *msgpack.Encoder
	out    *msgpack.Decoder
	calls  int
	screen screen
}

// screen is what Neovim draws.
type screen struct {
	rows        [][]cell
	row, column int // of the cursor
	groups      map[int]string
}

// cell is a letter with the name of its highlight group.
type cell struct{ text, group string }

// startNeovim opens a file in Neovim with the configuration of the example.
func startNeovim(t *testing.T, directory, file string, width, height int) *neovim {
	t.Helper()
	init, err := filepath.Abs("editors/neovim/init.lua")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("nvim", "--embed", "-i", "NONE", "-n", "-u", init, "--cmd", "set noautoindent | filetype indent off", file)
	c.Dir, c.Env = directory, append(os.Environ(), "PWD="+directory, "LC_ALL=C.UTF-8")
	for _, name := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		c.Env = append(c.Env, "XDG_"+name+"_HOME="+t.TempDir())
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, c)
	n := &neovim{t: t, in: msgpack.NewEncoder(in), out: msgpack.NewDecoder(out), screen: screen{groups: map[int]string{}}}
	n.call("nvim_ui_attach", width, height, map[string]any{"rgb": true, "ext_linegrid": true, "ext_hlstate": true})
	return n
}

// call calls a function of Neovim's API, and draws what Neovim shows until its answer.
func (n *neovim) call(method string, arguments ...any) any {
	n.t.Helper()
	n.calls++
	if err := n.in.Encode([]any{0, n.calls, method, append([]any{}, arguments...)}); err != nil {
		n.t.Fatal(err)
	}
	for {
		var message []msgpack.RawMessage
		if err := n.out.Decode(&message); err != nil {
			n.t.Fatalf("%s: Neovim has ended: %v", method, err)
		}
		if kind := n.decode(message[0]); number(kind) == 2 {
			if n.decode(message[1]) == "redraw" {
				n.redraw(message[2])
			}
			continue
		}
		if wrong := n.decode(message[2]); wrong != nil {
			n.t.Fatalf("%s: %v", method, wrong)
		}
		return n.decode(message[3])
	}
}

// lua runs Lua in Neovim, and reads what it returns into a value.
func (n *neovim) lua(code string, value any) {
	n.t.Helper()
	text, _ := n.call("nvim_exec_lua", "return vim.fn.json_encode((function() "+code+" end)())", []any{}).(string)
	if err := json.Unmarshal([]byte(text), value); err != nil {
		n.t.Fatalf("%s: %v in %q", code, err, text)
	}
}

// wait waits until an expression of Lua is true.
func (n *neovim) wait(expression string) {
	n.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		var value bool
		if n.lua("return ("+expression+") and true or false", &value); value {
			return
		}
		if time.Now().After(deadline) {
			var text string
			n.lua("return table.concat(vim.fn.getline(1, '$'), '\\n')", &text)
			n.t.Fatalf("this does not become true in Neovim: %s\nthe text is %q", expression, text)
		}
	}
}

// decode reads a value that has no handles of Neovim's.
func (n *neovim) decode(data msgpack.RawMessage) any {
	n.t.Helper()
	if len(data) == 0 {
		return nil // the library keeps no text of nil
	}
	decoder := msgpack.NewDecoder(bytes.NewReader(data))
	decoder.UseLooseInterfaceDecoding(true)
	value, err := decoder.DecodeInterfaceLoose()
	if err != nil {
		n.t.Fatal(err)
	}
	return value
}

// number returns a number of a message.
func number(value any) int {
	if n, ok := value.(uint64); ok {
		return int(n)
	}
	return int(value.(int64))
}

// drawn are the events of Neovim's that change the screen, with "ext_linegrid".
var drawn = map[string]func(*screen, []any){
	"grid_resize": (*screen).resize, "grid_clear": (*screen).clear, "grid_line": (*screen).line, "grid_scroll": (*screen).scroll,
	"grid_cursor_goto": func(s *screen, a []any) { s.row, s.column = number(a[1]), number(a[2]) },
	"hl_attr_define":   (*screen).define,
}

// redraw applies the events of a notification, each a name with one or more lists of arguments.
func (n *neovim) redraw(data msgpack.RawMessage) {
	var events [][]msgpack.RawMessage
	if err := msgpack.Unmarshal(data, &events); err != nil {
		n.t.Fatal(err)
	}
	for _, event := range events {
		if draw := drawn[n.decode(event[0]).(string)]; draw != nil {
			for _, arguments := range event[1:] {
				draw(&n.screen, n.decode(arguments).([]any))
			}
		}
	}
}

// blanks returns an empty line.
func blanks(width int) []cell { return slices.Repeat([]cell{{text: " "}}, width) }

func (s *screen) resize(a []any) {
	s.rows = make([][]cell, number(a[2]))
	for i := range s.rows {
		s.rows[i] = blanks(number(a[1]))
	}
}

func (s *screen) clear([]any) {
	for i := range s.rows {
		s.rows[i] = blanks(len(s.rows[i]))
	}
}

// line draws a part of a line: cells with a text, a highlight unless it is that of the cell before, and
// how often.
func (s *screen) line(a []any) {
	row, column, highlight := number(a[1]), number(a[2]), 0
	for _, item := range a[3].([]any) {
		item, count := item.([]any), 1
		if len(item) > 1 {
			highlight = number(item[1])
		}
		if len(item) > 2 {
			count = number(item[2])
		}
		for range count {
			s.rows[row][column] = cell{item[0].(string), s.groups[highlight]}
			column++
		}
	}
}

// scroll moves the lines of an area up, or down if there are less than 0.
func (s *screen) scroll(a []any) {
	top, bottom, left, right, by := number(a[1]), number(a[2]), number(a[3]), number(a[4]), number(a[5])
	before := s.copied()
	for row := max(top, top-by); row < min(bottom, bottom-by); row++ {
		copy(s.rows[row][left:right], before[row+by][left:right])
	}
}

// define gives a highlight the name of the group that decides its look: Neovim names it last.
func (s *screen) define(a []any) {
	name := ""
	for _, info := range a[3].([]any) {
		if group, ok := info.(map[string]any)["hi_name"].(string); ok {
			name = group
		}
	}
	s.groups[number(a[0])] = name
}

// copied returns a copy of the lines.
func (s *screen) copied() [][]cell {
	rows := make([][]cell, len(s.rows))
	for i, row := range s.rows {
		rows[i] = slices.Clone(row)
	}
	return rows
}
