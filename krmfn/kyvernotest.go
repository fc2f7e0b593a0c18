package krmfn

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// isPolicyItself reports whether a document is a policy, and no binding of one.
func isPolicyItself(d *manifest.Document) bool {
	return engine.IsPolicy(d.Kind()) && !strings.HasSuffix(d.Kind().Kind, "Binding")
}

// kyvernoTest is the part of a kyverno-test.yaml that is about mutation. As in Kyverno,
// every policy is run by itself.
type kyvernoTest struct {
	*tester
	document            *manifest.Document
	dir, suite          string
	policies, resources []*manifest.Document
	// context are documents that the cluster is to have besides the resources.
	context          []*manifest.Document
	values, userInfo []path
}

// Fields of a kyverno-test.yaml that name files, and what has no meaning here.
var (
	kyvernoPolicyFields  = []string{"policies", "exceptions"}
	kyvernoContextFields = []string{"paramResources", "clusterResources"}
	kyvernoUnreadFields  = []string{"targetResources", "values", "checks", "jsonPayload", "jsonPayloads"}
)

// kyverno runs the results of a kyverno-test.yaml.
func (t *tester) kyverno(d *manifest.Document, full string) {
	object := d.Object()
	k := &kyvernoTest{tester: t, document: d, dir: filepath.Dir(full), suite: d.At(nil).File}
	for _, field := range kyvernoPolicyFields {
		k.policies = append(k.policies, k.read(object[field])...)
	}
	k.resources = k.read(object["resources"])
	for _, field := range kyvernoContextFields {
		k.context = append(k.context, k.read(object[field])...)
	}
	if name, ok := object["context"].(string); ok && name != "" {
		k.readContext(name)
	}
	k.values, k.userInfo = k.pathsIn(object["variables"]), k.pathsIn(object["userinfo"])
	for _, field := range kyvernoUnreadFields {
		if object[field] != nil {
			t.diagnostics = append(t.diagnostics, source.Warningf(d.At(change.Keys(field)), "test-field", "the field %s of a %s is not read", field, kyvernoTestFile))
		}
	}
	results, _ := object["results"].([]any)
	for i, item := range results {
		result, _ := item.(map[string]any)
		names := stringsOf(result["resources"])
		if name, ok := result["resource"].(string); ok {
			names = append(names, name)
		}
		if len(names) == 0 {
			k.add(fmt.Sprintf("results[%d]", i), "it names no resource")
		}
		for _, name := range names {
			k.result(result, name)
		}
	}
}

func stringsOf(value any) []string {
	list, _ := value.([]any)
	var texts []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// pathsIn is the path that a value names, if it names one.
func (k *kyvernoTest) pathsIn(value any) []path {
	if name, ok := value.(string); ok && name != "" {
		return []path{{name: name, base: k.dir}}
	}
	return nil
}

func (k *kyvernoTest) add(name, failure string) {
	k.cases = append(k.cases, report.Case{Suite: k.suite, Name: name, Failure: failure})
}

// read reads the documents in the files that a value names.
func (k *kyvernoTest) read(value any) []*manifest.Document {
	f := &files{process: k.Process}
	set := f.set()
	for _, name := range stringsOf(value) {
		set.addAll([]path{{name: name, base: k.dir}})
	}
	var documents []*manifest.Document
	for _, s := range set.parse() {
		documents = append(documents, s.Documents()...)
	}
	k.diagnostics = append(k.diagnostics, f.diagnostics...)
	return documents
}

// readContext reads a Context of Kyverno's command: resources that the cluster has, and
// answers of image registries, which nothing here asks.
func (k *kyvernoTest) readContext(name string) {
	for _, d := range k.read([]any{name}) {
		spec, _ := d.Object()["spec"].(map[string]any)
		if d.Kind() != kyvernoContextKind {
			k.diagnostics = append(k.diagnostics, source.Errorf(d.At(nil), "test-field", "the field context of a %s names a document of apiVersion %q and kind %q", kyvernoTestFile, d.Kind().APIVersion(), d.Kind().Kind).
				With("expected a "+kyvernoContextKind.APIVersion()+" "+kyvernoContextKind.Kind))
			continue
		}
		resources, _ := spec["resources"].([]any)
		for i, item := range resources {
			path := change.Keys("spec", "resources").Index(i)
			object, _ := item.(map[string]any)
			stream, diagnostics := manifest.Read(d.At(path).String(), manifest.JSON(object))
			if object == nil || len(diagnostics) > 0 || len(stream.Documents()) != 1 {
				k.diagnostics = append(k.diagnostics, source.Errorf(d.At(path), "test-field", "expected an object with apiVersion, kind and a name"))
				continue
			}
			k.context = append(k.context, stream.Documents()...)
		}
		if images, _ := spec["images"].([]any); len(images) > 0 {
			k.diagnostics = append(k.diagnostics, source.Warningf(d.At(change.Keys("spec", "images")), "test-field", "the images of a Context are not read").
				With("what rules ask image registries for is given with --values"))
		}
	}
}

// result tests one policy on one resource.
func (k *kyvernoTest) result(result map[string]any, resource string) {
	text := func(key string) string { s, _ := result[key].(string); return s }
	policy, kind := text("policy"), text("kind")
	policy = policy[strings.LastIndexByte(policy, '/')+1:]
	name := strings.Join(slices.DeleteFunc([]string{policy, text("rule"), kind, resource}, func(s string) bool { return s == "" }), " ")
	about := func(d *manifest.Document) bool {
		return (d.Name() == resource || d.Namespace()+"/"+d.Name() == resource) && (kind == "" || d.Kind().Kind == kind)
	}
	i := slices.IndexFunc(k.policies, func(d *manifest.Document) bool { return isPolicyItself(d) && d.Name() == policy })
	if i < 0 {
		k.add(name, fmt.Sprintf("there is no policy %q among the policies of the test", policy))
		return
	}
	j := slices.IndexFunc(k.resources, about)
	if j < 0 {
		k.add(name, fmt.Sprintf("there is no resource %q among the resources of the test", resource))
		return
	}
	r := k.run(k.policies[i], k.resources[j])
	status, changed := r.run.status(), r.run.outcome != nil && slices.ContainsFunc(r.run.outcome.Manifests, func(m *engine.Manifest) bool { return m.Document.Changed() })
	want := text("result")
	patched := text("patchedResources")
	if patched == "" {
		patched = text("patchedResource")
	}
	switch {
	case want == "fail" && status != exitDone:
		k.add(name, "")
	case status != exitDone:
		k.add(name, problemsOf(r.run.diagnostics))
	case want == "fail":
		k.add(name, "the policy was to fail, but did not")
	case want == "skip" && changed:
		k.add(name, "the policy was to skip the resource, but changed it")
	case want == "skip" || patched == "":
		k.add(name, "")
	default:
		k.compare(name, patched, about, r)
	}
}

// compare compares a mutated resource with the one of its name in a file.
func (k *kyvernoTest) compare(name, file string, about func(d *manifest.Document) bool, r *testRun) {
	documents := k.read([]any{file})
	i := slices.IndexFunc(documents, about)
	if i < 0 {
		k.add(name, fmt.Sprintf("the resource is not in %s", file))
		return
	}
	output, _ := manifest.Read("-", []byte(texts(r.manifests)))
	want, have := documents[i].Object(), output.Documents()[0].Object()
	if bytes.Equal(manifest.JSON(want), manifest.JSON(have)) {
		k.add(name, "")
		return
	}
	k.add(name, r.difference(file, string(manifest.YAML(want)), string(manifest.YAML(have))))
}

func problemsOf(diagnostics []source.Diagnostic) string {
	var b strings.Builder
	for _, d := range diagnostics {
		if d.Severity == source.Error {
			b.WriteString(d.String() + "\n")
		}
	}
	return b.String()
}

// run runs one policy, with what is bound to it, on one resource.
func (k *kyvernoTest) run(policy, resource *manifest.Document) *testRun {
	r := &testRun{}
	k.given.apply(&r.config)
	r.config.values.paths = append(r.config.values.paths, k.values...)
	r.config.userInfo.paths = append(r.config.userInfo.paths, k.userInfo...)
	for _, d := range k.policies {
		bound, _ := change.Keys("spec", "policyName").Get(d.Object())
		if d == policy || !isPolicyItself(d) && (bound == policy.Name() || bound == nil) {
			r.config.policies.inline = append(r.config.policies.inline, alone(d))
		}
	}
	for _, d := range append(k.resources[:len(k.resources):len(k.resources)], k.context...) {
		if d != resource {
			r.config.context.inline = append(r.config.context.inline, alone(d))
		}
	}
	r.manifests = []*manifest.Stream{alone(resource)}
	r.run = k.admit(k.ctx, &r.config, &files{process: k.Process}, r.manifests, policy)
	return r
}

// alone is a document as a stream of its own.
func alone(d *manifest.Document) *manifest.Stream {
	stream, _ := manifest.Read(d.At(nil).File, manifest.JSON(d.Object()))
	return stream
}
