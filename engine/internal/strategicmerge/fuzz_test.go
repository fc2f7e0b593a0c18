package strategicmerge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// FuzzAgainstKyaml compares random merges of pods with those of kyaml, and those of plain.go with
// those of kyaml.go. Three patches in a row share a memo.
func FuzzAgainstKyaml(f *testing.F) {
	for seed := range uint64(600) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		before := randomMap(r, false, []string{"spec", "metadata"})
		before["apiVersion"], before["kind"] = "v1", "Pod"
		if r.IntN(10) == 0 {
			before["kind"] = "Unknown"
		}
		var memo change.Memo
		for range 3 {
			patch := randomMap(r, true, []string{"spec", "metadata"})
			if r.IntN(10) == 0 {
				patch["kind"] = "Pod"
			}
			if before = checkMerge(t, &memo, before, patch); before == nil {
				return
			}
		}
	})
}

// checkMerge compares a merge with that of kyaml, and returns the result.
func checkMerge(t *testing.T, memo *change.Memo, before, patch map[string]any) map[string]any {
	want, wantErr := kyamlMerge(t, before, patch)
	got, plain, err := readAndMerge(memo, before, patch)
	if again, _, _ := readAndMerge(memo, before, patch); !change.Equal(got, again) {
		t.Errorf("object %s\npatch  %s\ngot    %s\nagain  %s", manifest.JSON(before), manifest.JSON(patch), manifest.JSON(got), manifest.JSON(again))
	}
	if change.Equal(got, before) && err == nil && !change.Same(got, before) {
		t.Errorf("object %s\npatch  %s\nnothing changes, but the object is copied", manifest.JSON(before), manifest.JSON(patch))
	}
	if (err == nil) != (wantErr == nil) || err == nil && !change.Equal(got, want) {
		t.Errorf("object %s\npatch  %s\ngot    %s %v (plain %v)\nkyaml  %s %v", manifest.JSON(before), manifest.JSON(patch), manifest.JSON(got), err, plain, manifest.JSON(want), wantErr)
	}
	return got
}

// readAndMerge merges what kyaml reads.
func readAndMerge(memo *change.Memo, before, patch map[string]any) (merged map[string]any, plain bool, err error) {
	if before, err = Read(memo, before); err != nil {
		return nil, false, err
	}
	if patch, err = Read(nil, patch); err != nil {
		return nil, false, err
	}
	return Merge(memo, before, patch, podType())
}

func randomMap(r *rand.Rand, patch bool, choices []string) map[string]any {
	m := map[string]any{}
	for _, c := range choices {
		if r.IntN(2) == 0 {
			m[c] = randomValue(r, patch, c)
		}
	}
	if patch && r.IntN(30) == 0 {
		m["$patch"] = []string{"delete", "merge", "replace", "bogus"}[r.IntN(4)]
	}
	return m
}

func randomItems(r *rand.Rand, patch bool, choices []string, key string) []any {
	l := []any{}
	for range r.IntN(4) {
		m := randomMap(r, patch, choices)
		if key != "" && r.IntN(10) > 0 {
			m[key] = randomValue(r, false, key)
		}
		if r.IntN(40) == 0 {
			l = append(l, m)
		} else {
			l = append(l, m)
		}
	}
	if patch && r.IntN(12) == 0 {
		l = append(l, map[string]any{"$patch": []string{"delete", "merge", "replace", "bogus"}[r.IntN(4)]})
	}
	return l
}

func randomValue(r *rand.Rand, patch bool, key string) any {
	if r.IntN(12) == 0 {
		return nil
	}
	switch key {
	case "spec":
		return randomMap(r, patch, []string{"containers", "tolerations", "nodeSelector", "hostAliases", "hostNetwork", "volumes", "schedulingGates", "topologySpreadConstraints", "imagePullSecrets"})
	case "metadata":
		return randomMap(r, patch, []string{"labels", "finalizers", "ownerReferences"})
	case "containers":
		return randomItems(r, patch, []string{"image", "ports", "env", "args", "volumeMounts", "securityContext"}, "name")
	case "ports":
		return randomItems(r, patch, []string{"protocol", "name", "hostPort"}, "containerPort")
	case "env", "volumes", "imagePullSecrets", "schedulingGates":
		return randomItems(r, patch, []string{"value"}, "name")
	case "volumeMounts":
		return randomItems(r, patch, []string{"name"}, "mountPath")
	case "hostAliases":
		return randomItems(r, patch, []string{"args"}, "ip")
	case "topologySpreadConstraints":
		return randomItems(r, patch, []string{"whenUnsatisfiable", "value"}, "topologyKey")
	case "ownerReferences":
		return randomItems(r, patch, []string{"name"}, "uid")
	case "tolerations":
		return randomItems(r, patch, []string{"value"}, "key")
	case "labels", "nodeSelector", "securityContext":
		m := randomMap(r, patch, []string{"a", "b", "c", "null", "true", "<<", "1", "~", "2001-01-01", "a: #b", strings.Repeat("k", 200), strings.Repeat("<", 170)})
		if r.IntN(20) == 0 {
			m[randomText(r)] = randomValue(r, patch, "a")
		}
		return m
	case "finalizers", "args":
		l := []any{}
		for range r.IntN(4) {
			l = append(l, fmt.Sprint("f", r.IntN(3)))
		}
		return l
	case "containerPort", "hostPort":
		return int64(80 + r.IntN(3))
	case "protocol":
		return []string{"TCP", "UDP"}[r.IntN(2)]
	case "hostNetwork":
		return []any{true, false, "true", int64(1)}[r.IntN(4)]
	}
	if patch && r.IntN(8) == 0 {
		return []any{int64(7), true, 0.5, "7", "true"}[r.IntN(5)]
	}
	if r.IntN(20) == 0 {
		return randomText(r)
	}
	return fmt.Sprint("v", r.IntN(3))
}

// randomText returns a text of parts that mean something in YAML or JSON.
func randomText(r *rand.Rand) string {
	text := ""
	for range r.IntN(7) {
		text += []string{"\u0085", "\u0085", " ", "  ", "a", "---", "...", "\t", "\n", "\r", "\u2028", "\u2029", "\ufeff", "\u00a0", "\\", "\"", "'", "<", "#", ": ", "\x00", "\x1b", "\u2029", "😀", strings.Repeat("word ", 30)}[r.IntN(25)]
	}
	if r.IntN(20) == 0 {
		text += []string{"\x7f", "\u0080", "\u009f", "\ufffe", "\uffff", strings.Repeat("x", 1022), strings.Repeat("x", 1023)}[r.IntN(7)]
	}
	return text
}

// kyamlMerge merges as Kyverno does: it reads JSON as YAML, and writes YAML for JSON.
func kyamlMerge(t *testing.T, before, patch map[string]any) (map[string]any, error) {
	t.Helper()
	nodes := make([]*yaml.RNode, 2)
	for i, value := range []map[string]any{before, patch} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if nodes[i], err = yaml.Parse(string(text)); err != nil {
			return nil, err
		}
	}
	merged, err := merge2.Merge(nodes[1], nodes[0], yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend})
	if err != nil {
		return nil, err
	}
	if merged == nil {
		return nil, fmt.Errorf("the object is deleted")
	}
	text, err := merged.MarshalJSON()
	if err != nil {
		return nil, err
	}
	value, err := manifest.Value(string(text))
	object, _ := value.(map[string]any)
	return object, err
}
