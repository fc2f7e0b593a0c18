// Package strategicmerge applies strategic merge patches to objects as Kyverno v1.19.0 does: with
// merge2 of sigs.k8s.io/kustomize/kyaml v0.21.1, new items first, and the schema of Kubernetes
// 1.21. It has the quirks of kyaml, too. Every merge visits the whole object, so items of its
// lists that have the same key become one even if the patch does not mention them. An item that
// fits several items of the object is ignored, and directives other than $patch are fields. kyaml reads
// JSON as YAML, to which some texts mean something else.
//
// Most merges have no such quirk. The files in order: text.go (Read); strategicmerge.go (Merge); plain.go merges
// immutable values; if anything is unusual, kyaml.go repeats the merge on nodes that can be
// changed (node.go), step by step like kyaml; schema121.go has what Kubernetes 1.21 did not know.
//
// Laws:
//
//	Merge modifies neither the object nor the patch
//	the merged object is the object itself if the patch changes nothing, and shares what is unchanged
//	where plain.go gives a result, kyaml.go gives the same
//	Read returns the object itself if all of its texts stay the same
package strategicmerge

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Error reports a part of a patch that cannot be merged. Its text contains no values.
type Error struct {
	Path change.Path
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Path.String() + ": " + e.Text }

// The directive $patch and its values.
const (
	directive = "$patch"
	merges    = "merge"
	replaces  = "replace"
	deletes   = "delete"
)

// Merge returns the object with the patch merged into it, both as Read returns them. t is the type of the object. Values
// that t does not describe, and kinds newer than Kubernetes 1.21, merge without a schema: maps by
// key, lists as a whole. plain says that kyaml had no occasion for a quirk. An error is an *Error.
// The memo remembers which parts of objects kyaml leaves as they are; it may be nil.
func Merge(memo *change.Memo, object, patch map[string]any, t *schema.Type) (merged map[string]any, plain bool, err error) {
	if !isKnown(object) {
		t = nil
	}
	if merged, ok := (merger{memo}).mergeMap(object, patch, list{typ: t}); ok {
		memo.Note(&asItIs, merged, 1) // like all of its parts
		return merged, true, nil
	}
	result, err := walk(newNode(object), newNode(patch), list{typ: t}, nil)
	switch {
	case err != nil:
		return nil, false, err
	case result == nil:
		return nil, false, &Error{nil, "a patch must not delete the whole object"}
	}
	if merged, _ = result.immutable().(map[string]any); change.Equal(merged, object) {
		merged = object
	}
	return merged, false, nil
}
