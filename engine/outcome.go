package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// Outcome is the result of a run.
type Outcome struct {
	// Manifests are the objects that policies were run on, in the order of the
	// input, what controllers make of one after it. Their documents are edited only if
	// there is no error at all.
	Manifests []*Manifest
	// Diagnostics are sorted by position.
	Diagnostics []source.Diagnostic
	// Denied says that a policy denied a manifest, as a server would; Invalid that
	// the input is bad. Either means that there is no output.
	Denied, Invalid bool
	// Stats count what policies, bindings and rules did, sorted by their names; see Count.
	Stats []Stat
	// Parts are those of the policies, with what has run; see Cover.
	Parts []policy.Part
	// Secrets hides the values of all Secrets of the run, and what policies made of them.
	// The diagnostics show none. Everything else that is printed about the Manifests must
	// go through it.
	Secrets *secret.Mask
}

// Failed reports whether there is no output.
func (o *Outcome) Failed() bool { return o.Denied || o.Invalid }

// Made are the streams of what controllers make of the manifests, one for each object.
func (o *Outcome) Made() []*manifest.Stream {
	var streams []*manifest.Stream
	for _, m := range o.Manifests {
		if m.Maker != nil {
			streams = append(streams, m.Document.Stream())
		}
	}
	return streams
}

// Manifest is what became of one object.
type Manifest struct {
	Document *manifest.Document
	// ID names the object: "group/Kind/namespace/name"; empty for a plain document.
	ID string
	// Maker is what a controller made the object of; nil if somebody wrote it. See Pods.
	Maker *Manifest
	// Tree are the changes of mutation trees, which come first of all and are made to
	// the manifest as it is written. Their Pass is 0.
	Tree []Change
	// Namespace is where a cluster would keep the object: the namespace of the options
	// if it names none; empty if the object is not in a namespace.
	Namespace string
	// DependsOnOthers says that other objects could have changed what became of this one:
	// policies looked at its namespace, or for params, found or not; or nobody
	// defined its kind.
	DependsOnOthers bool
	// Sensitive says that the content of the object must stay secret: it is a Secret, was
	// given as sensitive, or a policy wrote into it and had read one that is.
	Sensitive bool
	// Before and After are its admission views, for Views; nil if no policy is about the
	// kind.
	Before, After map[string]any
	// Changes lead from Before to After, but for values that the server derives from
	// them. Those of the options Normalize and WriteNamespace come last, and make no
	// difference to the server.
	Changes []Change
	// Edits are what the changes of Tree and these come to in the manifest.
	Edits      []Edit
	NotApplied []policy.NotApplied
}

// All are all changes in order: those of Tree, then Changes.
func (m *Manifest) All() []Change {
	if len(m.Tree) == 0 {
		return slices.Clip(m.Changes)
	}
	return append(m.Tree[:len(m.Tree):len(m.Tree)], m.Changes...)
}

// Change is one change and who made it.
type Change struct {
	change.Change
	By policy.ID
	// At is where the rule is.
	At source.Position
	// Pass is 1, 2 for a reinvocation, or 0 for a mutation tree and for what a policy
	// did when another object had been admitted.
	Pass int
	// Disposition says what became of the change in the manifest.
	Disposition Disposition
	// Sensitive says that the policy had read something secret.
	Sensitive bool
}

// String says who made the change, and what it is: "policy team, mutations[0]: add
// metadata.labels: map[team:payments]".
func (c Change) String() string { return c.By.String() + ": " + c.Change.String() }

// Disposition says what became of a change in the manifest.
type Disposition string

// The dispositions.
const (
	// Written changes are in the manifest.
	Written Disposition = "written"
	// Pinned values are written although no policy wrote them: a change of a policy
	// would otherwise alter a default. They have no By.
	Pinned Disposition = "pinned by admission"
	// Normalized changes are made because the options ask for it. They have no By.
	Normalized Disposition = "normalized"
	// Dropped changes are to fields that the server sets itself.
	Dropped Disposition = "dropped by the server"
)
