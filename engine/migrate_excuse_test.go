package engine

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// An excuse is a warning about a conversion, with the places that the part of the policy writes
// to that the warning is about. It excuses differences in these places.
type excuse struct {
	policy string
	places [][]string
}

// excusesOf returns what the warnings about the conversion of policies excuse.
func excusesOf(policies []*manifest.Stream, warnings []source.Diagnostic) (excuses []excuse) {
	for _, w := range warnings {
		if w.Code != source.CodePolicyConvertedAlmost || w.Severity != source.Warning {
			continue
		}
		for _, d := range documentsOf(policies) {
			path, err := change.ParsePath(w.Field)
			if err != nil || w.Subject != d.Kind().Kind+" "+d.Name() {
				continue
			}
			part, _ := path.Get(any(d.Object()))
			if i := slices.Index(path, change.Key("patchStrategicMerge")); i >= 0 {
				part, path = wholeList(d.Object(), part, path)
				excuses = append(excuses, excuse{d.Name(), leaves(part, placeOf(path[i+1:]))})
				continue
			}
			if len(path) > 3 && path[1].Key == "rules" { // the warning is about the whole rule
				part, _ = path[:3].Get(any(d.Object()))
			}
			excuses = append(excuses, excuse{d.Name(), writtenBy(part)})
		}
	}
	return excuses
}

// wholeList returns the path of the first list without names in a path, which a patch replaces as a whole,
// without its items; or the part at the path.
func wholeList(object, part any, path change.Path) (any, change.Path) {
	for i, step := range path {
		item, _ := path[:min(i+1, len(path))].Get(object)
		members, _ := item.(map[string]any)
		if step.IsIndex() && slices.Contains(path[:i], change.Key("patchStrategicMerge")) && !hasName(members) {
			return nil, path[:i]
		}
	}
	return part, path
}

// hasName reports whether an item of a patch has a name, or the condition that it has one.
func hasName(item map[string]any) bool {
	for key := range item {
		if _, bare := kyverno.ParseAnchor(key); bare == "name" {
			return true
		}
	}
	return false
}

// anyKey is a key that is computed.
const anyKey = "*"

// placeOf returns the keys of a path, without anchors and indexes.
func placeOf(path change.Path) (place []string) {
	for _, step := range path {
		if !step.IsIndex() {
			_, key := kyverno.ParseAnchor(step.Key)
			if strings.Contains(key, "{{") {
				key = anyKey
			}
			place = append(place, key)
		}
	}
	return place
}

// leaves returns the places of the values in a patch.
func leaves(patch any, at []string) (all [][]string) {
	switch patch := patch.(type) {
	case map[string]any:
		for key, member := range patch {
			all = append(all, leaves(member, append(slices.Clip(at), placeOf(change.Keys(key))...))...)
		}
	case []any:
		for _, item := range patch {
			all = append(all, leaves(item, at)...)
		}
	}
	if len(all) == 0 {
		all = [][]string{at}
	}
	return all
}

var pointerTexts = regexp.MustCompile(`path"?: *["']?((?:/(?:\{\{[^}]*\}\}|[^"'\s/])*)+)`)

// writtenBy returns the places that the patches in a part of a policy write to.
func writtenBy(part any) (all [][]string) {
	switch part := part.(type) {
	case map[string]any:
		for key, member := range part {
			if key == "patchStrategicMerge" {
				all = append(all, leaves(member, nil)...)
			} else {
				all = append(all, writtenBy(member)...)
			}
		}
	case []any:
		for _, item := range part {
			all = append(all, writtenBy(item)...)
		}
	case string:
		for _, pointer := range pointerTexts.FindAllStringSubmatch(part, -1) {
			var place []string
			for _, key := range regexp.MustCompile(`\{\{[^}]*\}\}|[^/]+`).FindAllString(pointer[1], -1) {
				if strings.Trim(key, "0123456789-") != "" {
					place = append(place, placeOf(change.Keys(strings.NewReplacer("~1", "/", "~0", "~").Replace(key)))...)
				}
			}
			all = append(all, place)
		}
	}
	return all
}

// namedFields excuses differences in the fields that policies write to: in those of an object, or of its spec
// or metadata.
func namedFields(policies []*manifest.Stream) (excuses []excuse) {
	const depth = 2
	for _, d := range documentsOf(policies) {
		var places [][]string
		for _, place := range writtenBy(d.Object()) {
			places = append(places, place[:min(depth, len(place))])
		}
		excuses = append(excuses, excuse{"", places}) // also where no policy wrote what Kyverno loses
	}
	return excuses
}

// excuses reports whether a difference is in a place that a policy with a warning writes to, in a
// pod or in a pod template, or around it; or that this policy denies the object.
func (e excuse) excuses(d source.Diagnostic) bool {
	path, err := change.ParsePath(d.Field)
	if err != nil || !strings.Contains(d.Message, e.policy) {
		return false
	}
	if len(path) == 0 {
		return strings.Contains(d.Message, "denied")
	}
	place := placeOf(path)
	for _, template := range [][]string{nil, {"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		if len(place) < len(template) || !slices.Equal(place[:len(template)], template) {
			continue
		}
		for _, own := range e.places {
			n := min(len(own), len(place)-len(template))
			if slices.EqualFunc(own[:n], place[len(template):][:n], func(a, b string) bool { return a == b || a == anyKey }) {
				return true
			}
		}
	}
	return false
}

// notExcused returns the differences that no warning excuses.
func notExcused(policies []*manifest.Stream, warnings, differences []source.Diagnostic) (rest []source.Diagnostic) {
	excuses := excusesOf(policies, warnings)
	for _, d := range differences {
		if !slices.ContainsFunc(excuses, func(e excuse) bool { return e.excuses(d) }) {
			rest = append(rest, d)
		}
	}
	return rest
}

// TestExcuses checks that a warning excuses differences only in the fields that it is about.
func TestExcuses(t *testing.T) {
	policies := []*manifest.Stream{}
	stream, problems := manifest.Read("policies.yaml", []byte(`
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: requests}
spec:
  rules:
  - name: first
    mutate: {patchStrategicMerge: {spec: {containers: [{(name): "*", resources: {requests: {+(cpu): "1"}}}]}}}
  - name: second
    mutate: {patchesJson6902: "- {op: add, path: '/metadata/labels/a~1b', value: c}"}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	policies = append(policies, stream)
	for _, c := range []struct {
		warned, field, by string
		want              bool
	}{
		{"spec.rules[0].mutate.patchStrategicMerge.spec.containers[0]", "spec.containers[1].resources.requests.cpu", "requests", true},
		{"spec.rules[0].mutate.patchStrategicMerge.spec.containers[0]", "spec.template.spec.containers[1]", "requests", true},
		{"spec.rules[0].mutate.patchStrategicMerge.spec.containers[0]", "spec.containers[1].resources.requests.memory", "requests", false},
		{"spec.rules[0].mutate.patchStrategicMerge.spec.containers[0]", "metadata.labels", "requests", false},
		{"spec.rules[0].mutate.patchStrategicMerge.spec.containers[0]", "spec.containers[1].resources.requests.cpu", "another", false},
		{"spec.rules[1].preconditions", "metadata.labels[a/b]", "requests", true},
		{"spec.rules[1].preconditions", "spec.containers[0]", "requests", false},
	} {
		w := source.Warningf(source.Position{}, source.CodePolicyConvertedAlmost, "almost")
		w.Subject, w.Field = "ClusterPolicy requests", c.warned
		d := source.Errorf(source.Position{}, "conversion-differs", "it was 1 (policy %s)", c.by)
		d.Field = c.field
		if got := len(notExcused(policies, []source.Diagnostic{w}, []source.Diagnostic{d})) == 0; got != c.want {
			t.Errorf("a warning about %s excuses %s by %s: %v", c.warned, c.field, c.by, got)
		}
	}
}
