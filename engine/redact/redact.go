// Package redact decides what may be shown of a text. It is the only package that hides anything.
//
// Text that leaves knows its origin; see source.Span. A literal of ours and a name are shown as
// they are, because nobody could find an object without its name. Everything else is from the
// input. A Redactor hides the values of Secrets in it, encoded or decoded. A Scope are the sensitive
// objects that one message may quote: it hides even their shortest values. A document that cannot be
// read is hidden completely. What remains of a name or of the input is printable, on one line.
//
// The files in order: redact.go (what is secret), text.go (messages), scope.go and objects.go
// (messages about sensitive objects), value.go (values of objects), recordings.go (objects in recordings),
// manifests.go and comments.go (text of manifests).
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Mask replaces a hidden value.
const Mask = "*****"

const (
	// shortest is the smallest length in bytes of a value that is hidden in all texts. Shorter values
	// occur everywhere by chance. Only a Scope hides them.
	shortest = 6
	// shortestPrivate is the smallest length of a value of a private object.
	shortestPrivate = 3
)

// Redactor hides the values of sensitive objects. The zero Redactor knows no values. It must learn
// all values before it hides any; from then on, it is safe for concurrent use. A nil Redactor hides
// nothing at all.
type Redactor struct {
	values map[string]bool
	once   sync.Once
	hide   *strings.Replacer
}

// LastApplied is the annotation in which kubectl keeps the last applied object.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// IsSecret reports whether an object is a Secret or may be meant as one. It ignores the version of
// the object and the case of the kind, and returns true if the kind is set but not a string.
func IsSecret(object map[string]any) bool {
	kind, isText := object["kind"].(string)
	return IsSecretKind(kind) || !isText && object["kind"] != nil
}

// IsSecretKind reports whether objects of a kind are Secrets.
func IsSecretKind(kind string) bool { return strings.EqualFold(kind, "Secret") }

// IsOpen reports whether a field of a Secret contains no secret values. Unknown fields are not
// open, because the name of a data field may be misspelt.
func IsOpen(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata" || field == "type"
}

// Learn adds the values of an object if it is a Secret.
func (r *Redactor) Learn(object map[string]any) {
	if IsSecret(object) {
		r.LearnAll(object)
	}
}

// LearnAll adds all values of a sensitive object of any kind.
func (r *Redactor) LearnAll(object map[string]any) {
	for value, field := range scalars(object) {
		r.learn(value, field != "data")
	}
	text, _ := change.Keys("metadata", "annotations", LastApplied).Get(object)
	applied := map[string]any{}
	if text, ok := text.(string); ok && json.Unmarshal([]byte(text), &applied) == nil {
		r.LearnAll(applied)
	}
}

// LearnTexts adds texts that policies have computed from sensitive values.
func (r *Redactor) LearnTexts(texts []string) {
	for _, text := range texts {
		r.learn(text, false)
	}
}

// LearnPrivate adds the texts in an object that may contain sensitive values anywhere, except its
// names. Texts that are in a public policy are not added.
func (r *Redactor) LearnPrivate(object map[string]any, policies []string) {
	isPublic := func(text string) bool {
		return len(text) < shortestPrivate || slices.ContainsFunc(policies, func(policy string) bool { return strings.Contains(policy, text) })
	}
	eachScalar(WithoutNames(object), func(value any) bool {
		if text, ok := value.(string); ok && !isPublic(text) {
			r.add(text, shortestPrivate)
		}
		return true
	})
}

// Texts returns the scalars in a value as texts, except booleans and null.
func Texts(value any) []string {
	var texts []string
	eachScalar(value, func(scalar any) bool {
		texts = append(texts, fmt.Sprint(scalar))
		return true
	})
	return texts
}

// openTexts returns the scalars in the open fields of a Secret.
func openTexts(object map[string]any) []string {
	var texts []string
	for field, value := range object {
		if !IsOpen(field) {
			continue
		}
		if metadata, ok := value.(map[string]any); ok {
			value = change.CloneObject(metadata)
			_ = change.Apply(value.(map[string]any), []change.Change{{Op: change.Remove, Path: change.Keys("annotations", LastApplied)}}) // it may be missing
		}
		texts = append(texts, Texts(value)...)
	}
	return texts
}

// Add adds the values of another redactor.
func (r *Redactor) Add(other *Redactor) {
	if r.values == nil {
		r.values = map[string]bool{}
	}
	maps.Copy(r.values, other.values)
}

// With returns a redactor that also hides the values of the Secrets among documents.
func (r *Redactor) With(documents []*manifest.Document) *Redactor {
	if r == nil {
		return nil
	}
	all := &Redactor{values: maps.Clone(r.values)}
	for _, d := range documents {
		all.Learn(d.Object())
	}
	return all
}

// scalars yields the values in the fields of a Secret that are not open, each with the name of its
// field. Booleans and null are left out.
func scalars(object map[string]any) iter.Seq2[any, string] {
	return func(yield func(any, string) bool) {
		for _, field := range slices.Sorted(maps.Keys(object)) {
			if !IsOpen(field) && !eachScalar(object[field], func(value any) bool { return yield(value, field) }) {
				return
			}
		}
	}
}

func eachScalar(value any, yield func(any) bool) bool {
	switch v := value.(type) {
	case nil, bool:
		return true
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !eachScalar(v[key], yield) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !eachScalar(item, yield) })
	}
	return yield(value)
}

func (r *Redactor) learn(value any, plain bool) {
	text := fmt.Sprint(value)
	r.add(text, shortest)
	if plain {
		r.add(base64.StdEncoding.EncodeToString([]byte(text)), shortest)
	}
	compact := strings.Join(strings.Fields(text), "")
	if decoded, err := base64.StdEncoding.DecodeString(compact); err == nil {
		r.add(compact, shortest)
		r.add(string(decoded), shortest)
	}
}

// add adds a value, and the forms that it has when it is quoted or broken into lines, unless they
// are shorter than a number of bytes.
func (r *Redactor) add(value string, shortest int) {
	forms := []string{value, strings.TrimSpace(value)}
	if quoted, err := json.Marshal(value); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	for line := range strings.Lines(value) {
		forms = append(forms, strings.TrimSpace(line))
	}
	for _, form := range forms {
		if len(form) < shortest {
			continue
		}
		if r.values == nil {
			r.values = map[string]bool{}
		}
		r.values[form] = true
	}
}

// replacer replaces all values in one pass over a text. If several values begin at the same place,
// it replaces the longest.
func (r *Redactor) replacer() *strings.Replacer {
	r.once.Do(func() {
		values := slices.SortedFunc(maps.Keys(r.values), func(a, b string) int {
			return cmp.Or(len(b)-len(a), strings.Compare(a, b))
		})
		pairs := make([]string, 0, 2*len(values))
		for _, value := range values {
			pairs = append(pairs, value, Mask)
		}
		r.hide = strings.NewReplacer(pairs...)
	})
	return r.hide
}

// hidesNothing reports whether the redactor knows no values.
func (r *Redactor) hidesNothing() bool { return r == nil || len(r.values) == 0 }

// masked hides the values in a text, and changes nothing else.
func (r *Redactor) masked(text string) string {
	if r.hidesNothing() {
		return text
	}
	return r.replacer().Replace(text)
}

// holds reports whether a text contains a hidden value.
func (r *Redactor) holds(text string) bool { return r.masked(text) != text }
