package playground

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// report opens the page that 'preadmit explain -o html' makes of the quickstart and of an
// object that no policy changes.
func report(t *testing.T) *tab {
	t.Helper()
	directory := t.TempDir()
	quiet := filepath.Join(directory, "quiet.yaml")
	if err := os.WriteFile(quiet, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: quiet, namespace: shop}\ndata: {filler: nothing-of-this-is-shown}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	quickstart, err := filepath.Abs(filepath.Join(root, "examples/quickstart"))
	if err != nil {
		t.Fatal(err)
	}
	explain := exec.Command("preadmit", "explain", "-o", "html", "-p", "policies", "manifests", quiet)
	explain.Dir = quickstart
	html, err := explain.Output()
	if err != nil {
		t.Fatalf("%v: %v", explain, err)
	}
	page := filepath.Join(directory, "report.html")
	if err := os.WriteFile(page, html, 0o666); err != nil {
		t.Fatal(err)
	}
	return open(t, (&url.URL{Scheme: "file", Path: filepath.ToSlash(page)}).String())
}

// TestReport uses the page as a reviewer does.
func TestReport(t *testing.T) {
	p := report(t)
	const focused = `document.activeElement.classList.contains("first")`
	inView := `(() => { const r = document.activeElement.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })()`

	t.Run("it opens on the first change", func(t *testing.T) {
		p := &tab{t, p.ctx}
		p.is(focused+` && `+inView, "true")
		p.is(`[...document.querySelectorAll("tr.first")].indexOf(document.activeElement)`, "0")
	})
	t.Run("unchanged objects are a line", func(t *testing.T) {
		p := &tab{t, p.ctx}
		p.is(`document.body.innerHTML.includes("nothing-of-this-is-shown")`, "false")
		p.is(`[...document.querySelectorAll("#index li")].some((l) => l.textContent.includes("ConfigMap shop/quiet") && l.textContent.includes("nothing changes"))`, "true")
	})
	t.Run("keys lead from change to change", func(t *testing.T) {
		p := &tab{t, p.ctx}
		const at = `[...document.querySelectorAll("tr.first")].indexOf(document.activeElement)`
		p.key("n")
		p.is(at, "1")
		p.key("p")
		p.is(at, "0")
		p.key("p")
		p.is(at+` === document.querySelectorAll("tr.first").length - 1`, "true")
	})
	t.Run("the search leaves objects of a name", func(t *testing.T) {
		p := &tab{t, p.ctx}
		p.do(chromedp.SendKeys("#search", "service", chromedp.ByQuery))
		p.is(`[...document.querySelectorAll("#index li[data-object]")].filter((l) => !l.hidden).map((l) => l.dataset.object).join()`, "service shop/checkout")
		p.is(`document.getElementById("index").open`, "true")
		p.do(chromedp.Evaluate(`{ const s = document.getElementById("search"); s.value = ""; s.dispatchEvent(new Event("input")) }`, nil))
		p.is(`[...document.querySelectorAll("#index li[data-object]")].some((l) => l.hidden)`, "false")
	})
	t.Run("a policy fades the others", func(t *testing.T) {
		p := &tab{t, p.ctx}
		p.do(chromedp.SetValue("#policy", "seccomp", chromedp.ByQuery), chromedp.Evaluate(`document.getElementById("policy").dispatchEvent(new Event("change"))`, nil))
		p.is(`[...document.querySelectorAll("tr.first:not(.faded)")].every((r) => r.dataset.policies.split("\n").includes("seccomp"))`, "true")
		p.is(`document.querySelectorAll("tr.first.faded").length > 0`, "true")
		p.do(chromedp.SetValue("#policy", "", chromedp.ByQuery), chromedp.Evaluate(`document.getElementById("policy").dispatchEvent(new Event("change"))`, nil))
	})
	t.Run("the index leads to an object", func(t *testing.T) {
		p := &tab{t, p.ctx}
		p.do(chromedp.Evaluate(`document.querySelector('#index a[data-to*="Service"]').click()`, nil))
		p.is(focused+` && document.activeElement.dataset.of.includes("Service")`, "true")
		p.is(inView, "true")
	})
}

// TestReportLooks takes screenshots of it in all sizes and both colour schemes, and reads the
// contrast of its texts.
func TestReportLooks(t *testing.T) {
	first := report(t)
	for _, size := range sizes {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(size.name+" "+scheme, func(t *testing.T) {
				p := &tab{t, first.ctx}
				p.resize(size.width, size.height, scheme)
				p.do(chromedp.Evaluate(`document.querySelector("tr.first").scrollIntoView({block: "center"})`, nil))
				p.check(size.width)
				if low := p.text(contrasts); low != "" {
					p.Errorf("hard to read: %s", low)
				}
				p.keep("report-" + size.name + "-" + scheme)
			})
		}
	}
}

// contrasts are the texts whose contrast is below 4.5, as WCAG 2 wants it.
const contrasts = `(() => {
	const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
	const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c.slice(0, 3) } return [255, 255, 255] };
	const low = [];
	for (const e of document.querySelectorAll("td, a, summary, h1, h2, p, span, label, button")) {
		if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		const [a, b] = [light(rgb(getComputedStyle(e).color).slice(0, 3)), light(ground(e))];
		if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) low.push(e.className + " " + e.textContent.trim().slice(0, 30));
	}
	return [...new Set(low)].slice(0, 5).join("; ");
})()`

// is fails unless an expression gives a text.
func (p *tab) is(expression, want string) {
	p.Helper()
	if got := p.text(expression); got != want {
		p.Errorf("%s is %s, want %s", expression, got, want)
	}
}

// key presses the key of a letter.
func (p *tab) key(letter string) {
	p.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		for _, kind := range []input.KeyType{input.KeyDown, input.KeyUp} {
			if err := input.DispatchKeyEvent(kind).WithKey(letter).WithCode("Key" + strings.ToUpper(letter)).Do(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
}
