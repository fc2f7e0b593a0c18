// Package policy is the contract between the engine and the policy languages. A Language compiles
// documents to Programs. A Program has the Hook at which a server runs it. For one request, it
// plans the Invocations that match the request. An Invocation yields Steps. Each Step is a new
// value of the object. Languages only compute values. The engine compares the values, attributes
// changes to policies, and edits manifests.
//
// The files in order: policy.go (the contract), kept.go (what later runs take over), webhook.go (who answers for
// webhooks), read.go (what policies look up), targets.go (objects that policies change after an admission),
// request.go (the object and context of a request), attributes.go (the attributes of the request, and match
// blocks), lookup.go (lookup of other objects), node.go (values in policies, with positions).
package policy

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// ID identifies the author of a change: a rule of a policy, with the binding and param through
// which the policy applies.
type ID struct {
	// Kind is the kind of the policy. Policies of several kinds may have the same name.
	Kind string
	// Policy, Binding and Param are the names of the policy, the binding and the param
	// ("namespace/name", or "name" if the param is cluster-scoped). Binding and Param may be empty.
	Policy, Binding, Param string
	// Rule is the part of the policy, for instance "mutations[0]". It is empty for the whole
	// policy.
	Rule string
	// Instance says which run of the rule it is, if the rule can run more than once on an object:
	// for an element of a foreach, for a trigger, or in a later round. It is empty otherwise.
	Instance string
	// Plugin is the name of an admission plug-in that is part of the server. All other fields are
	// empty in that case.
	Plugin string
}

// String returns the ID for people: "policy p, binding b, param ns/n, mutations[0]".
func (id ID) String() string {
	switch {
	case id.Plugin != "":
		return "admission plug-in " + id.Plugin
	case id.Kind == WebhookKind:
		return strings.TrimSpace("webhook " + id.Rule + " of " + id.Policy)
	}
	var b strings.Builder
	b.WriteString("policy " + id.Policy)
	if id.Binding != "" {
		b.WriteString(", binding " + id.Binding)
	}
	if id.Param != "" {
		b.WriteString(", param " + id.Param)
	}
	if id.Rule != "" {
		b.WriteString(", " + id.Part())
	}
	return b.String()
}

// Part returns the rule with its instance: "rule r, foreach[0].list[1]".
func (id ID) Part() string {
	if id.Instance == "" {
		return id.Rule
	}
	return id.Rule + ", " + id.Instance
}

// OfPolicy returns the ID of the whole policy.
func (id ID) OfPolicy() ID { return ID{Kind: id.Kind, Policy: id.Policy} }

// OfBinding returns the ID of the policy through one binding, with all its params.
func (id ID) OfBinding() ID { return ID{Kind: id.Kind, Policy: id.Policy, Binding: id.Binding} }

// OfRule returns the ID of the rule in all its instances, through all bindings and params.
func (id ID) OfRule() ID { return ID{Kind: id.Kind, Policy: id.Policy, Rule: id.Rule} }

// Wholes yields the ID itself, and then what it is part of: the rule in all its instances, the policy
// through one param, through one binding, and the whole policy.
func (id ID) Wholes() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		for _, part := range []*string{nil, &id.Instance, &id.Rule, &id.Param, &id.Binding} {
			if part != nil {
				*part = ""
			}
			if !yield(id) {
				return
			}
		}
	}
}

// Names returns the names of policies for a table: with the kind if several of them share a name.
func Names(ids iter.Seq[ID]) map[ID]string {
	kinds := map[string]map[string]bool{}
	for id := range ids {
		if kinds[id.Policy] == nil {
			kinds[id.Policy] = map[string]bool{}
		}
		kinds[id.Policy][id.Kind] = true
	}
	names := map[ID]string{}
	for name, of := range kinds {
		for kind := range of {
			id := ID{Kind: kind, Policy: name}
			names[id] = name
			if len(of) > 1 {
				names[id] += " (" + kind + ")"
			}
		}
	}
	return names
}

// IsIdentity implements source.Identifier.
func (ID) IsIdentity() {}

// Language is a language for mutating policies.
type Language interface {
	// Kinds returns the kinds of documents in the language, without versions. Compile reports
	// unknown versions.
	Kinds() []gvk.Kind
	// Compile checks and compiles all documents of the language. It returns one Program for each
	// hook of its policies. If a diagnostic is an error, the Programs must not be used. It may keep what it
	// makes of single documents.
	Compile(documents []*manifest.Document, kept *Kept) ([]Program, []source.Diagnostic)
}

// Configured is a Language that is configured by other objects of a cluster. Compile gets these
// objects among its documents, as they are written.
type Configured interface {
	Configures(d *manifest.Document) bool
}

// Program is the compiled policies of one hook. It is safe for concurrent use.
type Program interface {
	// Hook returns when and how a server runs the policies.
	Hook() Hook
	// Covers reports whether any policy may match the request. It does not look at the object. If
	// no policy matches, Plan returns the reasons, and does not look at the object either.
	Covers(r *Request) bool
	// Plan returns the invocations that apply to the request, judged by the object before the pass.
	Plan(r *Request) Plan
	// Reads returns what the policies look up, such as params. The kind is AnyKind if it is known
	// only when the policies run.
	Reads() []Read
	// Selects returns the kinds or resources that the policies name literally. The engine warns
	// about unknown names.
	Selects() []Selected
	// Check finds mistakes that a server accepts, for the kinds that the policies match. It may keep what it
	// finds in single policies.
	Check(schemas *schema.Registry, kept *Kept) []source.Diagnostic
	// Parts returns the parts of the policies whose coverage is measured.
	Parts() []Part
	// Existing returns the policies that change other objects after a request has been admitted, or
	// nil.
	Existing() Follower
}

// Divisible is a Program whose mutations can run without each other, although one that fails may keep a server
// from running those after it.
type Divisible interface {
	// Alone returns programs of which the first has only the first mutation of each policy, the second only
	// the second one, and so on.
	Alone() []Program
}

// Selected is a kind or a resource that a policy names. Either Resource, in the plural, or Kind is
// set. Each part may have the wildcards * and ?.
type Selected struct {
	ID                             ID
	At                             source.Position
	Group, Version, Resource, Kind string
	Purpose                        Purpose
	// GroupIn, VersionIn and NameIn are scalars that have a part of the name each. Without them, the parts are at At.
	GroupIn, VersionIn, NameIn source.Extent
}

// Purpose is what a policy names a kind for.
type Purpose int

// The purposes: to match objects of requests, to exclude them, to look up params, to change other objects,
// or to bind the policy to some of the objects that it matches.
const (
	ToMatch Purpose = iota
	ToExclude
	ToLookUp
	ToChange
	ToBind
)

// Part is a part of a policy whose coverage is measured.
type Part struct {
	// Policy is the ID of the whole policy.
	Policy ID
	Kind   PartKind
	// Name identifies the part in its policy, as in mutations[0].
	Name string
	At   source.Position
	// Rules are the rules of the policy that the part consists of. The part has run if a step of
	// one of them had a result or failed. Other parts report with Ran whether they have run.
	Rules []string
	Ran   bool
}

// PartKind is the type of a Part.
type PartKind string

// The kinds of parts. A condition has run if it was true. A branch has run if its side of a ? : was
// evaluated.
const (
	MutationPart   PartKind = "mutation"
	ValidationPart PartKind = "validation"
	ConditionPart  PartKind = "condition"
	BranchPart     PartKind = "branch"
)

// AnyKind matches all kinds.
var AnyKind = gvk.Kind{Kind: "*"}

// Hook describes how a server runs a Program.
type Hook struct {
	Point Point
	// Configuration is the name of the MutatingWebhookConfiguration of a webhook. Servers call
	// configurations in the order of their names.
	Configuration string
	// Order is the position among the hooks with the same Point and Configuration.
	Order int
	// Reinvocation says whether a webhook is called again if the object has changed after its call.
	// For policies inside the server, Invocation decides.
	Reinvocation Reinvocation
	// Shuffled means that a server runs the invocations, or the policies of a Shuffler, in random
	// order.
	Shuffled bool
	// Sequence is a clause, for people, about the order in which the policies run; "" if they run in
	// any order.
	Sequence string
}

// Compare orders hooks as a server runs them.
func (h Hook) Compare(other Hook) int {
	return cmp.Or(cmp.Compare(h.Point, other.Point), cmp.Compare(h.Configuration, other.Configuration), cmp.Compare(h.Order, other.Order))
}

// Point is a stage of a request in a server.
type Point int

// The points, in order.
const (
	// BeforeAdmission is before the object reaches the server. Policies see the object as it is
	// written.
	BeforeAdmission Point = iota
	// BuiltIn is the stage of the admission plug-ins that are part of the server. The server does
	// not default the object again after them.
	BuiltIn
	// InServer is the mutating admission inside the server. The object is defaulted again after
	// every step.
	InServer
	// Webhook is a mutating webhook. The object is defaulted again after the last step.
	Webhook
	// Validating is the stage after all changes of all passes, which accepts or refuses the object.
	Validating
)

// Reinvocation is the reinvocationPolicy of a webhook.
type Reinvocation int

// The reinvocation policies.
const (
	Never Reinvocation = iota
	IfNeeded
)

// Plan is the list of invocations of a Program in one pass over an object, in order.
type Plan struct {
	Invocations []Invocation
	NotApplied  []NotApplied
	// Failures come before the failures of the invocations.
	Failures []Failure
	// Uncalled means that a server does not call the webhook. It does not call it again, either, if
	// the object changes afterwards.
	Uncalled bool
}

// Shuffler is an Invocation that runs several policies, which a server runs in random order.
type Shuffler interface {
	// Shuffled returns the policies that may apply to a request.
	Shuffled(r *Request) []ID
	// InOrder returns the invocation with its policies in the order of a function, as far as a
	// server may run them in this order.
	InOrder(compare func(a, b ID) int) Invocation
}

// Invocation is the application of one policy, through one binding and param, to one request.
type Invocation interface {
	ID() ID
	// Reinvocable reports whether the invocation wants to run again if a later invocation has
	// changed the object. It applies only inside the server.
	Reinvocable() bool
	// Conditions evaluates the policy's conditions on the current object. The steps of the
	// invocation run if both results are nil.
	Conditions(r *Request) (*NotApplied, *Failure)
	// Deny returns an error that the engine finds in the result of a step as a Failure of the
	// invocation.
	Deny(err error) Failure
	// Steps yields the results of the policy's rules in order. The engine replaces r.Object between
	// two steps. A failed step does not end the sequence.
	Steps(r *Request) iter.Seq[Step]
}

// Witness is an Invocation that says why it accepts or refuses an object.
type Witness interface {
	// Evidence evaluates a rule again, or the whole invocation if the rule is "", and returns what it
	// reads. The request is the one on which the invocation has run.
	Evidence(r *Request, rule string) Evidence
}

// Evidence is what a rule reads of a request.
type Evidence struct {
	// Expression is the expression of the rule, or "".
	Expression string
	Reads      []celenv.Read
}

// Step is the result of one rule.
type Step struct {
	ID ID
	// At is the position of the rule.
	At source.Position
	// Object is the object after the rule. It is nil if Failure or NotApplied is set. It shares the
	// unchanged parts with the object before the rule.
	Object     map[string]any
	NotApplied *NotApplied
	Failure    *Failure
	// Warnings and Annotations are what a policy says about an object besides changing or refusing it.
	Warnings    []source.Span
	Annotations []Annotation
	// Replay says what to do if the rule would change its own output again: "fail", "warn" or
	// "skip". If it is empty, the option of the run decides.
	Replay string
	// Variables is how many variables of the policy the rule has evaluated.
	Variables int
	// Took is the duration of the step, if it was measured.
	Took time.Duration
}

// Annotation is an annotation of the audit event of a request.
type Annotation struct {
	Key, Value string
	// Rule is the part of the policy that gives the value, or "". At is its position.
	Rule string
	At   source.Position
	// Origin is that of the value. Shown is the value as it may be printed; the engine sets it.
	Origin source.Origin
	Shown  string
	// Combine says what becomes of several values for one key.
	Combine Combine
}

// Combine is a way to combine the values of an Annotation.
type Combine int

// The ways: the first value is kept, all distinct values are joined with commas, or the values are
// lists in JSON and become one list.
const (
	KeepFirst Combine = iota
	JoinValues
	JoinLists
)

// NotApplied says why a policy or a rule was not applied to the object.
type NotApplied struct {
	ID ID
	At source.Position
	// Reason is a clause in the terms of Kubernetes, like "matchConditions[0] "x" is false". It is
	// formatted only when it is printed.
	Reason fmt.Stringer
}

// Text is a Reason that is already text.
type Text string

// String implements fmt.Stringer.
func (t Text) String() string { return string(t) }

// Failure is an error of a policy.
type Failure struct {
	ID ID
	At source.Position
	// Err has the words with which an API server denies the request.
	Err error
	// Ignored means that the policy ignores its failures (failurePolicy Ignore).
	Ignored bool
	// Abort means that the server ends the request at once, whatever the failurePolicy.
	Abort bool
	// Status is the reason of the server's answer, if it is not the usual one: Forbidden, Invalid or
	// RequestEntityTooLarge.
	Status string
	// Advice says what to do if the server's words do not.
	Advice string
	// Fixes are changes of files after which the policy does not fail in this way.
	Fixes []source.Fix
	// Missing is the ID of an object without which the policy fails, or "".
	Missing string
}

// Errorf returns an error about what the policy does to a manifest. Its message is that of
// source.Messagef.
func (f Failure) Errorf(code, format string, args ...any) source.Diagnostic {
	return source.Errorf(source.Position{}, code, format, args...).Naming(f.At, f.ID.String())
}

// FalseError is the message of a validation that is false. Any other error of a validating policy says
// that the policy failed.
type FalseError string

// Error implements error.
func (e FalseError) Error() string { return string(e) }

// Causes are the errors of several conditions, each of which lets a policy fail, in the form in which a server
// joins them.
type Causes []string

// Error implements error.
func (c Causes) Error() string {
	if len(c) == 1 {
		return c[0]
	}
	return "[" + strings.Join(c, ", ") + "]"
}

// UnconvertedError says that a policy asks for an object in a version to which only a cluster
// converts it.
type UnconvertedError struct{ From, To *schema.Kind }

// Error implements error.
func (e *UnconvertedError) Error() string {
	return fmt.Sprintf("the policy asks for a %s of %s, and only a cluster converts %s to it", e.To.Kind.Kind, e.To.APIVersion(), e.From.APIVersion())
}

// Varying is a Program whose server gives different results in different runs.
type Varying interface {
	// Varying returns what varies in the results of a rule.
	Varying(id ID) []source.Diagnostic
}

// Follower has the policies that change other objects after a request has been admitted.
type Follower interface {
	// Triggers reports whether any of these policies may match the request. It does not look at the
	// object.
	Triggers(r *Request) bool
	// Follow yields the steps that policies make on the targets for the object of the request. Each
	// step sees the results of the steps before it.
	Follow(r *Request, targets *Targets) iter.Seq[Followed]
}

// Target is an object that a Follower may change.
type Target struct {
	Kind            *schema.Kind
	Namespace, Name string
	Object          map[string]any
}

// Followed is a step on the target with an index, or on no target if the index is negative.
type Followed struct {
	Target int
	Step   Step
}
