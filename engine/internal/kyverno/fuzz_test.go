package kyverno

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const fuzzedPod = `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web, list: '["a"]'}, annotations: {which: app}},
 spec: {containers: [{name: a, image: "nginx:latest", env: [{name: A, value: b}], ports: [{containerPort: 80}]}, {name: b, image: "x/y@sha256:128c6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3"}], tolerations: [{key: k}], priority: 7}}`

// FuzzPolicies runs every policy that compiles on a pod, twice: rules do not modify their input,
// and give the same result every time.
func FuzzPolicies(f *testing.F) {
	files, err := filepath.Glob("../../testdata/kyverno/*/*/policy.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no cases (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		stream, diagnostics := manifest.Read("policy", []byte(text))
		if source.HasErrors(diagnostics) || len(text) > 4000 {
			return
		}
		var documents []*manifest.Document
		l := New(&given.Values{}, given.UserInfo{}, "", 36)
		for _, d := range stream.Documents() {
			if versions[d.Kind().Kind] != nil && d.Kind().Group == group {
				documents = append(documents, d)
			}
		}
		compiled, diagnostics := l.Compile(documents, nil)
		if source.HasErrors(diagnostics) {
			return
		}
		pod := object(t, fuzzedPod)
		first, second := runOn(t, compiled[0], pod), runOn(t, compiled[0], pod)
		if !change.Equal(pod, object(t, fuzzedPod)) {
			t.Error("the object was modified")
		}
		if !change.Equal(first, second) {
			t.Errorf("first  %v\nsecond %v", first, second)
		}
	})
}

// runOn returns the object after each step of the policies, and the messages of the steps.
func runOn(t *testing.T, compiled policy.Program, pod map[string]any) []any {
	e := evaluationOf(t, "Pod", pod, policy.User{}, given.UserInfo{})
	var results []any
	for _, invocation := range compiled.Plan(e.request).Invocations {
		for step := range invocation.Steps(e.request) {
			switch {
			case step.Failure != nil:
				results = append(results, step.ID.String()+step.Failure.Err.Error())
			case step.NotApplied != nil:
				results = append(results, step.ID.String()+step.NotApplied.Reason.String())
			default:
				results = append(results, change.Clone(step.Object))
			}
		}
	}
	var targets policy.Targets
	targets.Add(policy.Target{Kind: e.request.Kind, Namespace: "shop", Name: "p", Object: pod})
	for followed := range compiled.(policy.Follower).Follow(e.request, &targets) {
		results = append(results, step(followed))
	}
	return results
}

func step(f policy.Followed) any {
	if f.Step.Object == nil {
		return nil
	}
	return change.Clone(f.Step.Object)
}

// FuzzSettled compares the two ways to resolve a patch without anchors: as it is, and as a pattern.
func FuzzSettled(f *testing.F) {
	for _, patch := range []string{
		`{metadata: {labels: {a: b}}}`, `{spec: {containers: [{name: a, image: x}]}}`, `{spec: {containers: [{image: x}, {name: b}]}}`, `{spec: {list: [a, 1, null]}}`,
		`{spec: {containers: {a: b}}}`, `{spec: null}`, `{spec: {a: [[{b: c}]]}}`, `{metadata: {labels: [a]}}`, `{spec: {containers: [{name: a, env: [{name: B, value: c}]}]}}`,
		`{a: [{$patch: replace}, {b: c}]}`, `{spec: {tolerations: [{key: k, effect: e}]}}`, `{a: {b: {}}}`, `{a: []}`,
	} {
		f.Add(patch, fuzzedPod)
	}
	f.Fuzz(func(t *testing.T, patch, text string) {
		value, err := manifest.Value(patch)
		against, problem := manifest.Value(text)
		object, isObject := against.(map[string]any)
		if _, isMap := value.(map[string]any); err != nil || problem != nil || !isMap || !isObject || !isSettled(value) {
			return
		}
		fast := newForm(value)
		slow := form{value: fast.value, pattern: newPattern(value)}
		got, failed, err := fast.resolve(object, unknown.Observer{})
		want, unmet, problem := slow.resolve(object, unknown.Observer{})
		if !change.Equal(got, want) && err == nil || (failed == nil) != (unmet == nil) || (err == nil) != (problem == nil) {
			t.Errorf("as it is %v, %v, %v\nas a pattern %v, %v, %v", got, failed, err, want, unmet, problem)
		}
	})
}

// TestClone checks that a copy of a pattern is the pattern of its value, and shares no memory with it
// that changes.
func TestClone(t *testing.T) {
	for _, text := range []string{
		`{}`, `{a: b}`, `{(a): {b: [c, {+(d): 1}, []]}, e: {}}`, `{spec: {containers: [{(name): "*", tty: false}, {name: b}]}}`,
	} {
		p := newPattern(value(t, text))
		renamed := newPattern(value(t, text))
		renamed.set("z", newPattern("last"))
		renamed.set("A", newPattern(map[string]any{"first": true}))
		for _, original := range []*pattern{p, renamed} {
			before, copied := original.value(), original.clone()
			if want := newPattern(before); !samePattern(copied, want) {
				t.Errorf("%s: %+v, want %+v", text, copied, want)
			}
			copied.set("B", newPattern(1))
			for _, below := range copied.values {
				below.set("more", newPattern(2))
			}
			copied.delete(0)
			if !change.Equal(original.value(), before) {
				t.Errorf("%s: a change of the copy makes %v of %v", text, original.value(), before)
			}
		}
	}
}

func samePattern(a, b *pattern) bool {
	return a.isMap == b.isMap && a.isList == b.isList && change.Equal(a.scalar, b.scalar) && slices.Equal(a.keys, b.keys) && slices.EqualFunc(a.values, b.values, samePattern)
}
