package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Wanted says what a snapshot has besides what policies need.
type Wanted struct {
	// Definitions are all CustomResourceDefinitions, Secrets are Secrets that policies look up.
	Definitions, Secrets bool
	// Resources are names of further resources, such as configmaps or widgets.example.com.
	Resources []string
	// Plugins are the admission plug-ins of the server.
	Plugins []string
	// KubernetesVersion is the version of the server if the source does not know it.
	KubernetesVersion string
}

// Stored is an object of a snapshot. Private says that its values are secret.
type Stored struct {
	Object  map[string]any
	Private bool
}

// Snapshot is what Gather has found, besides the objects.
type Snapshot struct {
	// Needed are the rules of the requests, and Missing those that the server has refused.
	Needed, Missing []Rule
	// Objects is the number of objects, and Kinds that of their kinds.
	Objects, Kinds int
	Diagnostics    []source.Diagnostic
}

// Rule allows to read a resource.
type Rule struct {
	Group, Resource, Verb, Name string
}

// String returns the rule as an item of a ClusterRole.
func (r Rule) String() string {
	names := ""
	if r.Name != "" {
		names = fmt.Sprintf(", resourceNames: [%q]", r.Name)
	}
	return fmt.Sprintf("{apiGroups: [%q], resources: [%q], verbs: [%q]%s}", r.Group, r.Resource, r.Verb, names)
}

// Gather calls put for every object of a snapshot. The order is always the same. What the server
// forbids is in Missing; any other refusal is an error.
func Gather(ctx context.Context, from Source, wanted Wanted, put func(Stored) error) (*Snapshot, error) {
	g := &gatherer{from: from, wanted: wanted, put: put, snapshot: &Snapshot{}, kinds: map[gvk.Kind]bool{}}
	for _, step := range []func(context.Context) error{g.policies, g.namespaces, g.definitions, g.lookups, g.others, g.describe} {
		if err := step(ctx); err != nil {
			return g.snapshot, err
		}
	}
	g.snapshot.Kinds = len(g.kinds)
	return g.snapshot, nil
}

// gatherer is the state of Gather.
type gatherer struct {
	from     Source
	wanted   Wanted
	put      func(Stored) error
	snapshot *Snapshot
	kinds    map[gvk.Kind]bool
	// streams are the policies, and set is compiled from them. reads is what they look up.
	streams []*manifest.Stream
	set     *engine.Set
	reads   []policy.Read
	// secrets are the names of the policies that look up Secrets.
	secrets map[named][]string
	server  Server
	// images are the versions of policy languages, by the field of a Cluster.
	images map[string]string
}

// list lists the objects of a place of a resource.
func (g *gatherer) list(ctx context.Context, r Resource, p named, each func(object map[string]any) error) error {
	rule := Rule{r.Group, r.Resource.Resource, "list", p.name}
	if p.name != "" {
		rule.Verb = "get"
	}
	g.snapshot.Needed = append(g.snapshot.Needed, rule)
	err := g.from.List(ctx, r, p.namespace, p.name, each)
	switch {
	case Is(err, "Forbidden"):
		g.snapshot.Missing = append(g.snapshot.Missing, rule)
		return nil
	case Is(err, "Expired"):
		return fmt.Errorf("%s: the list has changed while it was read: run the command again", r)
	case err != nil:
		return fmt.Errorf("%s: %w", r, err)
	}
	return nil
}

// store adds an object to the snapshot.
func (g *gatherer) store(object map[string]any) error { return g.keep(Stored{Object: tidy(object)}) }

func (g *gatherer) keep(s Stored) error {
	g.snapshot.Objects++
	g.kinds[kindOf(s.Object)] = true
	return g.put(s)
}

// policies gathers the kinds that decide how the cluster changes objects.
func (g *gatherer) policies(ctx context.Context) error {
	var err error
	if g.server, err = g.from.Server(ctx); err != nil {
		return err
	}
	for _, kind := range engine.PolicyKinds() {
		r, ok, err := g.from.Find(ctx, kind)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		err = g.list(ctx, r, named{}, func(object map[string]any) error {
			kept := tidy(object)
			stream, _ := manifest.FromObjects(Path(kept), kept)
			g.streams = append(g.streams, stream)
			return g.keep(Stored{Object: kept})
		})
		if err != nil {
			return err
		}
	}
	return g.compile()
}

// compile compiles the policies, for what they look up.
func (g *gatherer) compile() error {
	options := engine.Options{AdmissionPlugins: g.wanted.Plugins}
	if options.AdmissionPlugins == nil {
		options.AdmissionPlugins = []string{"default"}
	}
	if version := engine.NearestKubernetesVersion(g.versionText()); version != "" {
		options.KubernetesVersion = version
	}
	set, problems := engine.CompileSound(g.streams, nil, options)
	if set == nil {
		for _, d := range problems {
			if d.Severity == source.Error {
				return errors.New(d.Text())
			}
		}
	}
	g.set, g.reads = set, set.Reads()
	return nil
}

// versionText is the version of the server, or the one that the user has given.
func (g *gatherer) versionText() string {
	return cmp.Or(g.server.Version, g.wanted.KubernetesVersion)
}

// namespaces gathers the Namespaces.
func (g *gatherer) namespaces(ctx context.Context) error {
	return g.all(ctx, namespaceKind, g.store)
}

// definitions gathers the CustomResourceDefinitions of the kinds that policies name.
func (g *gatherer) definitions(ctx context.Context) error {
	isNamed := g.set.Named()
	return g.all(ctx, definitionKind, func(object map[string]any) error {
		group := textAt(object, "spec", "group")
		named := !engine.IsPolicyGroup(group) && isNamed(group, textAt(object, "spec", "names", "plural"), textAt(object, "spec", "names", "kind"))
		if g.wanted.Definitions || named {
			return g.store(object)
		}
		return nil
	})
}

// all lists all objects of a kind.
func (g *gatherer) all(ctx context.Context, kind gvk.Kind, each func(object map[string]any) error) error {
	r, ok, err := g.from.Find(ctx, kind)
	if err != nil || !ok {
		return err
	}
	return g.list(ctx, r, named{}, each)
}

// lookups gathers what policies and plug-ins look up, and what the user names.
func (g *gatherer) lookups(ctx context.Context) error {
	// Nodes come and go, and only Pods that name their Node make a plug-in read one.
	reads := slices.DeleteFunc(slices.Clone(g.reads), func(read policy.Read) bool { return read.By.Plugin != "" && read.Kind == nodeKind })
	for _, name := range g.wanted.Resources {
		resource, group, _ := strings.Cut(name, ".")
		named := policy.Read{Resource: gvk.Resource{Group: group, Resource: resource}}
		if _, ok, err := g.from.FindResource(ctx, named.Resource); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("the cluster has no resource %s; 'kubectl api-resources' lists them, with their groups as in deployments.apps", name))
		}
		reads = append(reads, named)
	}
	found, unknown, err := lookups(ctx, g.from, reads)
	if err != nil {
		return err
	}
	g.tellUnknown(unknown)
	for _, l := range found {
		each := g.store
		if l.resource.Kind == secretKind.Kind && l.resource.Group == "" {
			if each = g.secret; !g.wanted.Secrets {
				g.tellSecrets()
				continue
			}
		}
		for _, p := range l.sorted() {
			if err := g.list(ctx, l.resource, p, each); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellUnknown warns about lookups of kinds that are not known.
func (g *gatherer) tellUnknown(reads []policy.Read) {
	told := map[string]bool{}
	for _, read := range reads {
		if by := read.By.String(); !told[by] {
			told[by] = true
			g.snapshot.Diagnostics = append(g.snapshot.Diagnostics, source.Warningf(source.Position{File: read.At.File}, "lookup-unknown", "%s looks up objects of a kind that is known only when it runs", source.Name(by)).
				With("name the resource with --resource, unless the snapshot has it"))
		}
	}
}

// readers returns the policies that look up a Secret; of any Secret if the name is empty.
func (g *gatherer) readers(p named) []string {
	var names []string
	if g.secrets == nil {
		g.secrets = map[named][]string{}
		for _, read := range g.reads {
			if at := (named{read.Namespace, read.Name}); read.Kind == secretKind || read.Resource == (gvk.Resource{Version: "v1", Resource: "secrets"}) {
				g.secrets[at] = append(g.secrets[at], read.By.String())
			}
		}
	}
	for at, by := range g.secrets {
		if p.name == "" || slices.Contains(p.around(), at) {
			names = append(names, by...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tellSecrets warns that Secrets are left out.
func (g *gatherer) tellSecrets() {
	d := source.Warningf(source.Position{}, "secrets-left-out", "Secrets are left out")
	if names := g.readers(named{}); len(names) > 0 {
		d = source.Warningf(source.Position{}, "secrets-left-out", "Secrets are left out, and %s", source.Name(strings.Join(names, ", ")+" looks them up"))
	}
	g.snapshot.Diagnostics = append(g.snapshot.Diagnostics, d.With("--secrets writes them"))
}

// secret stores a Secret, with its values only if a policy looks it up.
func (g *gatherer) secret(object map[string]any) error {
	object = tidy(object)
	names := g.readers(named{textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name")})
	if len(names) == 0 {
		return g.keep(Stored{marked(object), true})
	}
	d := source.Notef(source.Position{File: Path(object)}, "secret-written", "the values of the Secret are written, because %s looks it up", source.Name(strings.Join(names, ", ")))
	g.snapshot.Diagnostics = append(g.snapshot.Diagnostics, d)
	return g.keep(Stored{object, true})
}

// programs are the Deployments of policy languages, as their charts name them: the group of their
// kinds, the Deployment, and the field of a Cluster.
var programs = []struct {
	group, name string
	at          named
	field       string
}{
	{"kyverno.io", "kyverno", named{"kyverno", "kyverno-admission-controller"}, "kyvernoVersion"},
	{"gatekeeper.sh", "gatekeeper", named{"gatekeeper-system", "gatekeeper-controller-manager"}, "gatekeeperVersion"},
}

// others finds the versions of the policy languages of the cluster.
func (g *gatherer) others(ctx context.Context) error {
	g.images = map[string]string{}
	for _, program := range programs {
		used := slices.ContainsFunc(g.streams, func(s *manifest.Stream) bool {
			return strings.HasSuffix("."+s.Documents()[0].Kind().Group, "."+program.group)
		})
		deployments, ok, err := g.from.Find(ctx, gvk.Kind{Group: "apps", Kind: "Deployment"})
		if err != nil {
			return err
		}
		if !used || !ok {
			continue
		}
		err = g.list(ctx, deployments, program.at, func(object map[string]any) error {
			if version := imageVersion(object, program.name); version != "" {
				g.images[program.field] = version
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// imageVersion returns the version in the image of a program of a policy language; "" if the
// Deployment does not run it.
func imageVersion(deployment map[string]any, program string) string {
	for _, container := range (policy.Node{Value: deployment}).At("spec", "template", "spec", "containers").Items() {
		pattern := regexp.MustCompile(`(?:^|/)` + program + `:v?(\d+\.\d+\.\d+)`)
		if found := pattern.FindStringSubmatch(container.At("image").Text()); found != nil {
			return found[1]
		}
	}
	return ""
}

// describe stores the description of the cluster.
func (g *gatherer) describe(context.Context) error {
	spec := map[string]any{}
	if version := g.versionText(); version != "" {
		spec["kubernetesVersion"] = version
	}
	for field, version := range g.images {
		spec[field] = version
	}
	if len(g.server.Gates) > 0 {
		gates := map[string]any{}
		for name, on := range g.server.Gates {
			gates[name] = on
		}
		spec["featureGates"] = gates
	}
	if len(g.wanted.Plugins) > 0 {
		spec["admissionPlugins"] = change.List(g.wanted.Plugins)
	}
	return g.put(Stored{Object: map[string]any{
		"apiVersion": engine.ClusterKind.APIVersion(), "kind": engine.ClusterKind.Kind, "metadata": map[string]any{"name": "cluster"}, "spec": spec,
	}})
}
