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

// makers are kinds of which programs in the cluster make other objects.
// program prints what these make.
var makers = []struct{ group, kind, one, many, program string }{
	{"kustomize.toolkit.fluxcd.io", "Kustomization", "Kustomization of Flux", "Kustomizations of Flux", "flux build kustomization"},
	{"helm.toolkit.fluxcd.io", "HelmRelease", "HelmRelease of Flux", "HelmReleases of Flux", "helm template"},
	{"argoproj.io", "Application", "Application of Argo CD", "Applications of Argo CD", "argocd app manifests"},
	{"argoproj.io", "ApplicationSet", "ApplicationSet of Argo CD", "ApplicationSets of Argo CD", "argocd app manifests"},
}

// tellUnseen says which manifests have other objects made in the cluster, which policies
// change there but not here.
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
	note := source.Diagnostic{
		At: first, Severity: source.Info, Code: "made-in-cluster",
		Message: "what the cluster makes of " + strings.Join(what, ", ") + " is not seen here",
	}
	if substituting > 0 {
		note.Message += fmt.Sprintf("; %s variables in what they build (postBuild), which is not done", plural(substituting, "Kustomization substitutes", "Kustomizations substitute"))
	}
	return []source.Diagnostic{note.With("render it, and give what comes out: preadmit exec -- PROGRAM, with " + source.Alternatives(programs))}
}

func makerOf(kind gvk.Kind) int {
	for i, m := range makers {
		if m.group == kind.Group && m.kind == kind.Kind {
			return i
		}
	}
	return -1
}

// adviseVariables says of errors at lines with variables what puts their values there: Flux
// does, after kustomize.
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
			diagnostics[i].Advice = "the line has a variable, as Flux substitutes them (postBuild): give what comes out, as in: preadmit exec -- flux build kustomization NAME"
		}
	}
}
