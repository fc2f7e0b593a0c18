package mutatingpolicy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// A situation is a set of policies and one request. The object is not defaulted.
type situation struct {
	// policies are the policies. If empty, there is one policy p, which matches everything and
	// has the given fields in its spec, from line 9.
	policies, spec string
	object         string           // a ConfigMap if empty
	operation      policy.Operation // CREATE if empty
	old            string
	// cluster are CustomResourceDefinitions and objects that functions look up; others are
	// manifests besides the object.
	cluster, others         string
	values, context, header string
}

const header = `apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}
`

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: default, labels: {app: a}}
data: {k: v}`

func (s situation) text() string {
	if s.policies != "" {
		return s.policies
	}
	spec := strings.ReplaceAll(strings.TrimPrefix(s.spec, "\n"), "\n", "\n  ")
	return cmp.Or(s.header, header) + "  " + spec + "\n"
}

// compiled compiles the policies.
func (s situation) compiled(t *testing.T) ([]policy.Program, []source.Diagnostic) {
	t.Helper()
	values, problems := given.ReadValues(documents(t, "values.yaml", s.values))
	context, more := given.ReadContext(documents(t, "context.yaml", s.context))
	if problems = append(problems, more...); len(problems) > 0 {
		t.Fatal(problems)
	}
	return New(values, context, "default").Compile(documents(t, "p.yaml", s.text()), nil)
}

// refused returns the errors and warnings about the policies, one per line.
func (s situation) refused(t *testing.T) string {
	t.Helper()
	_, diagnostics := s.compiled(t)
	source.Sort(diagnostics)
	var lines []string
	for _, d := range diagnostics {
		message, _, _ := strings.Cut(d.Message, "\n")
		line := fmt.Sprintf("%d:%d %s %s: %s", d.At.Line, d.At.Column, d.Code, d.Field, message)
		if d.Advice != "" {
			line += " (" + d.Advice + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// happens runs the policies once and returns the events, one per line, with their positions:
//
//	PLACE ID: not applied: REASON
//	PLACE ID: failed[, ignored][, at once]: ERROR
//	PLACE ID: CHANGE; CHANGE
//	PLACE warning: TEXT
func (s situation) happens(t *testing.T) string {
	t.Helper()
	programs, diagnostics := s.compiled(t)
	if source.HasErrors(diagnostics) {
		t.Fatal(diagnostics)
	}
	var lines []string
	r := s.request(t, &lines)
	tell := func(at source.Position, id policy.ID, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%d:%d %s: ", at.Line, at.Column, id)+fmt.Sprintf(format, args...))
	}
	fail := func(f policy.Failure) {
		tell(f.At, f.ID, "failed%s%s: %v", map[bool]string{true: ", ignored"}[f.Ignored], map[bool]string{true: ", at once"}[f.Abort], f.Err)
	}
	take := func(step policy.Step, before map[string]any, take func(map[string]any)) {
		switch {
		case step.Failure != nil:
			fail(*step.Failure)
		case step.NotApplied != nil:
			tell(step.NotApplied.At, step.NotApplied.ID, "not applied: %s", step.NotApplied.Reason)
		default:
			tell(step.At, step.ID, "%s", changes(before, step.Object))
			take(step.Object)
		}
	}
	for _, program := range programs {
		plan := program.Plan(r)
		for _, n := range plan.NotApplied {
			tell(n.At, n.ID, "not applied: %s", n.Reason)
		}
		for _, invocation := range plan.Invocations {
			notApplied, failure := invocation.Conditions(r)
			switch {
			case notApplied != nil:
				tell(notApplied.At, notApplied.ID, "not applied: %s", notApplied.Reason)
				continue
			case failure != nil:
				fail(*failure)
				continue
			}
			for step := range invocation.Steps(r) {
				take(step, r.Object, func(object map[string]any) { r.Object = object })
			}
		}
	}
	for _, program := range programs {
		follower := program.Existing()
		if follower == nil || !follower.Triggers(r) {
			continue
		}
		targets := &policy.Targets{}
		var objects []map[string]any
		for _, target := range s.targets(t, r) {
			targets.Add(target)
			objects = append(objects, target.Object)
		}
		for followed := range follower.Follow(r, targets) {
			var before map[string]any
			if followed.Target >= 0 {
				before = objects[followed.Target]
				lines = append(lines, "target "+targets.All[followed.Target].Name)
			}
			take(followed.Step, before, func(object map[string]any) { objects[followed.Target] = object })
		}
	}
	return strings.Join(lines, "\n")
}

// targets returns the object of the request and the other manifests.
func (s situation) targets(t *testing.T, r *policy.Request) []policy.Target {
	targets := []policy.Target{{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Object: r.Object}}
	for _, d := range documents(t, "others.yaml", s.others) {
		targets = append(targets, policy.Target{Kind: r.Schemas.Lookup(d.Kind()), Namespace: d.Namespace(), Name: d.Name(), Object: d.Object()})
	}
	return targets
}

// request returns the request for the object.
func (s situation) request(t *testing.T, lines *[]string) *policy.Request {
	t.Helper()
	schemas := schema.Builtin().Clone()
	shot := &snapshot.Snapshot{}
	context, _ := given.ReadContext(documents(t, "context.yaml", s.context))
	for _, resource := range context.Resources {
		object := resource.Value
		n := policy.Node{Value: object}
		shot.Put(kindOf(n), n.At("metadata", "namespace").Text(), n.At("metadata", "name").Text(), func(*snapshot.Reader) (map[string]any, error) { return object, nil })
	}
	for _, d := range slices.Concat(documents(t, "cluster.yaml", s.cluster), documents(t, "others.yaml", s.others)) {
		object := d.Object()
		if d.Kind().Kind == "CustomResourceDefinition" {
			if problems := schemas.AddCRD(object); len(problems) > 0 {
				t.Fatal(problems)
			}
			continue
		}
		shot.Put(d.Kind(), d.Namespace(), d.Name(), func(*snapshot.Reader) (map[string]any, error) { return object, nil })
	}
	d := documents(t, "object.yaml", cmp.Or(s.object, configMap))[0]
	kind := schemas.Lookup(d.Kind())
	if kind == nil {
		kind = schemas.Unknown(d.Kind())
		kind.Namespaced = d.Namespace() != ""
	}
	r := &policy.Request{
		Context: t.Context(), Kind: kind, Name: d.Name(), Namespace: d.Namespace(), Operation: cmp.Or(s.operation, policy.Create),
		Object: d.Object(), Schemas: schemas, Snapshot: shot.Reader(nil), User: policy.User{Name: "system:serviceaccount:ns:sa", Groups: []string{"g"}},
		Warn: func(d source.Diagnostic) {
			*lines = append(*lines, fmt.Sprintf("%d:%d warning[%s]: %s", d.At.Line, d.At.Column, d.Code, d.Message))
		},
	}
	if kind.Kind.Kind == "Namespace" {
		r.Namespace = d.Name()
	}
	if kind.Namespaced && r.Namespace == "" {
		r.Namespace = "default"
		metadata := maps.Clone(r.Object["metadata"].(map[string]any))
		metadata["namespace"] = "default"
		r.Object["metadata"] = metadata
	}
	if s.old != "" {
		r.OldObject = documents(t, "old.yaml", s.old)[0].Object()
	}
	return r
}

func documents(t *testing.T, name, text string) []*manifest.Document {
	t.Helper()
	if text == "" {
		return nil
	}
	stream, diagnostics := manifest.Read(name, []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return stream.Documents()
}

// changes prints the differences between two objects.
func changes(from, to map[string]any) string {
	if found := change.Diff(from, to, nil); len(found) > 0 {
		texts := make([]string, len(found))
		for i, c := range found {
			texts[i] = fmt.Sprintf("%s %s", c.Op, c.Path)
			if c.Op != change.Remove {
				texts[i] += " " + string(manifest.JSON(c.New))
			}
		}
		return strings.Join(texts, "; ")
	}
	return "no change"
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if want = strings.TrimSpace(want); got != want {
		t.Errorf("%s\n got %s\nwant %s", what, strings.ReplaceAll(got, "\n", "\n     "), strings.ReplaceAll(want, "\n", "\n     "))
	}
}

func kindOf(n policy.Node) gvk.Kind { return gvk.Parse(n.At("apiVersion").Text(), n.At("kind").Text()) }
