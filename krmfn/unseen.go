package krmfn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// makers are kinds from which controllers in the cluster create other objects. program is a
// command that prints these objects.
var makers = []struct{ group, kind, one, many, program string }{
	{"kustomize.toolkit.fluxcd.io", "Kustomization", "Kustomization of Flux", "Kustomizations of Flux", "flux build kustomization"},
	{"helm.toolkit.fluxcd.io", "HelmRelease", "HelmRelease of Flux", "HelmReleases of Flux", "helm template"},
	{"argoproj.io", "Application", "Application of Argo CD", "Applications of Argo CD", "argocd app manifests"},
	{"argoproj.io", "ApplicationSet", "ApplicationSet of Argo CD", "ApplicationSets of Argo CD", "argocd app manifests"},
}

// tellUnseen returns a note about manifests from which the cluster creates other objects.
// Policies change those in the cluster, but preadmit does not see them.
func tellUnseen(streams []*manifest.Stream) []source.Diagnostic {
	counts := make([]int, len(makers))
	substituting := 0
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
			if _, ok := change.Keys("spec", "postBuild").Get(d.Object()); ok && i == 0 {
				substituting++
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
	variables := ""
	if substituting > 0 {
		variables = fmt.Sprintf("; variables of %s with postBuild are not substituted", plural(substituting, "Kustomization", "Kustomizations"))
	}
	note := source.Diagnostic{At: first, Severity: source.Info, Code: "made-in-cluster"}.
		Saying(source.Messagef("objects that the cluster creates from %s are not evaluated%s", source.Literal(strings.Join(what, ", ")), source.Literal(variables)))
	return []source.Diagnostic{note.With("render them and evaluate the output: preadmit exec -- PROGRAM, with " + source.Alternatives(programs))}
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
