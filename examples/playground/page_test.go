package playground

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/preadmit/preadmit/examples/playground/site"
)

// TestExamples runs what the page copies as a command line of every example: preadmit
// prints what the page shows.
func TestExamples(t *testing.T) {
	examples, err := site.Examples(root)
	if err != nil {
		t.Fatal(err)
	}
	first := playground(t, examples[0].Name)
	for i, e := range examples {
		t.Run(e.Name, func(t *testing.T) {
			p := &tab{t, first.ctx}
			if i > 0 {
				p.visit(e.Name)
			}
			script := p.copied("copy-command")
			command := exec.Command("bash", "-c", script)
			command.Dir = t.TempDir()
			var stderr bytes.Buffer
			command.Stderr = &stderr
			want, err := command.Output()
			status := p.text(`document.getElementById("status").dataset.status`)
			if failed := err != nil; failed != (status != "done") {
				t.Fatalf("the page says %s, preadmit says %v\n%s", status, err, stderr.String())
			}
			if status != "done" {
				return
			}
			if got := p.copied("copy-result"); got != string(want) {
				t.Errorf("the page has\n%s\npreadmit prints\n%s", got, want)
			}
			for _, f := range e.Files {
				stands, err := os.ReadFile(filepath.Join(command.Dir, f.Name))
				if err != nil || string(stands) != f.Text {
					t.Errorf("the command line writes another %s: %v", f.Name, err)
				}
			}
			if p.text(`location.hash`) != "#"+e.Name {
				t.Errorf("the address becomes %s", p.text(`location.hash`))
			}
		})
	}
}

// TestTyping types into a policy, sees the change and its author, shares it, and opens the
// link.
func TestTyping(t *testing.T) {
	p := playground(t, "quickstart")
	p.choose("team-label.yaml")
	p.replace("policies", `labels: {"example.com/team"`, `labels: {"example.com/squad": namespaceObject.metadata.labels["example.com/team"]}`)
	if !strings.Contains(p.shown("policies"), "example.com/squad") {
		t.Fatalf("the editor has\n%s", p.shown("policies"))
	}
	p.wait(in("result") + `.textContent.includes("example.com/squad: payments")`)
	if author := p.text(`[...` + in("result") + `.querySelectorAll(".added")].find((l) => l.textContent.includes("squad")).previousElementSibling.innerText`); !strings.Contains(author, "team-label.example.com") {
		t.Errorf("the author is %q", author)
	}
	if name := p.text(`document.getElementById("example").selectedOptions[0].textContent`); name != "Your own" {
		t.Errorf("the example is %s", name)
	}
	link := p.copied("share")
	result := p.copied("copy-result")
	other := open(t, link)
	other.ready()
	if got := other.copied("copy-result"); got != result {
		t.Errorf("the link gives\n%s\nnot\n%s", got, result)
	}
	p.do(chromedp.Reload())
	p.ready()
	if got := p.copied("copy-result"); got != result {
		t.Errorf("a reload gives\n%s\nnot\n%s", got, result)
	}
}

// TestCompletion types the beginning of a field, and takes what is offered.
func TestCompletion(t *testing.T) {
	p := playground(t, "quickstart")
	p.replace("manifests", "replicas:", "minR")
	p.wait(in("manifests") + `.querySelector(".cm-tooltip-autocomplete [aria-selected]")`)
	if offered := p.text(in("manifests") + `.querySelector(".cm-tooltip-autocomplete [aria-selected]").innerText`); !strings.Contains(offered, "minReadySeconds") || !strings.Contains(offered, "integer") {
		t.Errorf("offered: %q", offered)
	}
	p.keep("completion")
	time.Sleep(100 * time.Millisecond) // CodeMirror takes no key as an answer before one can have read what is offered
	p.do(enter(), insert("5"))
	p.wait(in("result") + `.textContent.includes("minReadySeconds: 5")`)
}

// TestHover moves the mouse to a word of a policy and to a field that a policy changes.
func TestHover(t *testing.T) {
	p := playground(t, "quickstart")
	p.choose("team-label.yaml")
	p.hover("policies", "namespaceObject")
	p.wait(in("policies") + `.querySelector(".about")`)
	if said := p.text(in("policies") + `.querySelector(".about").innerText`); !strings.Contains(said, "namespace of the object") {
		t.Errorf("the page says %q about namespaceObject", said)
	}
	p.keep("hover")
	p.hover("manifests", "replicas")
	p.wait(in("manifests") + `.querySelector(".about code")`)
	if said := p.text(in("manifests") + `.querySelector(".about").innerText`); !strings.Contains(said, "spec.replicas: integer") {
		t.Errorf("the page says %q about replicas", said)
	}
}

// TestMistakes makes a mistake: it is underlined, and the advice is there.
func TestMistakes(t *testing.T) {
	p := playground(t, "quickstart")
	p.choose("pull-policy.yaml")
	p.replace("policies", "failurePolicy: Fail", "failurePolicy: Fial")
	p.wait(`document.getElementById("status").dataset.status === "invalid"`)
	p.wait(in("policies") + `.querySelector(".cm-lintRange-error")`)
	if marked := p.text(in("policies") + `.querySelector(".cm-lintRange-error").textContent`); marked != "Fial" {
		t.Errorf("%q is underlined", marked)
	}
	if said := p.text(`document.getElementById("refused").innerText`); !strings.Contains(said, "spec.failurePolicy") || !strings.Contains(said, "Ignore") {
		t.Errorf("the page says %q", said)
	}
	if p.text(`document.querySelector("#policies-tabs .mark.error") !== null`) != "true" {
		t.Error("the tab of the file is not marked")
	}
	p.replace("policies", "failurePolicy: Fial", "failurePolicy: Fail")
	p.wait(`document.getElementById("status").dataset.status === "done"`)
}

// TestExplanation looks at what is not in the text of the result.
func TestExplanation(t *testing.T) {
	p := playground(t, "quickstart")
	p.click("#tab-explain")
	p.do(chromedp.Evaluate(`for (const d of document.querySelectorAll("#explain details")) d.open = true`, nil))
	for _, want := range []string{"spec.template.spec.securityContext", "by seccomp", "autogen-runtime-default", "match: kinds does not select Deployment"} {
		if got := p.text(`document.getElementById("explain").innerText`); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	p.click("#tab-view")
	p.wait(in("view") + `.querySelector(".filled")`)
	if got := p.text(`[...` + in("view") + `.querySelectorAll(".filled")].map((l) => l.textContent).join("\n")`); !strings.Contains(got, "sessionAffinity: None") {
		t.Errorf("the server fills in\n%s", got)
	}
	p.click("#tab-pods")
	p.wait(`document.getElementById("pods-note").textContent !== ""`)
	if got := p.shown("pods"); !strings.Contains(got, "kind: ReplicaSet") {
		t.Errorf("the cluster runs\n%s", got)
	}
	p.visit("conflict")
	p.click("#tab-findings")
	if got := p.text(`document.getElementById("findings").innerText`); !strings.Contains(got, "policies-fight") || !strings.Contains(got, "order-dependent") {
		t.Errorf("the findings are\n%s", got)
	}
}

// TestSecret shows a Secret's values in the result only.
func TestSecret(t *testing.T) {
	p := playground(t, "secret")
	if !strings.Contains(p.copied("copy-result"), "PGPASSWORD: Y29ycmVjdC1ob3JzZQ==") {
		t.Errorf("the result is\n%s", p.copied("copy-result"))
	}
	for _, pane := range []string{"explain", "findings"} {
		if strings.Contains(p.text(`document.getElementById("`+pane+`").innerText`), "Y29ycmVjdC1ob3JzZQ") {
			t.Errorf("%s shows the value", pane)
		}
	}
	if page := p.saved("save-page", "preadmit.html"); !strings.Contains(string(page), "*****") || strings.Contains(string(page), "Y29ycmVjdC1ob3JzZQ") {
		t.Error("the report shows the value")
	}
}

// saved is what a download holds.
func (p *tab) saved(id, name string) []byte {
	p.Helper()
	p.do(chromedp.Evaluate(`globalThis.saved = undefined; HTMLAnchorElement.prototype.click = function () {
		const name = this.download;
		fetch2(this.href).then((data) => { globalThis.saved = [name, data] });
	};
	function fetch2(url) { return new Promise((done) => done(blobs.get(url))) }
	if (!globalThis.blobs) {
		globalThis.blobs = new Map();
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => {
			const url = make(blob);
			blobs.set(url, blob.arrayBuffer().then((b) => btoa(String.fromCharCode(...new Uint8Array(b)))));
			return url;
		};
	}
	document.getElementById("`+id+`").click()`, nil))
	p.wait(`globalThis.saved !== undefined`)
	if got := p.text(`saved[0]`); got != name {
		p.Errorf("the file has the name %s", got)
	}
	data, err := base64.StdEncoding.DecodeString(p.text(`saved[1]`))
	if err != nil {
		p.Fatal(err)
	}
	return data
}

// TestDownloads runs the test that the page makes.
func TestDownloads(t *testing.T) {
	p := playground(t, "quickstart")
	if got := string(p.saved("save-result", "admitted.yaml")); got != p.copied("copy-result") {
		t.Errorf("the result is\n%s", got)
	}
	if got := string(p.saved("save-page", "preadmit.html")); !strings.Contains(got, "log-shipper.example.com") {
		t.Errorf("the report is\n%s", got)
	}
	data := p.saved("save-test", "preadmit-test.zip")
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, archive); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("preadmit", "test", directory).CombinedOutput(); err != nil || !strings.Contains(string(output), "1 passed, 0 failed") {
		t.Errorf("preadmit test: %v\n%s", err, output)
	}
}

// TestFiles adds a file, renames it and removes it.
func TestFiles(t *testing.T) {
	p := playground(t, "reinvocation")
	p.click(`#manifests-tabs .more[title="Add a file"]`)
	p.do(chromedp.SetValue(`#file-form [name=filename]`, "manifests/more.yaml", chromedp.ByQuery))
	p.click(`#file-form [type=submit]`)
	p.do(chromedp.Evaluate(in("manifests")+`.querySelector(".cm-content").focus()`, nil), insert("apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec:\ncontainers: []"))
	p.wait(`document.getElementById("summary").textContent.includes("of 2 manifests") || document.getElementById("status").dataset.status === "denied"`)
	p.click(`#manifests-tabs .open .more`)
	p.do(chromedp.SetValue(`#file-form [name=filename]`, "../out.yaml", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector("#file-form [name=filename]").dispatchEvent(new Event("input"))`, nil))
	if p.text(`document.querySelector("#file-form [name=filename]").validationMessage`) == "" {
		t.Error("a name may lead out of the directory")
	}
	p.click(`#file-remove`)
	p.wait(`document.getElementById("summary").textContent.includes("of 1 manifest")`)
	if p.text(`location.hash`) != "#reinvocation" {
		t.Errorf("the address is %s", p.text(`location.hash`))
	}
}

// TestOptions changes the cluster.
func TestOptions(t *testing.T) {
	p := playground(t, "quickstart")
	p.click("#options")
	p.do(chromedp.SetValue(`#options-form [name=kubernetes-version]`, "1.34", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector("#options-form").dispatchEvent(new Event("input"))`, nil))
	p.wait(`document.getElementById("status").dataset.status === "invalid"`)
	p.click(`#options-form [type=submit]`)
	if said := p.text(`document.getElementById("refused").innerText`); !strings.Contains(said, "policy-version-unknown") {
		t.Errorf("the page says %q", said)
	}
	if script := p.copied("copy-command"); !strings.Contains(script, "--kubernetes-version 1.34 --policy policies manifests") {
		t.Errorf("the command line is\n%s", script)
	}
}

// TestFromDisk opens the page without any server.
func TestFromDisk(t *testing.T) {
	p := open(t, "file://"+filepath.ToSlash(*built)+"/index.html#pinning")
	p.ready()
	if got := p.copied("copy-result"); !strings.Contains(got, "imagePullPolicy: Always") {
		t.Errorf("the result is\n%s", got)
	}
	p.choose("web.yaml")
	p.replace("manifests", "image: nginx", "image: httpd")
	p.wait(in("result") + `.textContent.includes("httpd:1.27")`)
	if link := p.copied("share"); !strings.Contains(link, "#state=") {
		t.Errorf("the link is %s", link)
	}
}

// pods is a JavaScript expression for the text of n Pods.
func pods(n int) string {
	return fmt.Sprintf(`Array.from({length: %d}, (_, i) => "apiVersion: v1\nkind: Pod\nmetadata: {name: p" + i + "}\nspec:\n  containers:\n  - {name: a, image: nginx}\n").join("---\n")`, n)
}

// TestBusy shows that a run which takes long freezes nothing, and that the next answer does not wait
// for it.
func TestBusy(t *testing.T) {
	p := playground(t, "pinning")
	p.fill("manifests", pods(5000))
	p.do(chromedp.Poll(`document.getElementById("running").checkVisibility({ visibilityProperty: true })`, nil))
	if got := p.text(`1 + 1`); got != "2" { // the page itself is free
		t.Error(got)
	}
	p.do(chromedp.Evaluate(`location.hash = "#reinvocation"`, nil))
	p.wait(in("result") + `.textContent.includes("mesh/proxy")`)
}

// TestStop shows that a run which takes long is visible, and that a button stops it.
func TestStop(t *testing.T) {
	p := playground(t, "pinning")
	p.fill("manifests", pods(5000))
	p.do(chromedp.Poll(`document.getElementById("running").checkVisibility({ visibilityProperty: true })`, nil))
	if got := p.text(`document.getElementById("running-text").textContent`); !strings.HasPrefix(got, "Running the policies") {
		t.Errorf("the page says %q", got)
	}
	p.keep("running")
	p.is(`(() => { const r = document.getElementById("stop").getBoundingClientRect(); return [r.left + 2, (r.left + r.right) / 2, r.right - 2].every((x) => document.elementFromPoint(x, (r.top + r.bottom) / 2).id === "stop") })()`, "true") // nothing covers it
	p.do(chromedp.Evaluate(`document.getElementById("stop").click()`, nil))
	p.wait(`!document.getElementById("failure").hidden`)
	if got := p.text(`document.getElementById("failure").innerText`); !strings.Contains(got, "You stopped it.") {
		t.Errorf("the page says %q", got)
	}
	p.is(`document.getElementById("running").hidden`, "true")
	p.visit("reinvocation")
	p.wait(in("result") + `.textContent.includes("mesh/proxy")`)
	p.is(`document.getElementById("failure").hidden`, "true")
}

// TestProgress shows that the bar of a run follows the number of manifests that are done.
func TestProgress(t *testing.T) {
	p := playground(t, "pinning")
	p.do(chromedp.Evaluate(`globalThis.seen = []; new MutationObserver(() => {
		const [text, bar] = ["running-text", "running-bar"].map((id) => document.getElementById(id));
		if (bar.hasAttribute("value")) seen.push([text.textContent, bar.value]);
	}).observe(document.getElementById("running"), { subtree: true, attributes: true, childList: true })`, nil))
	p.fill("manifests", pods(400))
	p.wait(`document.getElementById("summary").textContent.includes("of 400 manifests")`)
	p.is(`seen.length >= 50 && seen.every(([text, share]) => text.startsWith("Running the policies: ") || text.startsWith("Checking the policies: "))`, "true")
	p.is(`seen.filter(([text]) => text.startsWith("Running")).every(([text, share], i, all) => text === "Running the policies: " + Math.round(share * 400) + " of 400 manifests" && (i === 0 || share >= all[i - 1][1]))`, "true")
}

// TestManyChanges shows that a list of changes is made in parts, as they come into view, so that the page answers
// although there are many, and that it is whole in the end.
func TestManyChanges(t *testing.T) {
	p := playground(t, "pinning")
	p.fill("manifests", pods(400))
	p.wait(`document.getElementById("summary").textContent.includes("of 400 manifests")`)
	p.is(`[document.querySelectorAll("#explain .card").length, document.querySelector("#explain .rest").textContent].join()`, "100,Show 300 more")
	p.click("#tab-explain")
	p.do(chromedp.Evaluate(`{ const scroll = setInterval(() => { const rest = document.querySelector("#explain .rest"); rest ? rest.scrollIntoView() : clearInterval(scroll) }, 20) }`, nil))
	p.wait(`!document.querySelector("#explain .rest")`)
	p.is(`new Set([...document.querySelectorAll("#explain .card .id")].map((id) => id.textContent)).size`, "400")
}

// TestOwn begins with files of one's own, which are empty.
func TestOwn(t *testing.T) {
	p := playground(t, "quickstart")
	p.do(chromedp.Evaluate(`{ const choice = document.getElementById("example"); choice.value = "own"; choice.dispatchEvent(new Event("change")) }`, nil))
	p.wait(`document.getElementById("status").dataset.status === "empty"`)
	for _, panel := range []string{"policies", "manifests"} {
		if got := strings.TrimSpace(p.shown(panel)); got != "" {
			t.Errorf("%s begin with %q", panel, got)
		}
	}
	p.is(`location.hash`, "#own")
	p.fill("manifests", "`apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n`")
	p.wait(`document.getElementById("status").dataset.status === "done"`)
	p.is(`document.getElementById("example").selectedOptions[0].textContent`, "Your own")
	p.do(chromedp.Reload())
	p.ready()
	if got := p.copied("copy-result"); !strings.Contains(got, "name: mine") {
		t.Errorf("a reload gives\n%s", got)
	}
}

// TestDamagedAddress says what is wrong with an address, and shows the first example.
func TestDamagedAddress(t *testing.T) {
	p := playground(t, "state=nonsense")
	if said := p.text(`document.getElementById("toast").textContent`); !strings.Contains(said, "cannot be read") {
		t.Errorf("the page says %q", said)
	}
	if p.text(`document.getElementById("example").value`) != "quickstart" {
		t.Error("there is no example")
	}
}
