package krmfn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
)

// TestFixes goes over the catalogue. Every code whose message proposes a mend that a program can make
// has a workspace in testdata/fixes, where the server offers an action for the finding; after the action the
// finding is gone. withoutFix says of all other codes why there is no such mend.
func TestFixes(t *testing.T) {
	paths, err := filepath.Glob("testdata/fixes/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no workspaces", err)
	}
	fixed := map[string]bool{}
	for _, path := range paths {
		code, _, _ := strings.Cut(filepath.Base(path), ".")
		fixed[code] = true
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			fixFinding(t, path, code)
		})
	}
	reasons := map[string]string{}
	for reason, codes := range withoutFix {
		for _, code := range strings.Fields(codes) {
			reasons[code] = reason
		}
	}
	for _, section := range source.Catalogue {
		for _, e := range section.Entries {
			if fixed[e.Code] == (reasons[e.Code] != "") {
				t.Errorf("%s: either testdata/fixes has a workspace with its fix, or withoutFix says why it has none", e.Code)
			}
			delete(reasons, e.Code)
		}
	}
	for code := range reasons {
		t.Errorf("%s is not in the catalogue", code)
	}
}

// fixFinding applies the first action for a finding with a code.
func fixFinding(t *testing.T, path, code string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := sectionLine.FindIndex(data)
	files := string(data[at[0]:])
	dir, names := makeWorkspace(t, files)
	c := startLSP(t, dir, "")
	for _, name := range names {
		c.open(name)
	}
	c.check()
	name, found := c.firstOf(names, code)
	if found == nil {
		t.Fatalf("no finding has the code:\n%s", c.showDiagnostics())
	}
	message := found["message"].(string)
	shown := "[" + code + "] " + message + "\n"
	offset := c.offset(c.texts[name], found["range"].(map[string]any)["start"])
	titles, titled := c.actionsFor(name, offset, message)
	if len(titles) == 0 {
		t.Fatalf("%s: no action for %s", code, message)
	}
	shown += titles[0] + "\n" + c.perform(titled[0])
	c.check()
	for _, file := range names {
		for _, d := range c.diagnostics[file] {
			if d := d.(map[string]any); d["code"] == code && d["message"] == message {
				t.Errorf("after the action, the finding is still there: %s\n%s", message, c.texts[file])
			}
		}
	}
	c.stop()
	var b strings.Builder
	for line := range strings.Lines(shown) {
		b.WriteString("    " + strings.TrimRight(line, " \n") + "\n")
	}
	if got := b.String() + files; *update {
		writeFile(t, path, got)
	} else if got != string(data) {
		t.Errorf("%s: got\n%s", path, b.String())
	}
}

// firstOf returns the first diagnostic with a code.
func (c *lspClient) firstOf(names []string, code string) (name string, found map[string]any) {
	for _, name := range names {
		for _, d := range c.diagnostics[name] {
			if d := d.(map[string]any); d["code"] == code {
				return name, d
			}
		}
	}
	return "", nil
}

// actionsFor returns the actions that fix a diagnostic at an offset.
func (c *lspClient) actionsFor(name string, at int, message string) (titles []string, actions []map[string]any) {
	for _, action := range c.actions(name, at, at) {
		action := action.(map[string]any)
		of, _ := action["diagnostics"].([]any)
		if isFix(action) && slices.ContainsFunc(of, func(d any) bool { return d.(map[string]any)["message"] == message }) {
			titles, actions = append(titles, action["title"].(string)), append(actions, action)
		}
	}
	return titles, actions
}

// isFix reports whether an action fixes a finding. To accept it is no fix.
func isFix(action map[string]any) bool {
	return action["kind"] == "quickfix" && !strings.HasPrefix(action["title"].(string), "Accept in ")
}

// withoutFix has the codes whose mend only people can make, by the reason.
var withoutFix = map[string]string{
	"the editor runs only check on the files of the workspace, which does not find it": `webhook-not-deterministic webhook-not-recorded webhook-answer-missing
	document-count written-anew unsupported-yaml policy-bound no-objects policy-for-plain policy-field-lost policy-nested-maps policy-not-convertible
	policy-converted-almost conversion-differs path-outside path-unwritable file-kept file-not-copied sums-malformed output-unwritable empty-stream
	list-missing command-failed release-unnamed baseline-invalid function-config-kind parameter-unknown parameter-unused parameter-value
	command-unknown flag-unknown argument-invalid usage cluster-failed cluster-forbidden lookup-unknown secrets-left-out secret-written
	verify-differs verify-refused snapshot-stale test-failed no-tests test-kind test-field test-other-results interrupted mutation difference
	secret-exposed conversion-missing hidden-copied rendering-not-deterministic`,
	"its place is no text that can be changed: an option, a path or a whole file": `not-utf8 utf-16 lfs-pointer too-large path-unreadable link-outside
	webhook-unknown not-rendered no-manifest made-in-cluster no-policies path-without-policy version-nearest plugin-config-invalid old-unused old-missing
	update-only openapi-invalid limit-input-size limit-documents limit-yaml-size limit-messages`,
	"the mend is another file: a definition, a Namespace, a param or another policy": `schema-missing namespace-assumed api-call-assumed
	resource-unknown context-failed context-ambiguous context-overridden context-cycle`,
	"several mends are possible, and only the user knows which is meant": `bad-tag merge-conflict alias-cycle alias-bomb bad-merge not-an-object
	bad-items too-deep manifest-defined-twice policy-defined-twice crd-invalid values-invalid mutators-conflict mutator-fails
	number-rounded empty-parents value-shared atomic-list always-true
	mutation-refused changes-nothing order-dependent policies-fight always-false costly name-order not-idempotent controller-endless
	exception-expires field-not-stored webhook-unpredicted target-failed tree-failed would-be-denied maybe-denied policy-warning failure-ignored
	limit-object-size limit-expression limit-patch limit-foreach limit-targets policy-needs-flag value-not-written`,
	"it is no mistake: nothing has to be done": `value-not-stored refusal-averted not-viewed policy-not-mutating rule-not-mutating
	validation-redundant pods-only`,
	"it is a defect of preadmit": "internal",
}
