package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	"github.com/preadmit/preadmit/engine/policy"
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
				if m.predicted.fails() || m.predicted.changes() {
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
	// orders are the orders of the policies in which the server may run them, ours first.
	orders []renaming
	// unconfined are the cluster-scoped manifests. No selector can limit a policy to them and spare
	// other objects of the cluster, so the policies do not match any of them.
	unconfined []string
}

type liveManifest struct {
	name      string
	document  *manifest.Document
	namespace string
	// before creates the object that the manifest updates, which the server stores as old; nil for a manifest
	// that creates its object. versioned says that the manifest has the resourceVersion of that object.
	before    *manifest.Document
	old       *manifest.Stream
	versioned bool
	// predictions are for the orders in which the server may run the policies, ours first. held means that the
	// law holds for one of them, which is predicted then.
	predictions []*prediction
	predicted   *prediction
	held        bool
}

// prediction is what we say of a manifest and one order of the policies.
type prediction struct {
	outcome  *Outcome
	refusals []string
	output   map[string]any
	// want is the server's answer to the output, without policies. If a validating policy refuses the
	// object, it is the answer to the output of the mutating ones.
	want liveAnswer
}

// fails reports whether we refuse the manifest.
func (p *prediction) fails() bool { return p.outcome.Failed() }

// changes reports whether we admit the manifest with changes.
func (p *prediction) changes() bool { return !p.fails() && len(p.outcome.Manifests[0].Changes) > 0 }

func (l *liveCase) skip(format string, args ...any) {
	if l.skipped == "" {
		l.skipped = fmt.Sprintf(format, args...)
	}
}

func newLiveCase(t *testing.T, c *liveCluster, dir string, index int) *liveCase {
	l := &liveCase{
		cluster: c, name: filepath.Base(dir), id: fmt.Sprintf("%s-%d", c.id, index), orders: make([]renaming, 1),
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
					t.Errorf("%s: %s\n%s", m.name, problem, m.document.Stream().Bytes())
				}
			}
			if t.Failed() {
				for _, d := range l.policies {
					t.Logf("%s", manifest.YAML(d.Object()))
				}
			}
		})
	}
}

// prepare creates the objects that the policies of a case read, and sends our output to the server
// before the policies exist.
func (l *liveCase) prepare(t *testing.T, policies []map[string]any) {
	context := slices.Clone(l.definitions)
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
		if m.before != nil {
			stream = l.createOld(t, m, stream)
		}
		m.document = stream.Documents()[0]
		text := string(stream.Bytes())
		for _, renamed := range l.orders {
			m.predictions = append(m.predictions, l.predict(t, m, text, policies, context, renamed))
		}
		m.predicted = m.predictions[0]
	}
}

// renaming are the names of policies whose exchange changes the order in which we run them; "" for none.
type renaming struct{ from, to string }

// predict says what the policies, in the order of their new names, make of a manifest.
func (l *liveCase) predict(t *testing.T, m *liveManifest, text string, policies []map[string]any, context []*manifest.Stream, renamed renaming) *prediction {
	var streams, mutating []*manifest.Stream
	for _, object := range policies {
		stream := readText(t, l.name, strings.ReplaceAll(string(manifest.YAML(object)), l.ownName(renamed.from), l.ownName(renamed.to)))
		if streams = append(streams, stream); strings.HasPrefix(object["kind"].(string), "Mutating") {
			mutating = append(mutating, stream)
		}
	}
	stream := readText(t, l.name, text)
	p := &prediction{outcome: l.run(t, streams, context, m.old, stream)}
	for _, message := range refusals(p.outcome) {
		p.refusals = append(p.refusals, strings.ReplaceAll(message, l.ownName(renamed.to), l.ownName(renamed.from)))
	}
	if p.fails() && (len(mutating) == len(streams) || l.run(t, mutating, context, m.old, stream).Failed()) {
		return p
	}
	p.output = readText(t, l.name, string(stream.Bytes())).Documents()[0].Object()
	p.want = m.ask(t, l.cluster, p.output)
	return p
}

// createOld creates the object that a manifest updates, if the server accepts it. It returns the manifest, with
// the resourceVersion of the object if it shall have it.
func (l *liveCase) createOld(t *testing.T, m *liveManifest, stream *manifest.Stream) *manifest.Stream {
	kind := m.before.Kind()
	code, body := l.cluster.send(http.MethodPost, l.cluster.path(kind, m.namespace), l.moved(t, m.before).Documents()[0].Object())
	if code != http.StatusCreated {
		return stream
	}
	m.old = readText(t, "old", string(body))
	if !m.versioned {
		return stream
	}
	object, old := stream.Documents()[0].Object(), m.old.Documents()[0].Object()
	put(object, old["metadata"].(map[string]any)["resourceVersion"], "metadata", "resourceVersion")
	return readText(t, l.name, string(manifest.YAML(object)))
}

// ask sends an object for a manifest to the server: see [liveCluster.ask].
func (m *liveManifest) ask(t *testing.T, c *liveCluster, object map[string]any) liveAnswer {
	t.Helper()
	updated := ""
	if m.old != nil {
		updated = m.document.Name()
	}
	return c.ask(t, m.document.Kind(), m.namespace, updated, object)
}

// run runs policies on a manifest, which updates an old object unless that is nil.
func (l *liveCase) run(t *testing.T, policies, context []*manifest.Stream, old, stream *manifest.Stream) *Outcome {
	options := l.cluster.options
	if old != nil {
		options.Operation, options.Old = policy.Update, []*manifest.Stream{old}
	}
	set, diagnostics := Compile(policies, context, options)
	if set == nil {
		t.Fatalf("%s: %v", l.name, diagnostics)
	}
	return set.Run(t.Context(), []*manifest.Stream{stream}, Explain(), Views())
}

// check sends the manifest to the server with the policies. Objects that policies read may take a
// moment to reach the server.
func (m *liveManifest) check(t *testing.T, c *liveCluster) (problem string) {
	for range 4 {
		got := m.ask(t, c, m.document.Object())
		var problems []string
		for _, p := range m.predictions {
			if problem = p.compare(got); problem == "" {
				m.predicted = p
				return ""
			}
			problems = append(problems, problem)
		}
		problem = strings.Join(problems, "\nin another order: ")
		time.Sleep(time.Second)
	}
	return problem
}

// messageOf returns a message without what a server quotes differently after a policy has changed the object: an
// empty list may be null, and a difference to the old object has other lines.
func messageOf(message string) string {
	message, _, _ = strings.Cut(message, "\n@@")
	return strings.ReplaceAll(message, `":[]`, `":null`)
}

// isPart reports whether we say a part of what the server finds invalid: of built-in kinds, we validate only
// some fields.
func isPart(ours []string, message string) bool {
	if len(ours) != 1 {
		return false
	}
	who, causes, found := strings.Cut(ours[0], " is invalid: ")
	if malformed := strings.LastIndex(causes, "}: cannot "); strings.HasPrefix(causes, "metadata: ") && malformed >= 0 {
		causes = causes[malformed:] // the quotation before has a random uid
	}
	return found && strings.HasPrefix(message, who+" is invalid: ") && strings.Contains(message, strings.Trim(causes, "[]"))
}

// malformed matches the error of a server that converts a custom resource whose metadata has a value of a wrong type.
var malformed = regexp.MustCompile(`^json: cannot unmarshal \w+ into Go struct field ObjectMeta\.`)

// goType matches the end of a message about a value of a wrong type. For a string, the server names
// the Go type (v1.PullPolicy), and preadmit says "string".
var goType = regexp.MustCompile(`of type (v1\.\w+|string)$`)

func (p *prediction) compare(got liveAnswer) string {
	switch {
	case p.fails() && p.want.code >= 300 && got.message == p.want.message:
		return "" // what the server refuses by itself does not reach validating policies
	case p.fails():
		got.message = goType.ReplaceAllString(got.message, "of some type")
		ours := slices.Clone(p.refusals)
		for i := range ours {
			ours[i] = goType.ReplaceAllString(ours[i], "of some type")
		}
		if got.code == 0 && strings.Contains(strings.Join(ours, "\n"), "kube-apiserver crashes on it") {
			return "" // its handler panics, and the connection ends
		}
		isMasked := strings.Contains(strings.Join(ours, "\n"), "it would show a value of the Secret")
		if got.code < 300 || p.outcome.Denied && !isMasked && !refusedWith(ours, got.message) && !isPart(ours, got.message) {
			return fmt.Sprintf("we say %q, the server with the policies %s", ours, got)
		}
	case got.code == http.StatusInternalServerError && p.want.code < 300 && malformed.MatchString(got.message):
		return "" // a known difference: see testdata/EQUIVALENCE.md
	case got.code != p.want.code || got.code >= 300 && messageOf(got.message) != messageOf(p.want.message):
		return fmt.Sprintf("given our output the server says %s, with the policies %s", p.want, got)
	case got.code < 300:
		if difference := effect(p.want.object, got.object); difference != "" {
			return "from our output to the result of the policies\n" + difference
		}
		var ours []string
		for _, w := range p.outcome.Manifests[0].Warnings {
			ours = append(ours, w.Text)
		}
		if got.warnings = slices.DeleteFunc(slices.Clone(got.warnings), func(text string) bool { return slices.Contains(p.want.warnings, text) }); !slices.Equal(ours, got.warnings) {
			return fmt.Sprintf("we warn %q, the server with the policies %q", ours, got.warnings)
		}
	}
	return ""
}
