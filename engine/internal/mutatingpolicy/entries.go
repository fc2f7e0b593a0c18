package mutatingpolicy

import (
	"cmp"
	"fmt"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/policy"
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
		object, err := r.Snapshot.Get(gvk.Kind{Group: "kyverno.io", Version: version, Kind: "GlobalContextEntry"}, "", name)
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
	kind := gvk.Kind{Group: resource.At("group").Text(), Version: cmp.Or(resource.At("version").Text(), "v1")}
	objects, err := w.list(kind.APIVersion(), resource.At("resource").Text(), resource.At("namespace").Text())
	if err != nil {
		return nil, err
	}
	entry := given.Entry{Value: objects, Projections: map[string]string{}}
	for _, n := range spec.At("projections").Items() {
		entry.Projections[n.At("name").Text()] = n.At("jmesPath").Text()
	}
	return entry.Select(projection)
}
