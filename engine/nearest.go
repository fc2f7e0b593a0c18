package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// selecting is the document of a policy, or of a binding, and the name of its match block.
type selecting struct {
	document *manifest.Document
	block    string
}

// match returns the match block, or an empty node.
func (s selecting) match() policy.Node {
	if s.document == nil {
		return policy.Node{}
	}
	return policy.NodeAt(s.document, "spec", s.block)
}

// selecting returns the policies and bindings with their match blocks, and the bindings of each policy.
func (r *run) selecting() (all map[policy.ID]selecting, bindings map[policy.ID][]policy.ID) {
	all, bindings = map[policy.ID]selecting{}, map[policy.ID][]policy.ID{}
	for _, d := range r.policyDocuments() {
		id, block := policy.ID{Kind: d.Kind().Kind, Policy: d.Name()}, "matchConstraints"
		if name := d.TextAt("spec", "policyName"); name != "" {
			id = policy.ID{Kind: strings.TrimSuffix(d.Kind().Kind, "Binding"), Policy: name, Binding: d.Name()}
			block = "matchResources"
			if _, twice := all[id]; !twice {
				bindings[id.OfPolicy()] = append(bindings[id.OfPolicy()], id)
			}
		}
		all[id] = selecting{d, block}
	}
	return all, bindings
}

// labelOwners are the names of the first things that have a label, by its key and its value.
type labelOwners map[string]map[string]string

func (o labelOwners) add(name, key string, value any) {
	text, isText := value.(string)
	if !isText {
		return
	}
	if o[key] == nil {
		o[key] = map[string]string{}
	}
	if o[key][text] == "" {
		o[key][text] = name
	}
}

// addOf adds the labels of a document.
func (o labelOwners) addOf(d *manifest.Document) {
	labels := policy.NodeAt(d, "metadata", "labels").Object()
	for key, value := range labels {
		o.add(d.Name(), key, value)
	}
}

// namespaces returns the labels of the namespaces of the input, and those in which manifests are, which have
// only the label with their name.
func (r *run) namespaces() labelOwners {
	const nameLabel = "kubernetes.io/metadata.name"
	owners := labelOwners{}
	for _, d := range slices.Concat(r.input.manifests, r.set.context, r.set.policies) {
		if d.Kind() == namespaceKind {
			owners.addOf(d)
			owners.add(d.Name(), nameLabel, d.Name())
		}
	}
	for _, j := range r.jobs {
		if name := j.place.namespace; name != "" {
			owners.add(name, nameLabel, name)
		}
	}
	return owners
}

// nearest says what exists that is the most similar to what a match block selects, of the namespaces and the
// objects of its kinds; "" if all that it names exists.
func nearest(block policy.Node, namespaces labelOwners, near []*Manifest) string {
	if text := namespaces.nearest("namespace", block.At("namespaceSelector")); text != "" || len(near) == 0 {
		return text
	}
	objects, names := labelOwners{}, make([]string, len(near))
	for i, m := range near {
		objects.addOf(m.Document)
		names[i] = m.Document.Name()
	}
	if text := objects.nearest("object", block.At("objectSelector")); text != "" {
		return text
	}
	for _, rule := range block.At("resourceRules").Items() {
		for _, name := range rule.At("resourceNames").Texts() {
			if similar := source.Nearest(name, names); similar != "" && similar != name {
				return fmt.Sprintf("no object has the name %s; the nearest is %s", name, similar)
			}
		}
	}
	return ""
}

// nearest says which label, that a selector requires, is the first that nothing has, and which is the nearest
// that something has.
func (o labelOwners) nearest(what string, selector policy.Node) string {
	required := selector.At("matchLabels")
	for _, key := range slices.Sorted(maps.Keys(required.Object())) {
		if text := o.nearestTo(what, key, []string{required.At(key).Text()}); text != "" {
			return text
		}
	}
	for _, item := range selector.At("matchExpressions").Items() {
		if operator := item.At("operator").Text(); operator == "In" || operator == "Exists" {
			if text := o.nearestTo(what, item.At("key").Text(), item.At("values").Texts()); text != "" {
				return text
			}
		}
	}
	return ""
}

// nearestTo is nearest for one label, with any value if wanted is empty.
func (o labelOwners) nearestTo(what, key string, wanted []string) string {
	owners := o[key]
	if len(owners) == 0 {
		text := fmt.Sprintf("no %s has a label %s", what, key)
		if similar := source.Nearest(key, slices.Sorted(maps.Keys(o))); similar != "" {
			values := slices.Sorted(maps.Keys(o[similar]))
			text += fmt.Sprintf("; the nearest is %s: %s of %s", similar, values[0], o[similar][values[0]])
		}
		return text
	}
	if len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return owners[w] != "" }) {
		return ""
	}
	values := slices.Sorted(maps.Keys(owners))
	text := fmt.Sprintf("no %s has the label %s: %s", what, key, source.Alternatives(wanted))
	for _, w := range wanted {
		if value := source.Nearest(w, values); value != "" {
			return text + fmt.Sprintf("; the nearest is %s: %s of %s", key, value, owners[value])
		}
	}
	return text + "; its values are " + strings.Join(values[:min(len(values), source.FewPlaces)], ", ")
}
