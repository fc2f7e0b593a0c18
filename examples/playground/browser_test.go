// Package playground tests the playground in a real browser, from a plain web server and
// from a disk. The page is built once for all tests.
//
// The files in order: browser_test.go (the browser), page_test.go (what a user does),
// look_test.go (screenshots), report_test.go (the page of explain), site_test.go (what needs
// no browser).
package playground

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/preadmit/preadmit/examples/playground/site"
)

var (
	built       = flag.String("site", "", "test the site in this directory instead of a new one")
	screenshots = flag.String("screenshots", "", "keep the screenshots in this directory")
)

const root = "../.."

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	directory, err := os.MkdirTemp("", "playground")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	if *built == "" {
		*built = filepath.Join(directory, "site")
		if err := site.Build(root, *built); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if *built, err = filepath.Abs(*built); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program := exec.Command("go", "build", "-o", filepath.Join(directory, "bin")+"/", "./krmfn/preadmit")
	program.Dir = root
	if output, err := program.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", program, err, output)
		return 1
	}
	os.Setenv("PATH", filepath.Join(directory, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// server serves the site as any host does that knows nothing of it.
var server = sync.OnceValue(func() string {
	return httptest.NewServer(http.FileServer(http.Dir(*built))).URL
})

// browser is started once; every test has a tab of its own.
var browser = sync.OnceValues(func() (context.Context, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, exec.ErrNotFound
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1440, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-color-profile", "srgb"))
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	first, _ := chromedp.NewContext(allocator)
	return first, chromedp.Run(first)
})

// tab is a tab of the browser.
type tab struct {
	*testing.T
	ctx context.Context
}

// open opens an address. Whatever goes wrong in the page fails the test.
func open(t *testing.T, address string) *tab {
	t.Helper()
	first, err := browser()
	if err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("no browser: %v", err)
		}
		t.Fatalf("no browser: %v; install Debian's package chromium", err)
	}
	ctx, closeTab := chromedp.NewContext(first)
	ctx, stop := context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(func() { stop(); closeTab() })
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("an exception in the page: %v", e.ExceptionDetails)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				t.Errorf("an error of the browser: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	})
	p := &tab{t, ctx}
	p.do(log.Enable(), emulation.SetFocusEmulationEnabled(true), page.BringToFront(), chromedp.Navigate(address)) // what is hidden is not drawn
	return p
}

// playground opens the page with a fragment, and waits for the answer.
func playground(t *testing.T, fragment string) *tab {
	t.Helper()
	p := open(t, server()+"/#"+fragment)
	p.ready()
	return p
}

// ready waits until the page has its first answer.
func (p *tab) ready() {
	p.Helper()
	p.wait(`document.body.dataset.answers`)
}

// visit goes on to another fragment.
func (p *tab) visit(fragment string) {
	p.Helper()
	before := p.text(`document.body.dataset.answers`)
	p.do(page.BringToFront(), chromedp.Evaluate(`location.hash = "#`+fragment+`"`, nil))
	p.wait(`document.body.dataset.answers !== "` + before + `"`)
}

func (p *tab) do(actions ...chromedp.Action) {
	p.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// text is what a JavaScript expression gives.
func (p *tab) text(expression string) string {
	p.Helper()
	var value string
	p.do(chromedp.Evaluate(`String(`+expression+`)`, &value))
	return value
}

// wait waits until an expression is true, and no answer is on its way.
func (p *tab) wait(expression string) {
	p.Helper()
	err := chromedp.Run(p.ctx, chromedp.Poll(`!document.body.classList.contains("busy") && Boolean(`+expression+`)`, nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(60*time.Second)))
	if err != nil {
		p.Fatalf("%s: %v; the page says %q", expression, err, p.text(`document.querySelector("#result-panel").innerText`))
	}
}

func (p *tab) click(selector string) {
	p.Helper()
	p.do(chromedp.Click(selector, chromedp.ByQuery))
}

// copied clicks on something that copies, and returns what.
func (p *tab) copied(id string) string {
	p.Helper()
	p.do(chromedp.Evaluate(`navigator.clipboard.writeText = async (text) => { globalThis.copied = text }; globalThis.copied = undefined; document.getElementById("`+id+`").click()`, nil))
	p.wait(`globalThis.copied !== undefined`)
	return p.text(`globalThis.copied`)
}

// in is the shadow root of an editor.
func in(editor string) string {
	return `document.getElementById("` + editor + `-editor").shadowRoot`
}

// shown is the text in an editor, as far as it is on the screen.
func (p *tab) shown(editor string) string {
	p.Helper()
	return p.text(in(editor) + `.querySelector(".cm-content").innerText`)
}

// choose opens the tab of a file.
func (p *tab) choose(file string) {
	p.Helper()
	p.do(chromedp.Evaluate(`[...document.querySelectorAll(".tab")].find((tab) => tab.textContent.startsWith("`+file+`")).click()`, nil))
}

// replace replaces what is on a line of the open file, named by its beginning: the
// line is selected, and what is typed takes its place.
func (p *tab) replace(editor, line, with string) {
	p.Helper()
	p.do(page.BringToFront(), chromedp.Evaluate(`{
		const tile = `+in(editor)+`.querySelector(".cm-content").cmTile;
		const view = (tile.root ?? tile).view;
		for (let n = 1; n <= view.state.doc.lines; n++) {
			const line = view.state.doc.line(n);
			const indent = line.text.search(/\S|$/);
			if (!line.text.slice(indent).startsWith(`+quoted(line)+`)) continue;
			view.focus();
			view.dispatch({ selection: { anchor: line.from + indent, head: line.to }, scrollIntoView: true });
			break;
		}
	}`, nil), insert(with))
}

// hover scrolls to the first occurrence of a word, and moves the mouse to its middle, away from what it shows.
func (p *tab) hover(editor, word string) {
	p.Helper()
	p.do(chromedp.MouseEvent(input.MouseMoved, 1, 1))
	p.wait(`![` + in("policies") + `, ` + in("manifests") + `].some((editor) => editor.querySelector(".about"))`)
	var at [2]float64
	p.do(page.BringToFront(), chromedp.Evaluate(`(async () => {
		const tile = `+in(editor)+`.querySelector(".cm-content").cmTile;
		const view = (tile.root ?? tile).view;
		const middle = view.state.doc.toString().indexOf(`+quoted(word)+`) + `+strconv.Itoa(len(word)/2)+`;
		view.dispatch({ selection: { anchor: middle }, scrollIntoView: true });
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
		const { left, top, bottom } = view.coordsAtPos(middle);
		return [left + 1, (top + bottom) / 2];
	})()`, &at, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	p.do(chromedp.MouseEvent(input.MouseMoved, at[0], at[1]))
}

// fill replaces the open file by the value of a JavaScript expression.
func (p *tab) fill(editor, expression string) {
	p.Helper()
	p.do(chromedp.Evaluate(`{
		const tile = `+in(editor)+`.querySelector(".cm-content").cmTile;
		const view = (tile.root ?? tile).view;
		view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: `+expression+` } });
	}`, nil))
}

func insert(text string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error { return input.InsertText(text).Do(ctx) })
}

// enter presses the key Enter, which writes nothing unless the page does: what chromedp calls
// a key event writes in any case.
func enter() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for _, kind := range []input.KeyType{input.KeyRawDown, input.KeyUp} {
			if err := input.DispatchKeyEvent(kind).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13).Do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func quoted(text string) string { return "`" + strings.ReplaceAll(text, "`", "\\`") + "`" }
