package playground

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// sizes are those of a laptop, a tablet and a small telephone.
var sizes = []struct {
	name          string
	width, height int64
}{{"wide", 1440, 900}, {"middle", 1000, 760}, {"narrow", 400, 800}}

// TestLooks takes screenshots in both colour schemes, and finds nothing that is too wide
// for the screen or has no name.
func TestLooks(t *testing.T) {
	first := playground(t, "quickstart")
	for _, size := range sizes {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(size.name+" "+scheme, func(t *testing.T) {
				p := &tab{t, first.ctx}
				p.do(chromedp.Evaluate(`document.getElementById("to-result").click()`, nil))
				p.resize(size.width, size.height, scheme)
				for _, pane := range []string{"result", "explain", "view", "pods", "findings"} {
					p.click("#tab-" + pane)
					p.wait(`true`)
					p.check(size.width)
					p.keep(size.name + "-" + scheme + "-" + pane)
				}
				if size.name == "narrow" {
					p.click("#to-policies")
					p.check(size.width)
					p.keep(size.name + "-" + scheme + "-policies")
				}
			})
		}
		t.Run(size.name+" reference", func(t *testing.T) {
			p := open(t, server()+"/reference/policies.html")
			p.resize(size.width, size.height, "light")
			p.do(chromedp.SendKeys("#search", "reinvocation", chromedp.ByQuery))
			p.wait(`document.querySelectorAll("#hits a").length > 0`)
			p.check(size.width)
			p.keep(size.name + "-reference")
		})
	}
	p := &tab{t, first.ctx}
	p.resize(1440, 900, "light")
	for _, name := range []string{"mistakes", "conflict", "gatekeeper", "plain"} {
		p.visit(name)
		p.keep(name)
	}
}

func (p *tab) resize(width, height int64, scheme string) {
	p.Helper()
	p.do(page.BringToFront(), chromedp.EmulateViewport(width, height, chromedp.EmulateScale(1)),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// check finds what does not fit, and what nobody can call by its name.
func (p *tab) check(width int64) {
	p.Helper()
	var tooWide bool
	var unnamed []string
	p.do(chromedp.Evaluate(`document.scrollingElement.scrollWidth > innerWidth || [...document.querySelectorAll("header, main, nav")].some((e) => e.getBoundingClientRect().right > innerWidth + 1)`, &tooWide),
		chromedp.Evaluate(`[...document.querySelectorAll("button, a, input, select")].filter((e) => e.checkVisibility({visibilityProperty: true}) && !(e.innerText || e.getAttribute("aria-label") || e.title || e.labels?.length)).map((e) => e.outerHTML)`, &unnamed))
	if tooWide {
		p.Errorf("the page is wider than %d", width)
	}
	if len(unnamed) > 0 {
		p.Errorf("these have no names: %q", unnamed)
	}
}

// keep keeps a screenshot, if that is wanted.
func (p *tab) keep(name string) {
	p.Helper()
	if *screenshots == "" {
		return
	}
	var picture []byte
	p.do(chromedp.CaptureScreenshot(&picture))
	if err := os.MkdirAll(*screenshots, 0o777); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), picture, 0o666); err != nil {
		p.Fatal(err)
	}
}
