package kyverno

import (
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/manifest"
)

func value(t testing.TB, text string) any {
	t.Helper()
	value, err := manifest.Value(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	object, _ := value(t, text).(map[string]any)
	return object
}

// TestAnchors applies patches to a pod. A result that begins with "-" is the reason why nothing
// changes.
func TestAnchors(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}, annotations: null}, spec: {hostNetwork: false, containers: [{name: a, image: "x:latest", ports: [{containerPort: 80}]}, {name: b, image: "y:1"}], volumes: [{name: v, emptyDir: {}}, {name: w, configMap: {name: c}}]}}`
	for _, c := range []struct{ name, patch, want string }{
		{"condition in a map holds", `{metadata: {labels: {(app): "w*", team: t}}}`, `{metadata: {labels: {team: t}}}`},
		{"condition in a map fails", `{metadata: {labels: {(app): db, team: t}}}`, "-condition (app): metadata.labels.app does not match"},
		{"condition without key", `{metadata: {labels: {(tier): "*", team: t}}}`, "-condition (tier): metadata.labels.tier is missing"},
		{"condition below an absent map", `{spec: {securityContext: {(runAsUser): 0, runAsNonRoot: true}}}`, "-condition (runAsUser): spec.securityContext.runAsUser is missing"},
		{"condition gates siblings elsewhere", `{metadata: {labels: {team: t}}, spec: {(hostNetwork): true}}`, "-condition (hostNetwork): spec.hostNetwork does not match"},
		{"condition with a list: some item", `{metadata: {labels: {team: t}}, spec: {(containers): [{(image): "*:latest"}]}}`, `{metadata: {labels: {team: t}}}`},
		{"condition with a list: no item", `{metadata: {labels: {team: t}}, spec: {(containers): [{(image): "*:2"}]}}`, "-condition (containers): spec.containers has no item that fulfils the conditions"},
		{"condition with a list: every item", `{metadata: {labels: {team: t}}, spec: {(containers): [{image: "*:latest"}]}}`, "-condition (containers): spec.containers[1].image does not match"},
		{"negation fails", `{(spec): {X(hostNetwork): "null"}, metadata: {labels: {team: t}}}`, "-condition (spec): spec.hostNetwork must be missing"},
		{"existence fails", `{(spec): {^(containers): [{name: c}]}, metadata: {labels: {team: t}}}`, "-condition (spec): spec.containers has no item that matches"},
		{"equality fails", `{(spec): {=(hostNetwork): true}, metadata: {labels: {team: t}}}`, "-condition (spec): spec.hostNetwork does not match"},
		{"star wants a value", `{(metadata): {annotations: "*"}, spec: {hostPID: true}}`, "-condition (metadata): metadata.annotations is missing"},

		{"add if absent", `{metadata: {labels: {+(app): x, +(team): t}}}`, `{metadata: {labels: {team: t}}}`},
		{"present even if null", `{metadata: {+(annotations): {a: b}}}`, `{}`},
		{"add a map", `{spec: {+(securityContext): {runAsUser: 1, seccompProfile: {}}}}`, `{spec: {securityContext: {runAsUser: 1, seccompProfile: {}}}}`},
		{"add below an absent map", `{spec: {securityContext: {+(runAsUser): 1}}}`, `{spec: {securityContext: {runAsUser: 1}}}`},

		{"items that fulfil a condition", `{spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}`, `{spec: {containers: [{name: a, imagePullPolicy: Always}]}}`},
		{"no item fulfils it", `{metadata: {labels: {team: t}}, spec: {containers: [{(image): "*:2", imagePullPolicy: Always}]}}`, `{metadata: {labels: {team: t}}}`},
		{"add in items: the first item decides", `{spec: {containers: [{(name): "*", +(ports): [{containerPort: 1}]}]}}`, `{}`},
		{"the plain name of an item is ignored", `{spec: {containers: [{name: b, +(tty): true}]}}`, `{spec: {containers: [{name: a, tty: true}, {name: b, tty: true}]}}`},
		{"add within a condition", `{spec: {volumes: [{(emptyDir): {+(sizeLimit): 1Gi}}]}}`, `{spec: {volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]}}`},
		{"items without anchors", `{spec: {containers: [{name: c, image: z}, {(name): a, tty: true}]}}`, `{spec: {containers: [{name: c, image: z}, {name: a, tty: true}]}}`},
		{"items without a name stay as they are", `{spec: {containers: [{(name): "*", ports: [{(containerPort): 80, hostPort: 80}]}]}}`, `{}`},
		{"empty maps are left out", `{spec: {nodeSelector: {}, hostPID: true}}`, `{spec: {hostPID: true}}`},
		{"list is missing", `{spec: {initContainers: [{(name): "*", tty: true}]}}`, `{}`},

		{"gate holds", `{metadata: {labels: {team: t}}, spec: {volumes: [{<(emptyDir): {}}]}}`, `{metadata: {labels: {team: t}}}`},
		{"gate fails", `{metadata: {labels: {team: t}}, spec: {volumes: [{<(hostPath): {}}]}}`, "-condition <(hostPath): spec.volumes[1].hostPath is missing"},
		{"gate in a missing list", `{metadata: {labels: {team: t}}, spec: {initContainers: [{<(image): "*"}]}}`, "-condition <(image): spec.initContainers[0].image is missing"},
		{"gate in a map", `{metadata: {labels: {<(app): web, team: t}}}`, `{metadata: {labels: {team: t}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := object(t, pod)
			podType := schema.Builtin().Lookup(gvk.Parse("v1", "Pod")).Type()
			got, _, reason, err := strategic(nil, before, newForm(value(t, c.patch)), podType, unknown.Observer{})
			if wantReason, ok := strings.CutPrefix(c.want, "-"); ok {
				if reason != wantReason || err != nil {
					t.Errorf("got %v, %q, %v", got, reason, err)
				}
				return
			}
			if reason != "" || err != nil {
				t.Fatalf("%s, %v", reason, err)
			}
			if problem := contains(got, value(t, c.want)); problem != "" {
				t.Errorf("%s\n%v", problem, got)
			}
			want, _, _, _ := strategic(nil, object(t, pod), newForm(value(t, c.want)), podType, unknown.Observer{})
			if !change.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// contains reports what a value lacks.
func contains(got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for key := range want {
			if problem := contains(object[key], want[key]); problem != "" {
				return key + "." + problem
			}
		}
	case []any:
		list, _ := got.([]any)
		for i := range want {
			if i >= len(list) {
				return "too short"
			} else if problem := contains(list[i], want[i]); problem != "" {
				return problem
			}
		}
	default:
		if !change.Equal(got, want) {
			return " differs"
		}
	}
	return ""
}

// TestWildcardKeys checks wildcards in the keys of labels, in a pattern with metadata.
func TestWildcardKeys(t *testing.T) {
	pod := value(t, `{metadata: {labels: {app: web}}}`)
	for pattern, want := range map[string]bool{
		`{metadata: {labels: {"a*": "w?b"}}}`:    true,
		`{metadata: {(labels): {"a*": "db"}}}`:   false,
		`{metadata: {labels: {"x*": "*"}}}`:      false,
		`{metadata: {labels: {"(a??)": web}}}`:   true,
		`{metadata: {annotations: {"a*": "*"}}}`: false,
	} {
		if m := matchPattern(pod, value(t, pattern), nil); (m == nil) != want {
			t.Errorf("%s: %v", pattern, m)
		}
	}
}

func TestParseAnchor(t *testing.T) {
	for key, want := range map[string][2]string{
		"(a)": {"", "a"}, " (a) ": {"", "a"}, "+(a/b)": {"+", "a/b"}, "<(a)": {"<", "a"}, "=(a)": {"=", "a"}, "X(a)": {"X", "a"}, "^(a)": {"^", "a"},
		"a": {"-", "a"}, "()": {"-", "()"}, "a(b)": {"-", "a(b)"}, "(a": {"-", "(a"}, "++(a)": {"-", "++(a)"}, "(a)b": {"-", "(a)b"},
	} {
		if a, bare := ParseAnchor(key); string(a) != want[0] || bare != want[1] {
			t.Errorf("parseAnchor(%q) = %q, %q", key, a, bare)
		}
	}
}
