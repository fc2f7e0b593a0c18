package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/mapolicy"
	"github.com/preadmit/preadmit/engine/mutationtree"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// languages is the table of policy languages, in the order in which a cluster runs
// them.
func languages(s settings) []policy.Language {
	return []policy.Language{
		mapolicy.New(s.minor, s.authorizer),
		s.kyverno,
	}
}

// Set is a compiled set of policies with their context. It is safe for concurrent
// use.
type Set struct {
	settings  settings
	languages []policy.Language
	compiled
	schemas *schema.Registry
	// policies and context are the documents given to Compile; old those of the
	// objects before an update.
	policies, context, old []*manifest.Document
	// warnings are those of Compile.
	warnings []source.Diagnostic
}

// compiled is what policies compile to.
type compiled struct {
	programs []policy.Program
	trees    *mutationtree.Program // nil: none
}

// Compile checks and compiles policies, and takes context from both: bindings, params,
// namespaces and CustomResourceDefinitions may be given with either. The documents
// given are not part of any output. The diagnostics are errors, and there is no Set if
// there are any; what calls for a warning only is reported by every Run, as the
// policies among the manifests may make up for it.
func Compile(policies, context []*manifest.Stream, options Options) (*Set, []source.Diagnostic) {
	s, diagnostics := newSet(policies, context, options)
	if s == nil {
		return nil, diagnostics
	}
	var problems []source.Diagnostic
	s.compiled, problems = s.compile(s.policies)
	diagnostics = append(diagnostics, problems...)
	source.Sort(diagnostics)
	if source.HasErrors(diagnostics) {
		return nil, diagnostics
	}
	s.warnings = diagnostics
	return s, nil
}

// newSet makes a set whose policies are not compiled yet. There is none if the options
// are wrong.
func newSet(policies, context []*manifest.Stream, options Options) (*Set, []source.Diagnostic) {
	settings, diagnostics := options.check()
	if source.HasErrors(diagnostics) {
		return nil, diagnostics
	}
	s := &Set{settings: settings, languages: languages(settings), schemas: schema.Builtin().Clone()}
	s.sort(policies)
	s.sort(context)
	s.old = documentsOf(options.Old)
	return s, slices.Concat(s.checkPolicies(policies), s.checkPlain(policies), s.loadSchemas())
}

// sort adds the documents of streams to the policies and the context of the set.
func (s *Set) sort(streams []*manifest.Stream) {
	for _, stream := range streams {
		for _, d := range stream.Documents() {
			if s.isPolicy(d.Kind()) {
				s.policies = append(s.policies, d)
			} else {
				s.context = append(s.context, d)
			}
		}
	}
}

// isPolicy reports whether documents of a kind are policies. Among plain documents, only
// mutation trees are.
func (s *Set) isPolicy(kind gvk.Kind) bool {
	return mutationtree.Claims(kind) || !s.settings.Plain && s.language(kind) >= 0
}

// language is the index of the language that documents of a kind belong to, or -1.
func (s *Set) language(kind gvk.Kind) int {
	for i, l := range s.languages {
		if slices.Contains(l.Kinds(), gvk.Kind{Group: kind.Group, Kind: kind.Kind}) {
			return i
		}
	}
	return -1
}

// compile compiles policy documents, each with its language.
func (s *Set) compile(documents []*manifest.Document) (compiled, []source.Diagnostic) {
	byLanguage := make([][]*manifest.Document, len(s.languages))
	for _, d := range documents {
		if i := s.language(d.Kind()); i >= 0 {
			byLanguage[i] = append(byLanguage[i], d)
		}
	}
	var c compiled
	var diagnostics []source.Diagnostic
	c.trees, diagnostics = s.compileTrees(documents)
	for i, documents := range byLanguage {
		if len(documents) == 0 {
			continue
		}
		program, problems := s.languages[i].Compile(documents)
		c.programs = append(c.programs, program)
		diagnostics = append(diagnostics, problems...)
	}
	return c, diagnostics
}

// loadSchemas adds the user's OpenAPI documents and the CustomResourceDefinitions of
// the context to the schemas.
func (s *Set) loadSchemas() []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, d := range s.settings.OpenAPI {
		if err := s.schemas.AddOpenAPI(d.Data); err != nil {
			diagnostics = append(diagnostics, source.Errorf(source.Position{File: d.Name}, "openapi-invalid", "%v", err).
				With("expected an OpenAPI v3 document in JSON, as `kubectl get --raw /openapi/v3/apis/apps/v1` prints it"))
		}
	}
	for _, d := range s.context {
		diagnostics = append(diagnostics, addDefinition(s.schemas, d, d.Object())...)
	}
	return diagnostics
}

var definitionKind = gvk.Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// addDefinition adds the kinds that a CustomResourceDefinition defines; other
// documents define none.
func addDefinition(schemas *schema.Registry, d *manifest.Document, object map[string]any) []source.Diagnostic {
	if d.Kind() != definitionKind {
		return nil
	}
	var diagnostics []source.Diagnostic
	for _, problem := range schemas.AddCRD(object) {
		diagnostic := source.Errorf(d.At(problem.Path), "crd-invalid", "%s", problem.Text)
		diagnostic.Subject, diagnostic.Field = "CustomResourceDefinition "+d.Name(), problem.Path.String()
		diagnostics = append(diagnostics, diagnostic)
	}
	return diagnostics
}

// NamespaceOf returns the namespace in which a cluster would keep the object of a
// document: that of the options if it names none; empty if it is not in a namespace.
func (s *Set) NamespaceOf(d *manifest.Document) string { return s.placeOf(d, s.schemas).namespace }
