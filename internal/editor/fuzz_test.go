package editor_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: ["deployments"]}
  variables:
  - {name: team, expression: params.data.team}
  matchConditions:
  - name: few
    expression: object.spec.template.spec.containers.all(c, c.name.startsWith('a'))
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "add", path: "/metadata/labels/a~1b", value: Object.spec{replicas: variables.team}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team}
spec:
  policyName: team
  paramRef: {name: team, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: team, namespace: default}
data: {team: a}
`

const rule = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: a
    match: {any: [{resources: {kinds: [apps/v1/Deployment, Pod]}}]}
    context:
    - {name: names, configMap: {name: team, namespace: default}}
    - {name: own, variable: {jmesPath: names.data}}
    - {name: ring, variable: {jmesPath: ring.a}}
    mutate:
      foreach:
      - list: request.object.spec.containers
        patchStrategicMerge: {spec: {+(a): "{{ element.name }}"}}
      patchesJson6902: |-
        - {op: add, path: /metadata/labels/a, value: "{{ ring.a.own.team }}"}
---
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: a}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Pod]}]
  location: "spec.containers[name: *].image"
`

// FuzzQuestions asks everything about a place of a text. There is always an answer, and what a completion
// replaces is before the place. Another question does not change the answer.
func FuzzQuestions(f *testing.F) {
	for at := 0; at < len(policy); at += 7 {
		f.Add(policy[:at], policy[at:])
	}
	for at := 0; at < len(rule); at += 7 {
		f.Add(rule[:at], rule[at:])
	}
	f.Add("a: [\"", "]")
	f.Add("- {a: ", "\n---\n")
	f.Add("operations: [CREATE ", "]")
	stream, problems := manifest.Read("a.yaml", []byte(policy))
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	state := editor.NewState(engine.NewSchemas(nil, engine.Options{}), []*manifest.Stream{stream}, nil)
	f.Fuzz(func(t *testing.T, before, after string) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) {
			return // the protocol has no such texts
		}
		text := before + after
		line := strings.LastIndex(before, "\n") + 1
		at := source.Position{File: "a.yaml", Line: strings.Count(before, "\n") + 1, Column: len([]rune(before[line:])) + 1}
		first := state.Complete(text, at)
		hover := state.Hover(text, at)
		if !strings.HasSuffix(before[line:], first.Word) {
			t.Errorf("%q is not at the end of %q", first.Word, before[line:])
		}
		state.Definition(text, at)
		state.References(text, at)
		editor.Rename(text, at)
		inOrder(t, text)
		if again := state.Complete(text, at); len(again.Items) != len(first.Items) || again.Word != first.Word {
			t.Errorf("other completions: %v, then %v", first, again)
		}
		if again := state.Hover(text, at); hover != again {
			t.Errorf("%q, then %q", hover, again)
		}
	})
}

// inOrder checks the tokens and folds of a text.
func inOrder(t *testing.T, text string) {
	lines := strings.Count(text, "\n") + 1
	var last editor.Token
	for _, token := range editor.Tokens(text) {
		if at := token.At; at.Line < last.At.Line || at.Line == last.At.Line && at.Column < last.At.Column+last.Length || at.Line > lines || token.Length < 1 {
			t.Errorf("%v after %v", token, last)
		}
		last = token
	}
	for _, fold := range editor.Folds(text) {
		if fold.First < 0 || fold.First >= fold.Last || fold.Last >= lines {
			t.Errorf("%v of %d lines", fold, lines)
		}
	}
}

// FuzzExtract extracts a range of a text. The cursor is on the name of the variable then, which has a use.
func FuzzExtract(f *testing.F) {
	at := strings.Index(policy, "params.data")
	f.Add(policy, at, at+len("params.data"))
	f.Add(strings.ReplaceAll(policy, "\n", "\r\n"), at, at+30)
	f.Add(rule, 0, len(rule))
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		if from < 0 || to < from || to > len(text) {
			return
		}
		for _, r := range editor.Extract("p.yaml", text, from, to) {
			if r.Rewrite == nil {
				continue
			}
			after, cursor := editor.Apply(text, "p.yaml", r.Rewrite.Edits), r.Rewrite.Cursor
			if name := after[cursor.From:cursor.To]; !strings.Contains(after, "variables."+name) {
				t.Errorf("%q is no variable of\n%s", name, after)
			}
		}
	})
}
