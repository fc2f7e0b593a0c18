package mutatingpolicy

import (
	"cmp"
	"fmt"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

const (
	entryGroup = "kyverno.io"
	entryKind  = "GlobalContextEntry"
)

// entryVersions are the versions in which Kyverno v1.19.0 serves GlobalContextEntries.
var entryVersions = []string{"v2beta1", "v2", "v2alpha1"}

// Entry implements celenv.World. The value of an entry of the global context comes from the
// user, or from the objects in the input that a GlobalContextEntry selects.
func (w *world) Entry(name, projection string) (any, error) {
	if entry, ok := w.evaluation.language.answers.Entry(name); ok {
		return entry.Select(projection)
	}
	r := w.evaluation.request
	r.Snapshot.Ask()
	for _, version := range entryVersions {
		object, err := r.Snapshot.Get(gvk.Kind{Group: entryGroup, Version: version, Kind: entryKind}, "", name)
		if err != nil {
			return nil, err
		}
		if object != nil {
			return w.entryOf(name, policy.Node{Value: object}.At("spec"), projection)
		}
	}
	return nil, fmt.Errorf("there is no GlobalContextEntry %s in the input; %s", name, inEntries)
}

func (w *world) entryOf(name string, spec policy.Node, projection string) (any, error) {
	resource := spec.At("kubernetesResource")
	if !resource.Given() {
		return nil, fmt.Errorf("GlobalContextEntry %s is what a call to an API gives, and none is made; %s", name, inEntries)
	}
	selected := resourceOf(resource)
	objects, err := w.list(gvk.Kind{Group: selected.Group, Version: selected.Version}.APIVersion(), selected.Resource, resource.At("namespace").Text())
	if err != nil {
		return nil, err
	}
	entry := given.Entry{Value: objects, Projections: map[string]string{}}
	for _, n := range spec.At("projections").Items() {
		entry.Projections[n.At("name").Text()] = n.At("jmesPath").Text()
	}
	return entry.Select(projection)
}

// resourceOf returns the resource that an entry of the global context selects.
func resourceOf(n policy.Node) gvk.Resource {
	return gvk.Resource{Group: n.At("group").Text(), Version: cmp.Or(n.At("version").Text(), "v1"), Resource: n.At("resource").Text()}
}

// EntryRead returns what the cluster looks up for a GlobalContextEntry. ok is false for other
// documents, and for entries with the answer of a call.
func EntryRead(d *manifest.Document) (read policy.Read, ok bool) {
	selected := policy.NodeAt(d, "spec", "kubernetesResource")
	if d.Kind().Group != entryGroup || d.Kind().Kind != entryKind || !selected.Given() {
		return read, false
	}
	at := d.At(change.Keys("metadata", "name"))
	return policy.Read{Resource: resourceOf(selected), Namespace: selected.At("namespace").Text(), By: policy.ID{Kind: entryKind, Policy: d.Name()}, At: at}, true
}
