package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
)

// liveLabel is on all objects that the test creates in a cluster. caseLabel is on the namespaces of
// a case, and selects the objects that its policies match.
const (
	liveLabel = "preadmit.dev/live"
	caseLabel = "preadmit.dev/live-case"
)

// liveBatch is how many cases are installed at a time, because policies take a second to come into
// force.
const liveBatch = 20

// TestLive checks this law on a real API server, which need not be the recorded one:
//
//	server without P, given Run(M, P)  ==  server with P, given M
//
// for the policies P and manifests M of the recorded cases. Policies act only when they are
// installed, so the test runs only if KUBECONFIG names a cluster and PREADMIT_LIVE is "install".
// Every case has separate namespaces. Its policies have separate names and match only objects in
// these namespaces. Manifests are sent as dry runs. The test deletes the namespaces, policies,
// bindings and params that it creates. It skips cases that cannot be confined to namespaces, or
// need features that the cluster does not have.
func TestLive(t *testing.T) {
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("PREADMIT_LIVE") != "install" {
		t.Skip("it installs policies in a cluster, for the namespaces it makes: set KUBECONFIG, and PREADMIT_LIVE=install")
	}
	c := connect(t)
	t.Logf("if this is interrupted: kubectl delete mutatingadmissionpolicybindings,mutatingadmissionpolicies,namespaces -l %s=%s", liveLabel, c.id)
	var cases []*liveCase
	exceptions := readExceptions(t, "testdata/exceptions.txt")
	for _, dir := range recordedCases(t) {
		l := newLiveCase(t, c, dir, len(cases))
		if reason, excepted := exceptions[l.name]; excepted {
			l.skip("%s", reason)
		}
		cases = append(cases, l)
	}
	for batch := range slices.Chunk(cases, liveBatch) {
		t.Run("batch", func(t *testing.T) { runLiveBatch(t, c, batch) })
	}
	held, changed, skipped := 0, 0, 0
	for _, l := range cases {
		for _, m := range l.manifests {
			if m.held {
				held++
				if m.outcome.Failed() || len(m.outcome.Manifests[0].Changes) > 0 {
					changed++
				}
			}
		}
		if l.skipped != "" {
			skipped++
			t.Logf("skipped %s: %s", l.name, l.skipped)
		} else if len(l.unconfined) > 0 {
			t.Logf("%s without what belongs to no namespace: %s", l.name, strings.Join(l.unconfined, ", "))
		}
	}
	t.Logf("%d cases, %d skipped: the law holds for %d manifests, %d of which are changed or denied", len(cases), skipped, held, changed)
}

// liveCase is a recorded case, adapted to separate namespaces.
type liveCase struct {
	cluster    *liveCluster
	name, id   string
	skipped    string            // the reason
	namespaces map[string]string // by the name of the namespace in the case
	// labels and annotations are those of the namespaces in the case.
	labels, annotations map[string]any
	policies, params    []*manifest.Document
	definitions         []*manifest.Stream
	manifests           []*liveManifest
	// unconfined are the cluster-scoped manifests. No selector can limit a policy to them and spare
	// other objects of the cluster, so the policies do not match any of them.
	unconfined []string
}

type liveManifest struct {
	name      string
	document  *manifest.Document
	namespace string
	outcome   *Outcome
	output    map[string]any
	// want is the server's answer to the output, without policies. If a validating policy refuses the
	// object, it is the answer to the output of the mutating ones.
	want liveAnswer
	// held means that the law holds.
	held bool
}

func (l *liveCase) skip(format string, args ...any) {
	if l.skipped == "" {
		l.skipped = fmt.Sprintf(format, args...)
	}
}

func newLiveCase(t *testing.T, c *liveCluster, dir string, index int) *liveCase {
	l := &liveCase{
		cluster: c, name: filepath.Base(dir), id: fmt.Sprintf("%s-%d", c.id, index),
		namespaces: map[string]string{}, labels: map[string]any{}, annotations: map[string]any{},
	}
	data, err := os.ReadFile(filepath.Join(dir, "server", "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answers recorded
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	for _, d := range l.read(t, dir, "policies") {
		if answers.Policies[d.Kind().Kind+"/"+d.Name()].Code < 300 {
			l.addContext(d)
		}
	}
	if len(l.policies) == 0 {
		l.skip("the recorded server accepted none of its policies")
	}
	for i, d := range l.read(t, dir, "manifests") {
		l.addManifest(d, i)
	}
	if len(l.manifests) == 0 {
		l.skip("its manifests cannot be confined to a namespace")
	}
	return l
}

func (l *liveCase) read(t *testing.T, dir, part string) []*manifest.Document {
	files, err := filepath.Glob(filepath.Join(dir, part, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var documents []*manifest.Document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range splitDocuments(t, file, text) {
			documents = append(documents, readText(t, file, string(document)).Documents()...)
		}
	}
	return documents
}

// addContext adds a document that is not a manifest to the context.
func (l *liveCase) addContext(d *manifest.Document) {
	kind := d.Kind()
	resource, served := l.cluster.resource(kind.APIVersion(), kind.Kind)
	switch {
	case kind == definitionKind:
		view := View([]*manifest.Stream{d.Stream()}, nil, Options{})
		if view.Failed() || !l.cluster.hasDefinition(view.Manifests[0].Before) {
			l.skip("the cluster does not have its CustomResourceDefinition %s", d.Name())
		}
		l.definitions = append(l.definitions, d.Stream())
	case kind == namespaceKind:
		metadata, _ := d.Object()["metadata"].(map[string]any)
		l.labels[d.Name()], l.annotations[d.Name()] = metadata["labels"], metadata["annotations"]
	case !served:
		l.skip("the cluster does not serve %s", kind)
	case IsPolicy(kind):
		l.policies = append(l.policies, d)
	case !resource.Namespaced:
		l.skip("its params, %s, do not belong to a namespace", kind)
	default:
		l.params = append(l.params, d)
	}
}

func (l *liveCase) addManifest(d *manifest.Document, index int) {
	resource, served := l.cluster.resource(d.Kind().APIVersion(), d.Kind().Kind)
	switch {
	case !served:
		l.skip("the cluster does not serve %s", d.Kind())
	case !resource.Namespaced:
		l.unconfined = append(l.unconfined, d.Kind().Kind+" "+d.Name())
	default:
		l.manifests = append(l.manifests, &liveManifest{name: fmt.Sprintf("%d-%s", index, d.Name()), document: d, namespace: l.namespace(d.Namespace())})
	}
}

// namespace returns the namespace that replaces a namespace of the case.
func (l *liveCase) namespace(name string) string {
	if name == "" {
		name = "default"
	}
	if l.namespaces[name] == "" {
		l.namespaces[name] = fmt.Sprintf("preadmit-live-%s-%d", l.id, len(l.namespaces))
	}
	return l.namespaces[name]
}

// moved returns a document in the replacement of its namespace.
func (l *liveCase) moved(t *testing.T, d *manifest.Document) *manifest.Stream {
	object := d.Object()
	put(object, l.namespace(d.Namespace()), "metadata", "namespace")
	if err := d.Set(object, nil); err != nil {
		t.Fatal(err)
	}
	return readText(t, l.name, string(d.Stream().Bytes()))
}

// put sets a value in nested maps.
func put(object map[string]any, value any, keys ...string) {
	for _, key := range keys[:len(keys)-1] {
		child, ok := object[key].(map[string]any)
		if !ok {
			child = map[string]any{}
			object[key] = child
		}
		object = child
	}
	object[keys[len(keys)-1]] = value
}

// confined returns a policy or binding with a separate name that matches only objects in the
// namespaces of the case. It returns nil if the policy would match nothing.
func (l *liveCase) confined(d *manifest.Document) map[string]any {
	object := d.Object()
	spec, _ := object["spec"].(map[string]any)
	put(object, l.ownName(d.Name()), "metadata", "name")
	put(object, l.cluster.id, "metadata", "labels", liveLabel)
	if strings.HasSuffix(d.Kind().Kind, "Binding") {
		name, _ := spec["policyName"].(string)
		spec["policyName"] = l.ownName(name)
		if ref, ok := spec["paramRef"].(map[string]any); ok && ref["namespace"] != nil {
			ref["namespace"] = l.namespace(ref["namespace"].(string))
		}
		return object
	}
	put(spec, l.id, "matchConstraints", "namespaceSelector", "matchLabels", caseLabel)
	constraints := spec["matchConstraints"].(map[string]any)
	rules, _ := constraints["resourceRules"].([]any)
	constraints["resourceRules"] = slices.DeleteFunc(rules, func(rule any) bool {
		fields := rule.(map[string]any)
		scope := fields["scope"]
		fields["scope"] = "Namespaced"
		return scope == "Cluster"
	})
	if len(constraints["resourceRules"].([]any)) == 0 {
		return nil
	}
	if kind, ok := spec["paramKind"].(map[string]any); ok {
		l.checkParamKind(gvk.Parse(kind["apiVersion"].(string), kind["kind"].(string)))
	}
	if l.cluster.options.Authorizer == "" && strings.Contains(string(manifest.JSON(spec)), "authorizer") {
		l.skip("it asks the authorizer, and not everything is allowed")
	}
	return object
}

// checkParamKind skips some kinds of params. kube-apiserver, at least up to 1.36, stops watching
// the params of a built-in kind forever when the last policy with that paramKind is deleted. The
// test must not delete that policy.
func (l *liveCase) checkParamKind(kind gvk.Kind) {
	if schema.Builtin().Lookup(kind) != nil && !l.cluster.paramKinds[kind] {
		l.skip("no policy in the cluster has the paramKind %s; a server may stop to watch such params when ours is deleted", kind)
	}
}

func (l *liveCase) ownName(name string) string { return "preadmit-live-" + l.id + "-" + name }

// runLiveBatch checks some cases at a time.
func runLiveBatch(t *testing.T, c *liveCluster, batch []*liveCase) {
	installed := map[*liveCase][]map[string]any{}
	for _, l := range batch {
		for _, d := range l.policies {
			if object := l.confined(d); object != nil {
				installed[l] = append(installed[l], object)
			}
		}
	}
	batch = slices.DeleteFunc(slices.Clone(batch), func(l *liveCase) bool { return l.skipped != "" })
	if len(batch) == 0 {
		return
	}
	for _, l := range batch {
		l.prepare(t, installed[l])
	}
	for _, l := range batch {
		for _, object := range installed[l] {
			kind := gvk.Parse(object["apiVersion"].(string), object["kind"].(string))
			c.create(t, object, kind, "", object["metadata"].(map[string]any)["name"].(string))
		}
	}
	c.awaitPolicies(t)
	for _, l := range batch {
		t.Run(l.name, func(t *testing.T) {
			for _, m := range l.manifests {
				problem := m.check(t, c)
				if m.held = problem == ""; !m.held {
					t.Errorf("%s: %s", m.name, problem)
				}
			}
		})
	}
}

// prepare creates the objects that the policies of a case read, and sends our output to the server
// before the policies exist.
func (l *liveCase) prepare(t *testing.T, policies []map[string]any) {
	context := slices.Clone(l.definitions)
	var streams, mutating []*manifest.Stream
	for _, object := range policies {
		stream := readText(t, l.name, string(manifest.YAML(object)))
		if streams = append(streams, stream); strings.HasPrefix(object["kind"].(string), "Mutating") {
			mutating = append(mutating, stream)
		}
	}
	for _, d := range l.params {
		context = append(context, l.moved(t, d))
	}
	for _, name := range slices.Sorted(maps.Keys(l.namespaces)) {
		metadata := l.cluster.metadata(l.namespaces[name])
		if labels, ok := l.labels[name].(map[string]any); ok {
			maps.Copy(metadata["labels"].(map[string]any), labels)
		}
		put(metadata, l.id, "labels", caseLabel)
		if l.annotations[name] != nil {
			metadata["annotations"] = l.annotations[name]
		}
		object := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
		l.cluster.create(t, object, namespaceKind, "", l.namespaces[name])
		context = append(context, readText(t, l.name, string(manifest.YAML(object))))
	}
	for _, stream := range context[len(l.definitions) : len(l.definitions)+len(l.params)] {
		d := stream.Documents()[0]
		l.cluster.create(t, d.Object(), d.Kind(), d.Namespace(), d.Name())
	}
	for _, m := range l.manifests {
		stream := l.moved(t, m.document)
		m.document = stream.Documents()[0]
		object := m.document.Object()
		m.outcome = l.run(t, streams, context, stream)
		admitted := !m.outcome.Failed() || len(mutating) < len(streams) && !l.run(t, mutating, context, stream).Failed()
		if admitted {
			m.output = readText(t, l.name, string(stream.Bytes())).Documents()[0].Object()
			m.want = l.cluster.ask(t, m.document.Kind(), m.namespace, m.output)
		}
		m.document = readText(t, l.name, string(manifest.YAML(object))).Documents()[0]
	}
}

// run runs policies on a manifest.
func (l *liveCase) run(t *testing.T, policies, context []*manifest.Stream, stream *manifest.Stream) *Outcome {
	set, diagnostics := Compile(policies, context, l.cluster.options)
	if set == nil {
		t.Fatalf("%s: %v", l.name, diagnostics)
	}
	return set.Run(t.Context(), []*manifest.Stream{stream}, Explain(), Views())
}

// check sends the manifest to the server with the policies. Objects that policies read may take a
// moment to reach the server.
func (m *liveManifest) check(t *testing.T, c *liveCluster) (problem string) {
	for range 4 {
		got := c.ask(t, m.document.Kind(), m.namespace, m.document.Object())
		if problem = m.compare(got); problem == "" {
			return ""
		}
		time.Sleep(time.Second)
	}
	return problem
}

// goType matches the end of a message about a value of a wrong type. For a string, the server names
// the Go type (v1.PullPolicy), and preadmit says "string".
var goType = regexp.MustCompile(`of type (v1\.\w+|string)$`)

func (m *liveManifest) compare(got liveAnswer) string {
	switch {
	case m.outcome.Failed() && m.want.code >= 300 && got.message == m.want.message:
		return "" // what the server refuses by itself does not reach validating policies
	case m.outcome.Failed():
		got.message = goType.ReplaceAllString(got.message, "of some type")
		ours := refusals(m.outcome)
		for i := range ours {
			ours[i] = goType.ReplaceAllString(ours[i], "of some type")
		}
		if got.code == 0 && strings.Contains(strings.Join(ours, "\n"), "kube-apiserver crashes on it") {
			return "" // its handler panics, and the connection ends
		}
		if got.code < 300 || m.outcome.Denied && !refusedWith(ours, got.message) {
			return fmt.Sprintf("we say %q, the server with the policies %s", ours, got)
		}
	case got.code != m.want.code || got.code >= 300 && got.message != m.want.message:
		return fmt.Sprintf("given our output the server says %s, with the policies %s", m.want, got)
	case got.code < 300:
		if difference := effect(m.want.object, got.object); difference != "" {
			return "from our output to the result of the policies\n" + difference
		}
		var ours []string
		for _, w := range m.outcome.Manifests[0].Warnings {
			ours = append(ours, w.Text)
		}
		if got.warnings = slices.DeleteFunc(got.warnings, func(text string) bool { return slices.Contains(m.want.warnings, text) }); !slices.Equal(ours, got.warnings) {
			return fmt.Sprintf("we warn %q, the server with the policies %q", ours, got.warnings)
		}
	}
	return ""
}
