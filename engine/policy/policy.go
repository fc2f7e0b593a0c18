// Package policy is the contract between the engine and the policy languages. A Language
// compiles documents to Programs. A Program has the Hook at which a server runs it, and plans,
// for one request, the Invocations that match the request. An Invocation yields Steps; each
// Step is a new value of the object. Languages compute values only. The engine alone compares
// them, finds out who changed what, and edits manifests.
//
// The files in order: policy.go (the contract), request.go (what policies see),
// attributes.go (what they are told of the request), lookup.go (what they look up), node.go
// (the values in their documents, with positions).
package policy

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// ID names what changes objects: a rule of a policy, and what brought it to the
// object.
type ID struct {
	// Policy is the name of the policy, Binding that of the binding and Param that
	// of the param ("namespace/name", or "name" if it is cluster-scoped); the last
	// two are empty where there are none.
	Policy, Binding, Param string
	// Rule is the part of the policy, for instance "mutations[0]"; empty for the
	// whole policy.
	Rule string
	// Plugin is the name of an admission plug-in that is part of the server; all else is
	// empty then.
	Plugin string
}

// String prints the ID for people: "policy p, binding b, param ns/n, mutations[0]".
func (id ID) String() string {
	if id.Plugin != "" {
		return "admission plug-in " + id.Plugin
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
		b.WriteString(", " + id.Rule)
	}
	return b.String()
}

// Language is one language that mutating policies are written in.
type Language interface {
	// Kinds are the kinds of documents that belong to the language, without versions:
	// Compile reports those that it does not know.
	Kinds() []gvk.Kind
	// Compile checks and compiles all documents of the language: one Program for each
	// hook that its policies belong to. If any diagnostic is an error, the Programs must
	// not be used.
	Compile(documents []*manifest.Document) ([]Program, []source.Diagnostic)
}

// Configured is a Language that objects of a cluster configure, besides its policies.
// Compile takes them among its documents, as they are written, whatever else they are.
type Configured interface {
	Configures(d *manifest.Document) bool
}

// Program is the compiled policies of one hook. It is safe for concurrent use.
type Program interface {
	// Hook says when and how a server runs the policies.
	Hook() Hook
	// Covers reports whether any policy may be about the request, judged without its
	// object. If none is, Plan still says why not, and looks at no object either.
	Covers(r *Request) bool
	// Plan finds what applies to the request, on the object as it is before the
	// pass.
	Plan(r *Request) Plan
	// Reads are the kinds of objects that the policies look up: params, for instance.
	// AnyKind is among them if only the policies know when they run.
	Reads() []gvk.Kind
	// Selects are the kinds or resources that the policies name, as far as they are
	// written out. The engine tells those that are not known.
	Selects() []Selected
	// Check finds mistakes in the policies that a server accepts, for the kinds that they
	// are about.
	Check(schemas *schema.Registry) []source.Diagnostic
	// Parts are the pieces of the policies that may have run, or not yet.
	Parts() []Part
	// Existing returns the policies that change other objects once a request has been
	// admitted; nil if there are none.
	Existing() Follower
}

// Selected is a kind or a resource that a policy names: either Resource, in the plural, or
// Kind is set. Each part may have the wildcards * and ?.
type Selected struct {
	ID                             ID
	At                             source.Position
	Group, Version, Resource, Kind string
}

// Part is a piece of a policy, for who wants to know what has run.
type Part struct {
	Policy string
	Kind   PartKind
	// Name says which one it is, as in mutations[0].
	Name string
	At   source.Position
	// Rules are the rules of the policy that it is: it has run if a step of one of them
	// had a result, or failed. Others say themselves, by Ran.
	Rules []string
	Ran   bool
}

// PartKind is what a Part is.
type PartKind string

// The kinds of parts. A condition has run if it was true, a branch if that side of a ? :
// was evaluated.
const (
	MutationPart  PartKind = "mutation"
	ConditionPart PartKind = "condition"
	BranchPart    PartKind = "branch"
)

// AnyKind stands for all kinds.
var AnyKind = gvk.Kind{Kind: "*"}

// Hook describes how a server runs a Program.
type Hook struct {
	Point Point
	// Configuration is the name of a webhook's MutatingWebhookConfiguration. Servers call
	// the configurations in the order of their names.
	Configuration string
	// Order is the place among the hooks of the same Point and Configuration.
	Order int
	// Reinvocation says whether a webhook is called again if the object changed after its
	// call. Policies that run in the server say so themselves: see Invocation.
	Reinvocation Reinvocation
	// Shuffled says that a server runs the invocations in any order.
	Shuffled bool
}

// Compare orders hooks as a server runs them.
func (h Hook) Compare(other Hook) int {
	return cmp.Or(cmp.Compare(h.Point, other.Point), cmp.Compare(h.Configuration, other.Configuration), cmp.Compare(h.Order, other.Order))
}

// Point is a point on the way of an object into a cluster.
type Point int

// The points, in order.
const (
	// BeforeAdmission is before the object reaches the server: policies see it as it is
	// written.
	BeforeAdmission Point = iota
	// BuiltIn is the admission plug-ins that are part of the server. The server does not
	// default the object again after them.
	BuiltIn
	// InServer is the mutating admission inside the server: the object is defaulted again
	// after every step.
	InServer
	// Webhook is a mutating webhook: the object is defaulted again after the last step.
	Webhook
	// Validating is when all has been changed, in all passes: an object is refused or not.
	Validating
)

// Reinvocation is the reinvocationPolicy of a webhook.
type Reinvocation int

// The reinvocation policies.
const (
	Never Reinvocation = iota
	IfNeeded
)

// Plan is what a Program means to do in one pass over an object, in order.
type Plan struct {
	Invocations []Invocation
	NotApplied  []NotApplied
	// Failures come before those of the invocations.
	Failures []Failure
}

// Invocation is one policy applied in one way to one request.
type Invocation interface {
	ID() ID
	// Reinvocable reports whether the invocation wants to run again if another one
	// changed the object after it. It counts inside the server only.
	Reinvocable() bool
	// Conditions evaluates the policy's conditions on the object as it is now. The
	// invocation goes on if both results are nil.
	Conditions(r *Request) (*NotApplied, *Failure)
	// Deny makes a Failure of the invocation out of an error that the engine finds in
	// a step's result.
	Deny(err error) Failure
	// Steps yields the results of the policy's rules in order. The engine replaces
	// r.Object between two steps; a failed step does not end the sequence.
	Steps(r *Request) iter.Seq[Step]
}

// Step is the result of one rule.
type Step struct {
	ID ID
	// At is where the rule is.
	At source.Position
	// Object is the object after the rule, nil if there is a Failure or the rule was
	// NotApplied. It shares what the rule did not change with the object before.
	Object     map[string]any
	NotApplied *NotApplied
	Failure    *Failure
	// Replay is what the policy itself wants done if the rule would change its own output
	// again: "fail", "warn" or "skip". Empty leaves it to the option.
	Replay string
	// Variables is how many variables of the policy were evaluated for it.
	Variables int
	// Took is the time that it took, if somebody measures it.
	Took time.Duration
}

// NotApplied says why a policy, or a rule of it, left the object alone.
type NotApplied struct {
	ID ID
	At source.Position
	// Reason is a clause in the words of the field, like "matchConditions[0] "x" is
	// false". It is put into words only when somebody wants to read it.
	Reason fmt.Stringer
	// Err is set if conditions failed, and the policy wants that to be ignored.
	Err error
}

// Text is a Reason that needs no more words.
type Text string

// String implements fmt.Stringer.
func (t Text) String() string { return string(t) }

// Failure is an error of a policy.
type Failure struct {
	ID ID
	At source.Position
	// Err is in the words with which an API server denies the request.
	Err error
	// Ignored says that the policy wants its errors to be ignored (failurePolicy
	// Ignore).
	Ignored bool
	// Abort says that the server ends the request at once, whatever the policy
	// wants.
	Abort bool
	// Advice is what to do about it, if there is more to say than the server does.
	Advice string
}

// Follower is policies that change other objects once a request has been admitted.
type Follower interface {
	// Triggers reports whether any such policy may be about the request, judged
	// without its object.
	Triggers(r *Request) bool
	// Follow yields what policies make of the targets for the object of the request,
	// one step after the other; each sees the steps before it.
	Follow(r *Request, targets []Target) iter.Seq[Followed]
}

// Target is an object that a Follower may change.
type Target struct {
	Kind            *schema.Kind
	Namespace, Name string
	Object          map[string]any
}

// Followed is a step on the target with an index, or about none if that is negative.
type Followed struct {
	Target int
	Step   Step
}
