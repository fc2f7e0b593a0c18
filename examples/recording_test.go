package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	// recording is the picture that moves, and written the transcript whose commands it shows.
	recording = "editors/neovim/written.svg"
	written   = "../krmfn/testdata/lsp/written.txt"
	team      = "policies/team.yaml"
)

// recorder writes a file in Neovim, and keeps what the screen shows.
type recorder struct {
	*neovim
	// text is what the file must have by now.
	text   string
	frames []frame
}

// frame is the screen for a time in milliseconds.
type frame struct {
	rows        [][]cell
	row, column int
	time        int
}

// TestRecording writes a policy from an empty file in Neovim, as the transcript does, and compares the
// screens with the picture; -update draws it.
func TestRecording(t *testing.T) {
	t.Parallel()
	clients(t, "nvim")
	commands, text, directory := session(t)
	r := &recorder{neovim: startNeovim(t, directory, team, 94, 28)}
	r.wait("#(vim.lsp.get_clients or vim.lsp.get_active_clients)() == 1")
	r.check()
	r.show(1500)
	r.input("i")
	for _, command := range commands {
		r.run(command)
	}
	r.input("<Esc>:write<CR>gg0")
	r.wait("vim.fn.mode() == 'n' and vim.fn.line('.') == 1 and not vim.bo.modified")
	r.check()
	r.input("i<Esc>") // refreshes the lens
	r.wait("#vim.lsp.codelens.get(0) == 1 and vim.lsp.codelens.get(0)[1].command.title == 'matches 1, changes 1, denies 0'")
	r.show(6000)
	if got := read(t, filepath.Join(directory, team)); got != text {
		t.Errorf("the file has\n%swant\n%s", got, text)
	}
	if got := output(t, directory, "preadmit", "check"); got != "1 policy checked, nothing found\n" {
		t.Errorf("preadmit check: %s", got)
	}
	r.compare()
	for page, name := range map[string]string{readme: "examples/" + recording, "editors/README.md": "neovim/written.svg"} {
		if !strings.Contains(read(t, page), "("+name+")") {
			t.Errorf("%s does not show %s", page, recording)
		}
	}
}

// compare compares the picture with what has been shown. Other versions of Neovim show other menus.
func (r *recorder) compare() {
	var version string
	r.lua("local v = vim.version() return v.major .. '.' .. v.minor .. '.' .. v.patch", &version)
	if of := regexp.MustCompile(`in Neovim ([\d.]+)<`).FindStringSubmatch(read(r.t, recording)); !*update && of != nil && of[1] != version {
		r.t.Logf("%s is of Neovim %s, and not compared with %s", recording, of[1], version)
		return
	}
	got, unknown := draw(r.frames, "A policy with a param and a binding is written with completion in Neovim "+version)
	if len(unknown) > 0 {
		r.t.Errorf("the picture has no colours for %q", unknown)
	}
	if *update {
		write(r.t, recording, got)
	}
	if read(r.t, recording) != got {
		r.t.Errorf("%s is not what Neovim shows: run go test ./examples -run TestRecording -update", recording)
	}
}

// own matches the words that no completion can know: the names that the policy gives.
var own = regexp.MustCompile(`^(team|few)$`)

// words matches a word.
var words = regexp.MustCompile(`\pL+`)

// session returns the commands of the transcript, the text that they write, and a workspace with its files.
func session(t *testing.T) (commands [][]string, text, directory string) {
	t.Helper()
	directory = t.TempDir()
	parts := regexp.MustCompile(`(?m)^-- (.*) --\n`)
	data := read(t, written)
	names, contents := parts.FindAllStringSubmatch(data, -1), parts.Split(data, -1)
	for i, name := range names {
		path := filepath.Join(directory, filepath.FromSlash(name[1]))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, path, contents[i+1])
	}
	word := regexp.MustCompile(`"(?:\\.|[^"\\])*"|\S+`)
	for line := range strings.Lines(contents[0]) {
		words := word.FindAllString(line, -1)
		if words[0] == "pick" || words[0] == "append" {
			commands = append(commands, words)
		}
	}
	commands = commands[:len(commands)-1] // the last line's end, which Neovim writes
	_, shown, _ := strings.Cut(contents[0], "\ntext "+team+"\n")
	for line := range strings.Lines(shown) {
		line, inside := strings.CutPrefix(line, "    ")
		if !inside {
			break
		}
		text += line
	}
	return commands, text, directory
}

// run runs a command of the transcript.
func (r *recorder) run(command []string) {
	r.t.Helper()
	typed := command[2]
	if text, err := strconv.Unquote(typed); err == nil {
		typed = text
	}
	if command[0] == "pick" {
		r.pick(typed, command[3])
		return
	}
	for _, word := range words.FindAllString(typed, -1) {
		if !own.MatchString(word) {
			r.t.Errorf("%s is typed, not completed", word)
		}
	}
	r.write(typed)
	r.show(350)
}

// input types keys, in Neovim's notation.
func (r *recorder) input(keys string) { r.call("nvim_input", keys) }

// write types a text at the end of the file, and waits until it is there.
func (r *recorder) write(text string) {
	r.t.Helper()
	r.text += text
	r.input(strings.NewReplacer("<", "<lt>", "\n", "<CR>").Replace(text))
	r.waitForText()
}

func (r *recorder) waitForText() {
	r.t.Helper()
	r.wait(fmt.Sprintf("table.concat(vim.fn.getline(1, '$'), '\\n') == %q", r.text))
}

// pick types the beginning of a word, and takes the word from the menu.
func (r *recorder) pick(typed, label string) {
	r.t.Helper()
	if len(typed) > 9 || len(typed) >= len(label) {
		r.t.Errorf("%s is typed, and only then %s completed", typed, label)
	}
	r.write(typed)
	r.check()
	r.input("<C-x><C-o>")
	r.wait("vim.fn.pumvisible() == 1")
	var items []struct{ Word, Abbr string }
	r.lua("return vim.fn.complete_info({ 'items' }).items", &items)
	for i, item := range items {
		r.input("<C-n>")
		r.wait(fmt.Sprintf("vim.fn.complete_info({ 'selected' }).selected == %d", i))
		if item.Abbr == label {
			r.show(600)
			r.input("<C-y>")
			r.wait("vim.fn.pumvisible() == 0")
			r.text = strings.TrimSuffix(r.text, typed) + item.Word
			r.waitForText()
			return
		}
	}
	r.t.Fatalf("%s of %v: Neovim does not propose it after %q", label, items, r.text)
}

// check waits until the server has checked all files.
func (r *recorder) check() {
	r.t.Helper()
	var answered bool
	r.lua("return vim.lsp.buf_request_sync(0, 'workspace/executeCommand', { command = 'preadmit.check' }, 60000) ~= nil", &answered)
	if !answered {
		r.t.Fatal("the server does not answer")
	}
}

// show keeps the screen as it is now.
func (r *recorder) show(milliseconds int) {
	r.t.Helper()
	r.call("nvim_command", "redraw")
	r.frames = append(r.frames, frame{r.screen.copied(), r.screen.row, r.screen.column, milliseconds})
}
