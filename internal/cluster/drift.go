package cluster

import (
	"errors"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Refusal returns the answer of a server that refuses a request. ok is false if no server has
// answered.
func Refusal(err error) (refusal *Error, ok bool) {
	return refusal, errors.As(err, &refusal) && refusal.Reason != "" && refusal.Reason != "InternalError" && refusal.Reason != "Unauthorized"
}

// Drift compares a cluster with files of an earlier state of it.
type Drift struct {
	before  map[string]map[string]any
	changes []DriftChange
	// webhooks are the names of the MutatingWebhookConfigurations of the cluster.
	webhooks map[string]bool
}

// HasWebhook reports whether the cluster has a MutatingWebhookConfiguration.
func (d *Drift) HasWebhook(name string) bool { return d.webhooks[name] }

// DriftChange is an object that differs between an earlier state of a cluster and the cluster.
type DriftChange struct {
	Object map[string]any
	// How is new, changed or gone.
	How string
	// IsPolicy reports that the object belongs to the policies of the cluster.
	IsPolicy bool
}

// String returns the object and how it differs.
func (c DriftChange) String() string {
	id := kindOf(c.Object).Kind + " " + strings.TrimPrefix(textAt(c.Object, "metadata", "namespace")+"/"+textAt(c.Object, "metadata", "name"), "/")
	return id + " is " + c.How
}

// NewDrift returns the drift from the objects in files.
func NewDrift(streams []*manifest.Stream) *Drift {
	d := &Drift{before: map[string]map[string]any{}, webhooks: map[string]bool{}}
	for _, s := range streams {
		for _, document := range s.Documents() {
			if document.Kind().Version != "" && (document.Name() != "") {
				object := tidy(document.Object())
				d.before[Path(object)] = object
			}
		}
	}
	return d
}

// Add adds an object of the cluster.
func (d *Drift) Add(now Stored) error {
	path := Path(now.Object)
	if kindOf(now.Object).Kind == "MutatingWebhookConfiguration" {
		d.webhooks[textAt(now.Object, "metadata", "name")] = true
	}
	before, known := d.before[path]
	delete(d.before, path)
	switch {
	case !known && hasAll(now.Object):
		d.add(now.Object, "new")
	case kindOf(now.Object) == engine.ClusterKind && known:
		if textAt(before, "spec", "kubernetesVersion") != textAt(now.Object, "spec", "kubernetesVersion") {
			d.add(now.Object, "changed")
		}
	case known && !now.Private && !change.Equal(before, now.Object):
		d.add(now.Object, "changed")
	}
	return nil
}

func (d *Drift) add(object map[string]any, how string) {
	kind := kindOf(object)
	d.changes = append(d.changes, DriftChange{object, how, hasAll(object) && kind != namespaceKind && kind != definitionKind})
}

// hasAll reports whether a snapshot has all objects of the kind of an object, whatever its options.
func hasAll(object map[string]any) bool {
	kind := kindOf(object)
	return kind != definitionKind && isGathered(Resource{Resource: gvk.Resource{Group: kind.Group}, Kind: kind.Kind})
}

// Changes returns the differences, after all objects of the cluster were added, sorted.
func (d *Drift) Changes() []DriftChange {
	for _, object := range d.before {
		if hasAll(object) {
			d.add(object, "gone")
		}
	}
	slices.SortFunc(d.changes, func(a, b DriftChange) int { return strings.Compare(Path(a.Object), Path(b.Object)) })
	return d.changes
}
