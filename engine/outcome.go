package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Outcome is the result of a run.
type Outcome struct {
	// Manifests are the objects that policies were run on, in the order of the input. The objects
	// that controllers make from a manifest follow it. The documents are edited only if there is no
	// error.
	Manifests []*Manifest
	// Diagnostics are sorted by position.
	Diagnostics []source.Diagnostic
	// KyvernoVersion is the version of Kyverno as which its policies ran, or "" without such policies.
	KyvernoVersion string
	// Denied means that a policy denied a manifest, as a server would. Invalid means that the input
	// has errors. In both cases there is no output.
	Denied, Invalid bool
	// Stats count the evaluations of policies, bindings and rules, sorted by their names; see
	// Count.
	Stats []Stat
	// Parts are the parts of the policies, with whether they have run; see Cover.
	Parts []policy.Part
	// Policies are the policies of the run, in the order in which they run; see Judge.
	Policies []Account
	// Secrets hides the values of all Secrets of the run, and the texts that policies have computed
	// from them. The diagnostics are already masked. All other printed data of the Manifests must
	// be masked with it.
	Secrets *redact.Redactor
}

// Failed reports whether there is no output.
func (o *Outcome) Failed() bool { return o.Denied || o.Invalid }

// Made returns the streams of the objects that controllers make, one stream per object.
func (o *Outcome) Made() []*manifest.Stream {
	var streams []*manifest.Stream
	for _, m := range o.Manifests {
		if m.Maker != nil {
			streams = append(streams, m.Document.Stream())
		}
	}
	return streams
}

// Manifest is the result of one object.
type Manifest struct {
	Document *manifest.Document
	// ID is the name of the object, "group/Kind/namespace/name". It is empty for a plain document.
	ID string
	// Maker is the manifest from which a controller made the object, or nil. See Pods.
	Maker *Manifest
	// Tree are the changes of mutation trees, which run first and change the manifest as it is
	// written. Their Pass is 0.
	Tree []Change
	// Namespace is the namespace in the cluster: the namespace of the options if the object has
	// none, and empty if the object is cluster-scoped.
	Namespace string
	// Same is the manifest of an earlier run that has the result, or nil; see Results.
	Same *Manifest
	// DependsOnOthers means that other objects can change this result: policies have read its
	// namespace, or have looked for params, found or not; or its kind is not defined.
	DependsOnOthers bool
	// Sensitive means that the content of the object must stay secret: it is a Secret, it was given
	// as sensitive, or a policy that has read a sensitive object wrote into it.
	Sensitive bool
	// Before and After are its admission views, if Views was given. They are nil if no policy
	// matches the kind.
	Before, After map[string]any
	// Changes lead from Before to After, except for values that the server derives from them. The
	// changes of the options Normalize and WriteNamespace come last, and do not affect the server.
	Changes []Change
	// Edits are the net changes to the manifest that Tree and Changes cause.
	Edits      []Edit
	NotApplied []policy.NotApplied
	// Verdicts say what each policy that matches the object did to it; see Judge.
	Verdicts []Verdict
	// Reason is the reason of the server's refusal, if a validating policy refuses the object:
	// Invalid (422), Forbidden (403) or RequestEntityTooLarge (413).
	Reason string
	// Warnings and Audit are the warnings and the annotations of the audit event with which
	// validating policies accompany the server's answer, even if it is a refusal.
	Warnings []Warning
	Audit    []policy.Annotation
	// Objections are what validation says about the object, and why; see Objections.
	Objections []Objection
}

// Objection is what validation says about an object.
type Objection struct {
	By     policy.ID
	At     source.Position
	Effect Effect
	// Said are the words of the server; for Annotated, the key and the value.
	Said string
	// Expression is that of the rule, or "". Facts are the values that it has read.
	Expression string
	Facts      []source.Fact
	// Cause is the author of the change without which a server would not say it, or for Repaired, of the
	// change without which it would. It is empty if there is no such change.
	Cause   policy.ID
	CauseAt source.Position
}

// Effect is what becomes of an object because of an Objection.
type Effect string

// The effects. Repaired is what a server would say to the object as it was sent, and refuse it.
const (
	Refused   Effect = "refused"
	Warns     Effect = "warned"
	Annotated Effect = "audited"
	Repaired  Effect = "repaired"
)

// All returns all changes in order: Tree, then Changes.
func (m *Manifest) All() []Change {
	if len(m.Tree) == 0 {
		return slices.Clip(m.Changes)
	}
	return append(m.Tree[:len(m.Tree):len(m.Tree)], m.Changes...)
}

// Change is one change with its author.
type Change struct {
	change.Change
	By policy.ID
	// At is the position of the rule.
	At source.Position
	// Pass is 1, 2 for a reinvocation, or 0 for a mutation tree and for a policy that ran after the
	// admission of another object.
	Pass int
	// Disposition says how the change appears in the manifest.
	Disposition Disposition
	// Sensitive means that the policy had read a secret.
	Sensitive bool
}

// String returns the author and the change: "policy team, mutations[0]: add metadata.labels:
// map[team:payments]".
func (c Change) String() string { return c.By.String() + ": " + c.Change.String() }

// Disposition says how a change appears in the manifest.
type Disposition string

// The dispositions.
const (
	// Written changes are in the manifest.
	Written Disposition = "written"
	// Pinned values are defaults that the output must contain, because a change of a policy would
	// otherwise alter them. No policy wrote them. They have no By.
	Pinned Disposition = "pinned by admission"
	// Normalized changes are made by the options Normalize and WriteNamespace. They have no By.
	Normalized Disposition = "normalized"
	// Dropped changes are to fields that the server sets itself.
	Dropped Disposition = "dropped by the server"
)
