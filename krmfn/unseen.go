package krmfn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// makers are kinds from which controllers in the cluster create other objects. program is a
// command that prints these objects. fields are those that change the objects of a directory, which may be
// evaluated without them.
var makers = []struct {
	group, kind, one, many, program string
	fields                          []change.Path
}{
	{
		"kustomize.toolkit.fluxcd.io", "Kustomization", "Kustomization of Flux", "Kustomizations of Flux", "flux build kustomization",
		below("spec", "commonMetadata", "components", "images", "namePrefix", "nameSuffix", "patches", "patchesJson6902", "patchesStrategicMerge", "postBuild", "targetNamespace"),
	},
	{"helm.toolkit.fluxcd.io", "HelmRelease", "HelmRelease of Flux", "HelmReleases of Flux", "helm template", below("spec", "postRenderers")},
	{"argoproj.io", "Application", "Application of Argo CD", "Applications of Argo CD", "argocd app manifests", below("spec.source", "helm", "kustomize", "plugin")},
	{"argoproj.io", "ApplicationSet", "ApplicationSet of Argo CD", "ApplicationSets of Argo CD", "argocd app manifests", below("spec.template.spec.source", "helm", "kustomize", "plugin")},
}

// below returns the paths of fields of a map.
func below(parent string, fields ...string) (paths []change.Path) {
	for _, field := range fields {
		paths = append(paths, change.Keys(append(strings.Split(parent, "."), field)...))
	}
	return paths
}

// tellUnseen returns a note about manifests from which the cluster creates other objects.
// Policies change those in the cluster, but preadmit does not see them.
func tellUnseen(streams []*manifest.Stream) []source.Diagnostic {
	counts, applied := make([]int, len(makers)), map[string]int{}
	var first source.Position
	for _, s := range streams {
		for _, d := range s.Documents() {
			i := makerOf(d.Kind())
			if i < 0 {
				continue
			}
			if counts[i]++; !first.IsKnown() {
				first = d.At(nil)
			}
			for _, field := range makers[i].fields {
				if value, _ := field.Get(d.Object()); value != nil {
					applied[field[len(field)-1].Key]++
				}
			}
		}
	}
	var what, programs []string
	for i, n := range counts {
		if n > 0 {
			what = append(what, plural(n, makers[i].one, makers[i].many))
			if !slices.Contains(programs, makers[i].program) {
				programs = append(programs, makers[i].program)
			}
		}
	}
	if len(what) == 0 {
		return nil
	}
	note := source.Diagnostic{At: first, Severity: source.Info, Code: "made-in-cluster"}.
		Saying(source.Messagef("objects that the cluster creates from %s are not evaluated%s", source.Literal(strings.Join(what, ", ")), source.Literal(notApplied(applied))))
	return []source.Diagnostic{note.With("render them and evaluate the output: preadmit exec -- PROGRAM, with " + source.Alternatives(programs))}
}

// notApplied says which fields change the objects in the cluster, with how many objects have each of them.
func notApplied(counts map[string]int) string {
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(counts)) {
		fields = append(fields, fmt.Sprintf("%s (%d)", field, counts[field]))
	}
	switch last := len(fields) - 1; last {
	case -1:
		return ""
	case 0:
		return "; what they change with " + fields[0] + " is not applied"
	default:
		return "; what they change with " + strings.Join(fields[:last], ", ") + " and " + fields[last] + " is not applied"
	}
}

func makerOf(kind gvk.Kind) int {
	for i, m := range makers {
		if m.group == kind.Group && m.kind == kind.Kind {
			return i
		}
	}
	return -1
}

// adviseVariables adds advice to errors in lines with variables, which Flux substitutes after
// kustomize.
func adviseVariables(streams []*manifest.Stream, diagnostics []source.Diagnostic) {
	files := map[string]*manifest.Stream{}
	for _, s := range streams {
		files[s.Name()] = s
	}
	for i, d := range diagnostics {
		s := files[d.At.File]
		if d.Code != source.CodeManifestInvalid || s == nil || len(s.Documents()) == 0 {
			continue
		}
		if line := s.Documents()[0].Line(d.At); strings.Contains(line, "${") {
			diagnostics[i].Advice = "the line has a variable that Flux would substitute (postBuild); evaluate the output of Flux: preadmit exec -- flux build kustomization NAME"
		}
	}
}
