package engine

import (
	ctx "context"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/builtin"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Set is a compiled set of policies with their context. It is safe for concurrent use. A nil Set
// and the zero Set have no policies.
type Set struct {
	settings  settings
	languages []policy.Language
	// kinds are the kinds of each language.
	kinds [][]gvk.Kind
	// programs are the compiled policies, in the order in which a cluster runs them.
	programs []policy.Program
	// readKinds returns the kinds of objects that the programs look up.
	readKinds func() map[gvk.Kind]bool
	// given are all documents given to Compile.
	given []*manifest.Document
	// rules returns a digest of the options. options identifies them: sets that take over what earlier sets
	// with equal options have made have the same.
	rules   func() digest
	options *Options
	schemas *schema.Registry
	// identities returns the known kinds and their apiVersions.
	identities func() identities
	// kept is what was made of documents, also for earlier sets.
	kept *policy.Kept
	// policies and context are the documents given to Compile. old are the objects before an
	// update.
	policies, context, old []*manifest.Document
	// others are documents that were given with the policies but are not policies.
	others []*manifest.Document
	// problems are the errors and warnings of CompileSound. refused are the errors that do not come
	// from compiling.
	problems, refused []source.Diagnostic
	// files says which files of policies and context are secret, and which are public.
	files files
}

// Compile checks and compiles policies. Bindings, params, namespaces and CustomResourceDefinitions
// may be in policies or in context. The documents are not part of any output. If the returned
// diagnostics contain errors, there is no Set. Warnings are reported by every Run instead, because
// policies among the manifests may remove their cause.
func Compile(policies, context []*manifest.Stream, options Options) (*Set, []source.Diagnostic) {
	return compileAll(policies, context, options, nil)
}

// CompileSound is like Compile, but also returns a Set if policies or the context have errors: of
// the policies without errors. Every Run reports the errors and has no output. Check reports them
// and checks the other policies. There is no Set only if the options are wrong.
func CompileSound(policies, context []*manifest.Stream, options Options) (*Set, []source.Diagnostic) {
	return compileSound(policies, context, options, nil)
}

// compileAll is Compile, and takes over what was made of the same policies earlier.
func compileAll(policies, context []*manifest.Stream, options Options, earlier *policy.Kept) (*Set, []source.Diagnostic) {
	s, diagnostics := compileSound(policies, context, options, earlier)
	if s == nil || !source.HasErrors(s.problems) {
		return s, diagnostics
	}
	secrets := &redact.Redactor{}
	learn(secrets, slices.Concat(s.context, s.old))
	s.learnPrivate(secrets, nil)
	return nil, s.files.decide(s.problems, secrets)
}

// compileSound is CompileSound, and takes over what was made of the same policies earlier.
func compileSound(policies, context []*manifest.Stream, options Options, earlier *policy.Kept) (*Set, []source.Diagnostic) {
	s, diagnostics := newSet(policies, context, options, earlier)
	if s == nil {
		return nil, diagnostics
	}
	for _, d := range diagnostics {
		if d.Severity == source.Error {
			s.refused = append(s.refused, d)
		}
	}
	programs, problems := s.compile(slices.Concat(s.policies, s.configuration(s.context)), s.kept)
	s.programs, s.problems = programs, append(diagnostics, problems...)
	s.readKinds = sync.OnceValue(func() map[gvk.Kind]bool { return readKinds(programs) })
	source.Sort(s.problems)
	return s, nil
}

// readKinds returns the kinds of objects that programs look up. It contains AnyKind if the kinds
// are known only when the policies run.
func readKinds(programs []policy.Program) map[gvk.Kind]bool {
	kinds := map[gvk.Kind]bool{namespaceKind: true, definitionKind: true}
	for _, program := range programs {
		for _, read := range program.Reads() {
			kinds[read.Kind] = true
		}
	}
	return kinds
}

// emptySet has no policies.
var emptySet = sync.OnceValue(func() *Set {
	s, _ := Compile(nil, nil, Options{})
	return s
})

// orEmpty returns the set, or a set without policies if s was not made by Compile.
func (s *Set) orEmpty() *Set {
	if s == nil || s.schemas == nil {
		return emptySet()
	}
	return s
}

// Covers reports whether a policy of the set may change a manifest with the kind, the namespace and the
// name of a document, whatever else it contains.
func (s *Set) Covers(d *manifest.Document) bool {
	s = s.orEmpty()
	p := s.placeOf(d, s.schemas)
	request := &policy.Request{
		Context: ctx.Background(), Kind: p.kind, Name: p.name, Namespace: p.ofRequest(),
		Operation: s.settings.options.Operation, User: s.settings.options.User, Schemas: s.schemas,
	}
	return slices.ContainsFunc(s.programs, func(program policy.Program) bool {
		return program.Hook().Point != policy.Validating && program.Covers(request)
	})
}

// KeyNamespaceOf returns the namespace of a document for keys that must not depend on other input.
// For a document without a namespace, it is the namespace of the options if the kind is built in
// and namespaced, and "" otherwise, whatever a CustomResourceDefinition says.
func (s *Set) KeyNamespaceOf(d *manifest.Document) string {
	s = s.orEmpty()
	return s.placeOf(d, schema.BuiltinOf(s.settings.minor)).namespace
}

// IsPolicy reports whether documents of a kind belong to a policy language.
func IsPolicy(kind gvk.Kind) bool { return emptySet().isPolicy(kind) }

// newSet returns a set whose policies are not compiled yet, or nil if the options are wrong. earlier is what
// was made of documents for earlier sets, or nil.
func newSet(policies, context []*manifest.Stream, options Options, earlier *policy.Kept) (*Set, []source.Diagnostic) {
	options, described := options.describedBy(slices.Concat(documentsOf(policies), documentsOf(context)))
	settings, diagnostics := options.check()
	diagnostics = append(described, diagnostics...)
	if source.HasErrors(diagnostics) {
		return nil, diagnostics
	}
	var problems []source.Diagnostic
	before := len(context)
	settings.context, context, problems = unpack(context)
	isUnpacked := len(context) > before
	diagnostics = append(diagnostics, problems...)
	s := speaking(settings)
	if s.kept = policy.NewKept(ctx.Background(), earlier); earlier != nil && !isUnpacked {
		s.speakAs()
	}
	s.files = newFiles(policies, context)
	s.given = slices.Concat(documentsOf(policies), documentsOf(context))
	s.take(policies)
	s.take(context)
	s.old = documentsOf(options.Old)
	schemaProblems := s.loadSchemas() // first, because they decide which documents are policies
	return s, slices.Concat(diagnostics, settings.problems, s.checkPolicies(policies), s.checkPlain(policies), schemaProblems)
}

// unpack extracts the objects from documents of Kyverno's kind Context. The objects are context
// like any other.
func unpack(streams []*manifest.Stream) (*given.Context, []*manifest.Stream, []source.Diagnostic) {
	var packed []*manifest.Document
	for _, d := range documentsOf(streams) {
		if given.IsContext(d.Kind()) {
			packed = append(packed, d)
		}
	}
	context, diagnostics := given.ReadContext(packed)
	for _, object := range context.Resources {
		stream, problems := manifest.Read(object.Name, manifest.JSON(object.Value))
		if slices.ContainsFunc(packed, isSensitiveDocument) {
			stream.MarkSensitive()
		}
		streams, diagnostics = append(streams[:len(streams):len(streams)], stream), append(diagnostics, problems...)
	}
	return context, streams, diagnostics
}

func isSensitiveDocument(d *manifest.Document) bool { return d.Stream().Sensitive() }

// take adds the documents of streams to the policies and the context of the set.
func (s *Set) take(streams []*manifest.Stream) {
	for _, d := range documentsOf(streams) {
		switch {
		case s.isPolicy(d.Kind()):
			s.policies = append(s.policies, d)
		case d.Kind() == ClusterKind: // it describes the options
		case !given.IsContext(d.Kind()):
			s.context = append(s.context, d)
		}
	}
}

// configuration returns the documents that configure languages.
func (s *Set) configuration(documents []*manifest.Document) []*manifest.Document {
	if s.settings.options.Plain {
		return nil
	}
	var found []*manifest.Document
	for _, d := range documents {
		if len(s.owners(d)) > 0 || builtin.IsConfig(d.Kind()) {
			found = append(found, d)
		}
	}
	return found
}

// compile compiles policy documents and the documents that configure them, each with its language.
// The programs are in the order in which a cluster runs them.
func (s *Set) compile(documents []*manifest.Document, kept *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	byLanguage := make([][]*manifest.Document, len(s.languages))
	for _, d := range documents {
		for _, i := range s.owners(d) {
			byLanguage[i] = append(byLanguage[i], d)
		}
	}
	config, diagnostics := builtin.ReadConfig(documents)
	programs := builtin.Programs(s.settings.plugins, s.settings.minor, config)
	for i, documents := range byLanguage {
		if len(documents) == 0 && (i > 0 || len(s.settings.options.Trees) == 0) {
			continue
		}
		compiled, problems := s.languages[i].Compile(documents, kept)
		programs = append(programs, compiled...)
		diagnostics = append(diagnostics, problems...)
	}
	programs = withoutTwins(programs)
	slices.SortStableFunc(programs, func(a, b policy.Program) int { return a.Hook().Compare(b.Hook()) })
	return programs, diagnostics
}

// checkPlain reports policies that need Kubernetes objects, if the documents are plain.
func (s *Set) checkPlain(policies []*manifest.Stream) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, d := range documentsOf(policies) {
		if s.settings.options.Plain && s.language(d.Kind()) >= 0 && !s.isPolicy(d.Kind()) {
			diagnostics = append(diagnostics, source.Errorf(d.At(nil), "policy-for-plain", "policies of kind %s work only on Kubernetes objects, not on plain documents", source.Name(d.Kind().Kind)).
				With("remove the policy, or the option plain"))
		}
	}
	return diagnostics
}

// defined are schemas with what was added to them, and the problems of that: of each definition, and of others.
type defined struct {
	schemas  *schema.Registry
	problems [][]source.Diagnostic
	others   []source.Diagnostic
}

// schemasFrom identifies the schemas that definitions define beside others, which are nil for those of
// the options.
type schemasFrom struct {
	options *Options
	others  *schema.Registry
}

// loadSchemas loads the schemas: those of the options, and of the CustomResourceDefinitions of the context.
func (s *Set) loadSchemas() []source.Diagnostic {
	definitions := slices.DeleteFunc(slices.Clone(s.context), func(d *manifest.Document) bool { return d.Kind() != definitionKind })
	loaded := policy.Keep(s.kept, schemasFrom{options: s.options}, definitions, func() defined {
		schemas := schema.BuiltinOf(s.settings.minor).Clone()
		others := addOpenAPI(schemas, s.settings.options.OpenAPI)
		loaded := defineAll(schemas, definitions)
		loaded.others = others
		return loaded
	})
	s.schemas = loaded.schemas
	return slices.Concat(loaded.others, slices.Concat(loaded.problems...))
}

// addOpenAPI adds the user's OpenAPI documents to schemas.
func addOpenAPI(schemas *schema.Registry, documents []OpenAPIDocument) (diagnostics []source.Diagnostic) {
	for _, d := range documents {
		if err := schemas.AddOpenAPI(d.Data); err != nil {
			diagnostics = append(diagnostics, source.Errorf(source.Position{File: d.Name}, "openapi-invalid", "%v", err).
				With("expected an OpenAPI v3 document in JSON, as `kubectl get --raw /openapi/v3/apis/apps/v1` prints it"))
		}
	}
	return diagnostics
}

// defineAll adds the kinds of CustomResourceDefinitions to schemas.
func defineAll(schemas *schema.Registry, definitions []*manifest.Document) defined {
	all := defined{schemas: schemas}
	for _, d := range definitions {
		all.problems = append(all.problems, define(schemas, d, d.Object()))
	}
	return all
}

var definitionKind = gvk.Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// define adds the kinds that a CustomResourceDefinition defines. object is the current content of
// the document.
func define(schemas *schema.Registry, d *manifest.Document, object map[string]any) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, problem := range schemas.AddCRD(object) {
		diagnostic := source.Errorf(d.At(problem.Path), "crd-invalid", "%s", problem.Text)
		diagnostic.Subject, diagnostic.Field = "CustomResourceDefinition "+d.Name(), problem.Path.String()
		diagnostics = append(diagnostics, diagnostic)
	}
	return diagnostics
}
