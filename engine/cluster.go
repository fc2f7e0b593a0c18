package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// ClusterKind is the kind of documents that describe a cluster. One of them among the policies or the
// context sets the version of Kubernetes and the admission plug-ins, unless the options do.
var ClusterKind = gvk.Kind{Group: "preadmit.dev", Version: "v1alpha1", Kind: "Cluster"}

// GatekeeperVersion is the version of Gatekeeper as which its mutators run.
const GatekeeperVersion = "3.23"

// clusterFields are the fields of the spec of a Cluster. featureGates are for people only.
var clusterFields = []string{"kubernetesVersion", "kyvernoVersion", "gatekeeperVersion", "admissionPlugins", "featureGates"}

// describedBy returns the options with what a Cluster among documents says in addition to them.
func (o Options) describedBy(documents []*manifest.Document) (Options, []source.Diagnostic) {
	var first *manifest.Document
	var diagnostics []source.Diagnostic
	for _, d := range documents {
		kind := d.Kind()
		switch {
		case kind.Group != ClusterKind.Group || kind.Kind != ClusterKind.Kind:
			continue
		case first != nil && !change.Equal(d.Object()["spec"], first.Object()["spec"]):
			diagnostics = append(diagnostics, source.Errorf(d.At(nil), "cluster-invalid", "another cluster is described at %s", first.At(nil)).
				With("give the policies of one cluster at a time"))
			continue
		case first != nil:
			continue
		}
		first = d
		r := policydoc.New(d)
		if kind.Version != ClusterKind.Version {
			r.Advise(change.Keys("apiVersion"), "cluster-invalid", "unknown version", "expected "+ClusterKind.APIVersion())
		}
		spec := r.Root.At("spec")
		for key := range spec.Object() {
			if !slices.Contains(clusterFields, key) {
				r.Mistaken(spec.At(key).Path, "cluster-invalid", "unknown field", source.Suggest(key, clusterFields))
			}
		}
		o.describe(r, spec)
		diagnostics = append(diagnostics, r.Problems...)
	}
	source.Sort(diagnostics)
	return o, diagnostics
}

// describe sets the options that are not set to what the spec of a Cluster says.
func (o *Options) describe(r *policydoc.Reader, spec policy.Node) {
	if n := spec.At("kubernetesVersion"); o.KubernetesVersion == "" && n.Given() {
		version := n.Text()
		switch nearest := NearestKubernetesVersion(version); {
		case nearest == "":
			r.Advise(n.Path, "cluster-invalid", "not a version of Kubernetes", "expected a text such as \""+DefaultKubernetesVersion+"\"")
		case KnowsKubernetesVersion(version):
			o.KubernetesVersion = version
		default:
			o.KubernetesVersion = nearest
			r.Note(n, source.Warning, "version-nearest", "the version of the cluster is not known; the policies run as in "+nearest, "known are "+KnownKubernetesVersions()+"; the option kubernetes-version names another one")
		}
	}
	if n := spec.At("admissionPlugins"); len(o.AdmissionPlugins) == 0 && n.Given() {
		o.AdmissionPlugins = n.Texts()
	}
	o.compareVersion(r, spec.At("kyvernoVersion"), "Kyverno", cmp.Or(o.KyvernoVersion, DefaultKyvernoVersion))
	o.compareVersion(r, spec.At("gatekeeperVersion"), "Gatekeeper", GatekeeperVersion)
}

// compareVersion warns if a cluster has another version of a policy language than the one that runs.
func (o *Options) compareVersion(r *policydoc.Reader, n policy.Node, name, runs string) {
	if !n.Given() || strings.HasPrefix(strings.TrimPrefix(n.Text(), "v")+".", runs+".") {
		return
	}
	r.Note(n, source.Warning, "version-nearest", "the cluster has another version of "+name+"; its policies run as in "+runs, "")
}

// DescribesPlugins reports whether a Cluster among the policies or the context names the admission
// plug-ins.
func DescribesPlugins(policies, context []*manifest.Stream) bool {
	described, _ := Options{}.describedBy(slices.Concat(documentsOf(policies), documentsOf(context)))
	return len(described.AdmissionPlugins) > 0
}
