package strategicmerge

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// FuzzAgainstKyaml compares random merges of pods with those of kyaml, and those of plain.go with
// those of kyaml.go.
func FuzzAgainstKyaml(f *testing.F) {
	for seed := range uint64(600) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		before, patch := randomMap(r, false, []string{"spec", "metadata"}), randomMap(r, true, []string{"spec", "metadata"})
		before["apiVersion"], before["kind"] = "v1", "Pod"
		if r.IntN(10) == 0 {
			before["kind"] = "Unknown"
		}
		want, wantErr := kyamlMerge(t, before, patch)
		var memo change.Memo
		got, plain, err := Merge(&memo, before, patch, podType())
		if again, _, _ := Merge(&memo, before, patch, podType()); !change.Equal(got, again) {
			t.Errorf("object %s\npatch  %s\ngot    %s\nagain  %s", manifest.JSON(before), manifest.JSON(patch), manifest.JSON(got), manifest.JSON(again))
		}
		if change.Equal(got, before) && err == nil && !change.Same(got, before) {
			t.Errorf("object %s\npatch  %s\nnothing changes, but the object is copied", manifest.JSON(before), manifest.JSON(patch))
		}
		if (err == nil) != (wantErr == nil) || err == nil && !change.Equal(got, want) {
			t.Errorf("object %s\npatch  %s\ngot    %s %v (plain %v)\nkyaml  %s %v", manifest.JSON(before), manifest.JSON(patch), manifest.JSON(got), err, plain, manifest.JSON(want), wantErr)
		}
	})
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
		return randomMap(r, patch, []string{"a", "b", "c"})
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
	return fmt.Sprint("v", r.IntN(3))
}

// kyamlMerge merges as Kyverno does.
func kyamlMerge(t *testing.T, before, patch map[string]any) (map[string]any, error) {
	t.Helper()
	nodes := make([]*yaml.RNode, 2)
	for i, value := range []map[string]any{before, patch} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if nodes[i], err = yaml.Parse(string(text)); err != nil {
			t.Fatal(err)
		}
	}
	merged, err := merge2.Merge(nodes[1], nodes[0], yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend})
	if err != nil {
		return nil, err
	}
	if merged == nil {
		return nil, fmt.Errorf("the object is deleted")
	}
	text, err := merged.String()
	if err != nil {
		return nil, err
	}
	value, err := manifest.Value(text)
	object, _ := value.(map[string]any)
	return maps.Clone(object), err
}
