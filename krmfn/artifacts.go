package krmfn

import (
	slash "path"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
)

var generatorKind = gvk.Kind{Group: "source.extensions.fluxcd.io", Kind: "ArtifactGenerator"}

// artifacts are the ExternalArtifacts of Flux that ArtifactGenerators make of directories of the repository, by
// namespace and name. A Kustomization whose source is one of them names a directory in it.
type artifacts map[artifact][]treeCopy

type artifact struct{ namespace, name string }

// treeCopy are a directory of the repository and the directory of the artifact to which it is copied, with everything below.
type treeCopy struct{ from, to string }

// add adds the artifacts of a document if it is an ArtifactGenerator.
func (a artifacts) add(d *manifest.Document) {
	if kind := d.Kind(); kind.Group != generatorKind.Group || kind.Kind != generatorKind.Kind {
		return
	}
	for _, at := range itemsAt(d, change.Keys("spec", "artifacts")) {
		made := artifact{d.Namespace(), textAt(d, at.Key("name"))}
		for _, copy := range itemsAt(d, at.Key("copy")) {
			source, isTree := strings.CutSuffix(textAt(d, copy.Key("from")), "/**")
			alias, from, _ := strings.Cut(source, "/")
			to, isArtifact := strings.CutPrefix(textAt(d, copy.Key("to")), "@artifact")
			if isTree && strings.HasPrefix(alias, "@") && isArtifact {
				a[made] = append(a[made], treeCopy{slash.Clean("/" + from), slash.Clean("/" + to)})
			}
		}
	}
}

// itemsAt returns the positions of the items of a list of a document.
func itemsAt(d *manifest.Document, list change.Path) (paths []change.Path) {
	value, _ := list.Get(d.Object())
	items, _ := value.([]any)
	for i := range items {
		paths = append(paths, list.Index(i))
	}
	return paths
}

// directories returns the directories of the repository that an object of Flux means with the name of a directory.
func (a artifacts) directories(d *manifest.Document, name string) []string {
	source := change.Keys("spec", "sourceRef")
	if textAt(d, source.Key("kind")) != "ExternalArtifact" {
		return []string{name}
	}
	made := artifact{textAt(d, source.Key("namespace")), textAt(d, source.Key("name"))}
	if made.namespace == "" {
		made.namespace = d.Namespace()
	}
	var found []string
	for _, c := range a[made] {
		below := strings.TrimSuffix(c.to, "/") + "/"
		if inside, ok := strings.CutPrefix(slash.Clean("/"+name)+"/", below); ok {
			found = append(found, slash.Join(c.from, inside))
		}
	}
	return found
}
