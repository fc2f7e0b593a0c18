package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/builtin"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/dns"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/validation"
	"github.com/preadmit/preadmit/engine/internal/webhook"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Options describe the cluster and the request. The zero value has the default of every option.
type Options struct {
	// KubernetesVersion is the version of the cluster, "1.34" to "1.37". The default is
	// DefaultKubernetesVersion. A patch version is ignored.
	KubernetesVersion string
	// KyvernoVersion is the version of Kyverno in the cluster. The default, and the only known
	// version, is DefaultKyvernoVersion.
	KyvernoVersion string
	// OpenAPI are OpenAPI v3 documents of the cluster, as served under /openapi/v3.
	OpenAPI []OpenAPIDocument
	// Namespace is the namespace of manifests without one. The default is "default".
	Namespace string
	// Operation is policy.Create (the default) or policy.Update.
	Operation policy.Operation
	// Trees are mutation trees, read with manifest.ReadTrees. Every document is a tree, and applies
	// to all manifests.
	Trees []*manifest.Stream
	// Plain means that the manifests are arbitrary objects, not Kubernetes objects, read with
	// manifest.ReadPlain. Only mutation trees change them.
	Plain bool
	// Old are the objects before an UPDATE.
	Old []*manifest.Stream
	// DryRun is request.dryRun.
	DryRun bool
	// User is request.userInfo.
	User policy.User
	// Authorizer is the answer to expressions that ask the authorizer. By default, such an
	// expression fails.
	Authorizer Authorizer
	// Defaulting says whether policies see the object with the defaults of the API, as on a server.
	// The default is DefaultingOn.
	Defaulting Defaulting
	// NonIdempotent says what happens if policies would change their own output again. The default
	// is NonIdempotentWarn.
	NonIdempotent NonIdempotent
	// Validation says what happens to objects that a server would refuse after mutating admission.
	// The default is ValidationDeny.
	Validation Validation
	// FieldValidation says what happens to objects with fields that their kind does not have. The
	// default is FieldValidationWarn, or FieldValidationStrict if Strict is set.
	FieldValidation FieldValidation
	// Strict turns warnings into errors if they mean that preadmit cannot tell what a cluster would
	// do. The catalogue of package source marks these warnings as Unsure.
	Strict bool
	// PerDirectory evaluates each directory of manifests separately. Policies among the manifests,
	// and objects that policies look up, apply only in their directory.
	PerDirectory bool
	// Normalize also writes the values of manifests in the form in which a server stores them: see
	// admission.Normalize. WriteNamespace adds the namespace to namespaced manifests without one.
	Normalize, WriteNamespace bool
	// OmitNulls means that the client that applies the manifests sends no null, neither in maps nor in
	// lists, like Terraform's kubernetes_manifest. Policies do not see them, and the output has none.
	OmitNulls bool
	// AdmissionPlugins are the names of the admission plug-ins that the server runs. "default"
	// means the plug-ins of a stock server, and "none" no plug-ins, which is the default.
	AdmissionPlugins []string
	// Values are documents of kind Values, in the form of Kyverno's command line. They give data
	// that Kyverno's rules need from a cluster. UserInfo are documents of kind UserInfo. They give
	// the fields of the user that User leaves empty.
	Values, UserInfo []*manifest.Stream
	// Webhooks answers the calls of mutating webhooks. WebhookAnswers are documents of kind
	// WebhookAnswers with recorded answers, which answer for the webhooks that they name. The changes
	// of other webhooks are not predicted.
	Webhooks       policy.Answerer
	WebhookAnswers []*manifest.Stream
}

// Authorizer is the answer to every question that an expression asks the authorizer.
type Authorizer string

// The answers of the authorizer.
const (
	AuthorizerAllow Authorizer = "allow"
	AuthorizerDeny  Authorizer = "deny"
)

// Defaulting says whether policies see the defaults of the API.
type Defaulting string

// The choices of Defaulting.
const (
	DefaultingOn  Defaulting = "on"
	DefaultingOff Defaulting = "off"
)

// NonIdempotent says what happens if policies would change their own output again.
type NonIdempotent string

// The choices of NonIdempotent: an error, a warning, or no replay to check.
const (
	NonIdempotentFail NonIdempotent = "fail"
	NonIdempotentWarn NonIdempotent = "warn"
	NonIdempotentSkip NonIdempotent = "skip"
)

// Validation says what happens to objects that a server would refuse after mutating admission.
type Validation string

// The choices of Validation: an error, a warning, or no validation.
const (
	ValidationDeny Validation = "deny"
	ValidationWarn Validation = "warn"
	ValidationOff  Validation = "off"
)

// FieldValidation says what happens to objects with fields that their kind does not have, as the
// parameter fieldValidation of a request does.
type FieldValidation string

// The choices of FieldValidation: the object is refused, there is a warning for each field, or nothing
// is said.
const (
	FieldValidationStrict FieldValidation = "strict"
	FieldValidationWarn   FieldValidation = "warn"
	FieldValidationIgnore FieldValidation = "ignore"
)

// OpenAPIDocument is an OpenAPI document with the name of its file.
type OpenAPIDocument struct {
	Name string
	Data []byte
}

// DefaultKubernetesVersion is the version of Kubernetes if the options have none.
const DefaultKubernetesVersion = "1.36"

// DefaultKyvernoVersion is the version of Kyverno if the options have none.
const DefaultKyvernoVersion = "1.19"

// settings are the checked options, with defaults filled in.
type settings struct {
	options    Options
	minor      int
	authorizer celenv.Authorizer
	kyverno    *kyverno.Language
	validation *validation.Server
	// values and context are the parsed Values and Context documents.
	values  *given.Values
	context *given.Context
	// plugins are the names of the plug-ins that the server runs.
	plugins []string
	// answerer answers for webhooks.
	answerer answerers
	// problems are the diagnostics of the values, the user info and the recorded answers.
	problems []source.Diagnostic
}

func (o Options) check() (settings, []source.Diagnostic) {
	s := settings{options: o}
	if o.Strict && o.FieldValidation == "" {
		s.options.FieldValidation = FieldValidationStrict
	}
	diagnostics := slices.Concat(
		choose("operation", &s.options.Operation, policy.Create, policy.Update),
		choose("kyverno-version", &s.options.KyvernoVersion, DefaultKyvernoVersion),
		choose("defaulting", &s.options.Defaulting, DefaultingOn, DefaultingOff),
		choose("non-idempotent", &s.options.NonIdempotent, NonIdempotentWarn, NonIdempotentFail, NonIdempotentSkip),
		choose("validation", &s.options.Validation, ValidationDeny, ValidationWarn, ValidationOff),
		choose("field-validation", &s.options.FieldValidation, FieldValidationWarn, FieldValidationStrict, FieldValidationIgnore))
	if s.options.Authorizer != "" {
		diagnostics = append(diagnostics, choose("authorizer", &s.options.Authorizer, AuthorizerAllow, AuthorizerDeny)...)
		s.authorizer = map[Authorizer]celenv.Authorizer{AuthorizerAllow: celenv.AllowAll, AuthorizerDeny: celenv.DenyAll}[s.options.Authorizer]
	}
	if s.options.Namespace == "" {
		s.options.Namespace = "default"
	}
	if faults := dns.Label(s.options.Namespace); len(faults) > 0 {
		diagnostics = append(diagnostics, source.Errorf(source.Position{}, "option-value", "option namespace: %q is not the name of a namespace: %s", s.options.Namespace, source.Literal(faults[0])))
	}
	if s.options.KubernetesVersion == "" {
		s.options.KubernetesVersion = DefaultKubernetesVersion
	}
	var ok bool
	if s.minor, ok = minorVersion(s.options.KubernetesVersion); !ok {
		diagnostics = append(diagnostics, source.Errorf(source.Position{}, "option-value", "option kubernetes-version: %q is not a known version", s.options.KubernetesVersion).
			With("expected "+KnownKubernetesVersions()))
	}
	plugins, unknown := pluginNames(s.options.AdmissionPlugins, s.minor)
	s.plugins = plugins
	diagnostics = append(diagnostics, unknown...)
	s.read()
	s.validation = validation.New(s.minor)
	return s, diagnostics
}

// read reads the documents of the options.
func (s *settings) read() {
	o := &s.options
	values, problems := given.ReadValues(documentsOf(o.Values))
	user, more := given.ReadUserInfo(documentsOf(o.UserInfo))
	recorded, others := webhook.ReadAnswers(documentsOf(o.WebhookAnswers))
	s.values, s.problems = values, slices.Concat(problems, more, others)
	s.answerer = answerers{o.Webhooks, recorded}
	s.kyverno = kyverno.New(s.values, user, o.Namespace, s.minor)
	o.User = user.Complete(o.User)
}

// choose sets an option to its default, the first allowed value, if it is empty. It reports a value
// that is not allowed.
func choose[T ~string](option string, value *T, allowed ...T) []source.Diagnostic {
	if *value == "" {
		*value = allowed[0]
	}
	if slices.Contains(allowed, *value) {
		return nil
	}
	var expected []string
	for _, v := range allowed {
		expected = append(expected, string(v))
	}
	return []source.Diagnostic{source.Errorf(source.Position{}, "option-value", "option %s: %q is not a valid value", option, *value).
		With("expected " + strings.Join(expected, ", "))}
}

// pluginNames resolves the names of admission plug-ins.
func pluginNames(given []string, minor int) (names []string, diagnostics []source.Diagnostic) {
	for _, name := range given {
		switch {
		case name == "none":
		case name == "default":
			names = append(names, builtin.Default(minor)...)
		case slices.Contains(builtin.Names(), name):
			names = append(names, name)
		default:
			diagnostics = append(diagnostics, source.Errorf(source.Position{}, "option-value", "option admission-plugins: %q is not a known admission plug-in", name).
				With("expected none, default, or any of "+strings.Join(builtin.Names(), ", ")))
		}
	}
	return names, diagnostics
}

func documentsOf(streams []*manifest.Stream) []*manifest.Document {
	var documents []*manifest.Document
	for _, stream := range streams {
		if stream != nil {
			documents = append(documents, stream.Documents()...)
		}
	}
	return documents
}

// KnownKubernetesVersions returns the known versions of Kubernetes as text: "1.34 to 1.37".
func KnownKubernetesVersions() string {
	return fmt.Sprintf("1.%d to 1.%d", release.Oldest, release.Newest)
}

// KnowsKubernetesVersion reports whether a version of Kubernetes is known.
func KnowsKubernetesVersion(version string) bool {
	_, ok := minorVersion(version)
	return ok
}

// NearestKubernetesVersion returns the known version that is nearest to an unknown one, or "" if
// version is not a version.
func NearestKubernetesVersion(version string) string {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return ""
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return ""
	}
	return fmt.Sprintf("1.%d", min(max(minor, release.Oldest), release.Newest))
}

// minorVersion parses "1.36", "v1.36" or "1.36.3".
func minorVersion(version string) (int, bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0, false
	}
	minor, err := strconv.Atoi(parts[1])
	return minor, err == nil && minor >= release.Oldest && minor <= release.Newest
}

// defaulting returns the defaulting that the option selects.
func (s *settings) defaulting() defaulting {
	if s.options.Defaulting == DefaultingOff {
		return asWritten
	}
	d := completing
	if s.options.Validation != ValidationOff {
		d.validation = s.validation
	}
	return d
}
