package gatekeeper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

const (
	assignKind         = "Assign"
	assignImageKind    = "AssignImage"
	assignMetadataKind = "AssignMetadata"
	modifySetKind      = "ModifySet"
)

// served are the versions of each mutator kind; the stored version comes first.
var served = map[string][]string{
	assignKind:         {"v1", "v1beta1", "v1alpha1"},
	assignMetadataKind: {"v1", "v1beta1", "v1alpha1"},
	modifySetKind:      {"v1", "v1beta1", "v1alpha1"},
	assignImageKind:    {"v1alpha1"},
}

// mutator is one compiled mutator.
type mutator struct {
	document   *manifest.Document
	kind, name string
	// applyTo is nil for an AssignMetadata, which applies to all kinds.
	applyTo  []applyTo
	match    matcher
	location location
	tests    pathTests
	action   action
	// criteria are the positions of applyTo and of the criteria of match.
	criteria map[string]source.Position
	// contests are the schema conflicts that disable the mutator.
	contests []*contest
}

// action changes the value at the end of a mutator's location.
type action interface {
	// field returns the new value of a field; given is false if the field is missing. If keep is
	// false, the field is removed.
	field(c *call, value any, given bool) (result any, keep bool, err error)
}

// key identifies a mutator: "Assign/name".
func (m *mutator) key() string { return m.kind + "/" + m.name }

// compareMutators compares mutators by kind and name: the order in which they run.
func compareMutators(a, b *mutator) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
}

// whole is the ID of the mutator itself.
func (m *mutator) whole() policy.ID { return policy.ID{Kind: m.kind, Policy: m.key()} }

// id identifies the changes of a mutator in a round.
func (m *mutator) id(round int) policy.ID {
	id := m.whole()
	id.Rule = "location " + m.location.String()
	if round > 1 {
		id.Instance = fmt.Sprintf("round %d", round)
	}
	return id
}

var locationPath = change.Keys("spec", "location")

// node returns the position of a node of the location.
func (m *mutator) node(depth int) source.Position {
	if depth >= 0 && depth < len(m.location) && m.location[depth].offset > 0 {
		return m.document.In(locationPath, m.location[depth].offset)
	}
	return m.document.At(locationPath)
}

// at returns the position of a field of the spec.
func (m *mutator) at(keys ...string) source.Position {
	return m.document.At(append(change.Keys("spec"), change.Keys(keys...)...))
}

// subject names the mutator in diagnostics.
func (m *mutator) subject() string { return m.kind + " " + m.name }

// applyTo is an entry of applyTo.
type applyTo struct{ groups, versions, kinds, operations []string }

// covers reports whether the entry names a kind and an operation.
func (a applyTo) covers(kind gvk.Kind, operation policy.Operation) bool {
	return slices.Contains(a.groups, kind.Group) && slices.Contains(a.versions, kind.Version) && slices.Contains(a.kinds, kind.Kind) &&
		slices.Contains(a.effective(), operation)
}

// effective returns the operations that the entry selects.
func (a applyTo) effective() []policy.Operation {
	all := []policy.Operation{policy.Create, policy.Update}
	if len(a.operations) == 0 || slices.Contains(a.operations, "*") {
		return all
	}
	return slices.DeleteFunc(all, func(o policy.Operation) bool { return !slices.Contains(a.operations, string(o)) })
}

// applies reports whether applyTo covers a kind and an operation.
func (m *mutator) applies(kind gvk.Kind, operation policy.Operation) bool {
	return m.kind == assignMetadataKind || slices.ContainsFunc(m.applyTo, func(a applyTo) bool { return a.covers(kind, operation) })
}

// mutator reads a mutator. It checks the schema of its kind, the rules for names, and
// Gatekeeper's own validation.
func (r *reader) mutator() *mutator {
	kind := r.doc.Document.Kind()
	if versions := served[kind.Kind]; !slices.Contains(versions, kind.Version) {
		r.doc.Unserved(fmt.Sprintf("no version %s of kind %s is served", kind.Version, kind.Kind), "expected apiVersion: "+group+"/"+source.Alternatives(versions), group+"/"+cmp.Or(source.Nearest(kind.Version, versions), versions[0]))
		return nil
	}
	m := &mutator{document: r.doc.Document, kind: kind.Kind, name: r.doc.Document.Name()}
	r.conformsToKind()
	r.doc.Name()
	spec := r.doc.Root.At("spec")
	parameters := spec.At("parameters")
	m.criteria = map[string]source.Position{"applyTo": m.at("applyTo")}
	for _, criterion := range matchCriteria() {
		m.criteria[criterion] = m.at("match", criterion)
	}
	m.location = r.location(spec.At("location"), m)
	m.match = readMatcher(spec.At("match"))
	r.checkMatch(spec.At("match"), &m.match)
	if m.kind != assignMetadataKind {
		m.applyTo = r.applyTo(spec.At("applyTo"), m)
		m.tests = r.pathTests(parameters.At("pathTests"), m)
	}
	switch m.kind {
	case assignKind:
		m.action = r.assign(parameters.At("assign"), m)
	case assignMetadataKind:
		m.tests = pathTests{len(m.location) - 1: {condition: mustNotExist}}
		m.action = r.assignMetadata(parameters.At("assign"), m)
	case modifySetKind:
		m.action = r.modifySet(parameters)
	case assignImageKind:
		m.action = r.assignImage(parameters, m)
	}
	return m
}

// locationTexts are Gatekeeper's messages about a location that does not parse. Their beginning
// depends on the kind.
var locationTexts = map[string]string{
	assignKind:         "invalid location format `%[1]s` for Assign %[2]s: %[3]v",
	modifySetKind:      "invalid location format `%[1]s` for ModifySet %[2]s: %[3]v",
	assignImageKind:    "invalid location format `%[1]s` for assignImage %[2]s: %[3]v",
	assignMetadataKind: "invalid location format for AssignMetadata %[2]s: %[1]s: %[3]v",
}

// location parses the location of a mutator and checks that its kind may change it.
func (r *reader) location(n policy.Node, m *mutator) location {
	if !r.doc.IsSound(n) {
		return nil
	}
	l, err := parseLocation(n.Text())
	if err != nil {
		r.unparsed(n, err, locationTexts[m.kind], n.Text(), m.name, err)
		return nil
	}
	switch {
	case m.kind == assignMetadataKind:
		if !isLabelOrAnnotation(l) {
			r.advise(n, 0, "expected metadata.labels.KEY or metadata.annotations.KEY, with the key in quotes if it has a dot or a slash",
				"invalid location for assignmetadata %s: %s", m.name, n.Text())
		}
	case l.inMetadata():
		r.advise(n, 0, "an AssignMetadata adds labels and annotations; nothing changes the rest", "%s %s can't change metadata", lowerKind[m.kind], m.name)
	case m.kind == modifySetKind && l.endsInList():
		r.advise(n, l[len(l)-1].offset, "end the location with a field that is a list of values", "final node in a modifyset location cannot be a keyed list")
	case m.kind == assignImageKind && l.endsInList():
		r.advise(n, l[len(l)-1].offset, "end the location with the field that holds the image", "assignImage %s cannot mutate list-type fields", m.name)
	case len(l) == 0 && m.kind == modifySetKind:
		r.warn(n, "mutator-fails", "name a list of values, for instance spec.containers[name: *].args", "Gatekeeper accepts an empty location, and then refuses every request that the mutator matches")
	case len(l) == 0:
		r.advise(n, 0, "expected a path, for instance spec.containers[name: *].image", "empty path")
	case m.kind != modifySetKind && changesKey(l):
		r.advise(n, l[len(l)-1].offset, "assign the whole element: end the location with its [key: value]", "invalid path format: changing the item key is not allowed")
	}
	r.checkKeys(n, l)
	return l
}

// lowerKind are the names of the kinds in some messages.
var lowerKind = map[string]string{assignKind: "assign", modifySetKind: "modifyset", assignImageKind: "assignImage"}

func isLabelOrAnnotation(l location) bool {
	return len(l) == 3 && !l[1].list && !l[2].list && l[0].name == "metadata" && (l[1].name == "labels" || l[1].name == "annotations")
}

// changesKey reports whether a location ends in the key field of a list item.
func changesKey(l location) bool {
	return len(l) > 1 && l[len(l)-2].list && l[len(l)-2].name == l[len(l)-1].name
}

// checkKeys warns about integer keys that Gatekeeper rounds when it writes them.
func (r *reader) checkKeys(n policy.Node, l location) {
	for _, step := range l {
		if key, ok := step.key.(int64); ok && rounds(key) {
			r.warnRounded(n, key)
		}
	}
}

// unparsed reports a text that is not a location, at the place of the error.
func (r *reader) unparsed(n policy.Node, err error, format string, args ...any) {
	offset := 0
	var failed *locationError
	if errors.As(err, &failed) {
		offset = failed.offset
	}
	const advice = "expected fields with dots between them, each followed by [key: value] or [key: *] if it is a list; other names than words need quotes"
	d := source.Errorf(r.doc.Document.In(n.Path, offset), "policy-invalid", format, args...).With(advice)
	text := n.Text()
	if match := unquotedKey().FindStringSubmatchIndex(text); match != nil {
		key := quote(text[match[2]:])
		d = r.doc.Document.Mended(d, n.Path, source.Mend{
			Advice: "write the key in quotes: " + text[:match[2]] + key, Title: "Write the key in quotes",
			Changes: []source.Change{{From: match[2], To: len(text), New: key}},
		})
	} else if dotted := strings.ReplaceAll(strings.TrimPrefix(text, "/"), "/", "."); dotted != text {
		if _, err := parseLocation(dotted); err == nil {
			d = r.doc.Document.Mended(d, n.Path, source.Mend{
				Advice: "write dots between the fields: " + dotted, Title: "Write dots between the fields",
				Changes: []source.Change{{To: len(text), New: dotted}},
			})
		}
	}
	r.doc.Report(d, n.Path)
}

// unquotedKey matches a location that ends with a key of labels or annotations, or of a selector, without the quotes
// that it needs.
var unquotedKey = lazyregexp.New(`\b(?:labels|annotations|matchLabels|nodeSelector)\s*\.\s*([\w-][\w.-]*/?[\w.-]*)$`)

// applyTo reads and checks the kinds to which a mutator applies.
func (r *reader) applyTo(n policy.Node, m *mutator) []applyTo {
	if !r.doc.IsSound(n) {
		return nil
	}
	var entries []applyTo
	for i, item := range n.Items() {
		a := applyTo{item.At("groups").Texts(), item.At("versions").Texts(), item.At("kinds").Texts(), item.At("operations").Texts()}
		if len(a.groups) == 0 || len(a.versions) == 0 || len(a.kinds) == 0 {
			r.advise(item, 0, `name groups ("" is that of Pods), versions and kinds`, "invalid applyTo for %s mutator %s, all of group, version and kind must be specified", m.kind, m.name)
		}
		if slices.Contains(slices.Concat(a.groups, a.versions, a.kinds), "*") {
			r.warn(item, "criterion-ignored", "list the groups, versions and kinds", "in applyTo, * is a literal name, not a wildcard")
		}
		for j, operation := range a.operations {
			if slices.Contains(a.operations[:j], operation) {
				r.doc.Invalid(item.At("operations"), "invalid applyTo for %s mutator %s: duplicate operation %q in applyTo[%d].operations", m.kind, m.name, operation, i)
			}
		}
		if slices.Contains(a.operations, "*") && len(a.operations) > 1 {
			r.doc.Invalid(item.At("operations"), "invalid applyTo for %s mutator %s: wildcard \"*\" in applyTo[%d].operations must not be combined with other operations", m.kind, m.name, i)
		}
		entries = append(entries, a)
	}
	if len(entries) == 0 {
		r.advise(n, 0, "name groups, versions and kinds", "applyTo required for %s mutator %s", m.kind, m.name)
	}
	return entries
}
