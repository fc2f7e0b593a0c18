package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Proof is the evidence that policies in two forms are equivalent.
type Proof struct {
	// Differences are the objects with different results, as errors, and the warnings of runs of
	// the second form.
	Differences []source.Diagnostic
	// Objects is the number of manifests on which both forms were run, Changed the number of
	// manifests that they changed, and Counterexamples the number of generated objects. Undefined is the
	// number of manifests of undefined kinds, which prove nothing.
	Objects, Changed, Counterexamples, Undefined int
	// Branches are the possible results of the policies of the second form.
	Branches []Branch
}

// Branch is a possible result of a policy.
type Branch struct {
	// Policy is the name of the policy. Says describes the result: "matchConditions[0] \"x\" is
	// false", "mutations[0] changes the object".
	Policy, Says string
	// Manifests and Counterexamples are the numbers of objects with this result.
	Manifests, Counterexamples int
}

// Order says whether the order of the items of lists matters to Verify.
type Order bool

// The orders.
const (
	Ordered   Order = false
	Unordered Order = true
)

// Verify runs policies in two forms on manifests, and on generated objects that reach branches
// which no manifest reaches. It does not edit the manifests. If one of the forms does not compile,
// or a manifest is not valid, the proof is nil.
func Verify(ctx context.Context, before, after, surroundings, manifests []*manifest.Stream, order Order, options Options) (*Proof, []source.Diagnostic) {
	options.NonIdempotent = "skip"
	v := verification{ctx: ctx, proof: &Proof{}, reached: map[string]*Branch{}, order: order}
	var diagnostics []source.Diagnostic
	for i, policies := range [][]*manifest.Stream{before, after} {
		set, problems := Compile(policies, surroundings, options)
		diagnostics = append(diagnostics, problems...)
		if set == nil {
			return nil, diagnostics
		}
		v.sets[i] = set
	}
	v.branches(after)
	v.compare(manifests, false)
	if len(v.invalid) > 0 {
		return nil, v.invalid
	}
	v.compare(v.counterexamples(after), true)
	return v.result(), nil
}

// result returns the proof.
func (v *verification) result() *Proof {
	slices.SortStableFunc(v.proof.Differences, func(a, b source.Diagnostic) int { return cmp.Compare(a.Subject, b.Subject) })
	for _, key := range v.keys {
		v.proof.Branches = append(v.proof.Branches, *v.reached[key])
	}
	return v.proof
}

// verification is the state of Verify.
type verification struct {
	ctx     context.Context
	sets    [2]*Set
	proof   *Proof
	order   Order
	reached map[string]*Branch
	keys    []string
	// invalid are the errors of manifests that are not valid.
	invalid []source.Diagnostic
}

// branches lists the possible results of the policies of the second form.
func (v *verification) branches(policies []*manifest.Stream) {
	for _, d := range documentsOf(policies) {
		spec := policy.NodeAt(d, "spec")
		if len(spec.At("mutations").Items()) == 0 {
			continue
		}
		name := d.Name()
		if d.Namespace() != "" {
			name = d.Namespace() + "/" + name
		}
		for i, c := range spec.At("matchConditions").Items() {
			v.add(name, policy.FalseCondition{Index: i, Name: c.At("name").Text()}.String())
		}
		for i := range spec.At("mutations").Items() {
			v.add(name, mutationChanges(i))
		}
	}
}

func mutationChanges(i int) string { return fmt.Sprintf("mutations[%d] changes the object", i) }

func (v *verification) add(name, says string) {
	key := name + " " + says
	v.keys = append(v.keys, key)
	v.reached[key] = &Branch{Policy: name, Says: says}
}

// counterexamples returns objects that may show a difference, generated for policies.
func (v *verification) counterexamples(policies []*manifest.Stream) []*manifest.Stream {
	var b strings.Builder
	for _, d := range documentsOf(policies) {
		for object := range witness.Objects(policy.Node{Value: d.Object()}, v.sets[1].schemas) {
			metadata, _ := object["metadata"].(map[string]any)
			if namespace := d.Namespace(); namespace != "" {
				metadata["namespace"] = namespace
			}
			b.WriteString("---\n")
			b.Write(manifest.YAML(object))
		}
	}
	var streams []*manifest.Stream
	for i, text := range strings.Split(b.String(), "---\n") {
		if text == "" {
			continue
		}
		stream, problems := manifest.Read(fmt.Sprintf("counterexample-%d", i), []byte(text))
		if len(problems) == 0 {
			streams = append(streams, stream)
		}
	}
	return streams
}

// compare runs both forms. Each counterexample has a separate run, because they have the same names.
func (v *verification) compare(streams []*manifest.Stream, madeUp bool) {
	if !madeUp {
		v.run(streams, false)
		return
	}
	for _, stream := range streams {
		v.run([]*manifest.Stream{stream}, true)
	}
}

func (v *verification) run(streams []*manifest.Stream, madeUp bool) {
	var outcomes [2]*Outcome
	for i, set := range v.sets {
		var copies []*manifest.Stream
		for _, stream := range streams {
			read, _ := manifest.Read(stream.Name(), stream.Bytes())
			copies = append(copies, read)
		}
		outcomes[i] = set.Run(v.ctx, copies, Explain(), Views())
	}
	if outcomes[0].Invalid && outcomes[1].Invalid { // such an object cannot exist
		if !madeUp {
			v.invalid = append(v.invalid, slices.DeleteFunc(outcomes[0].Diagnostics, func(d source.Diagnostic) bool { return d.Severity != source.Error })...)
		}
		return
	}
	for i, first := range outcomes[0].Manifests {
		if i >= len(outcomes[1].Manifests) {
			break
		}
		second := outcomes[1].Manifests[i]
		if v.isUndefined(first.Document) {
			if !madeUp {
				v.proof.Undefined++
			}
			continue
		}
		v.count(first, second, madeUp)
		found := v.differing(outcomes, first, second)
		if madeUp && len(found) > 0 {
			for i := range found {
				found[i].At, found[i].Excerpt = source.Position{}, ""
			}
			found[0].Message += "; the object is generated: " + strings.TrimSpace(string(manifest.JSON(first.Document.Object())))
		}
		v.proof.Differences = append(v.proof.Differences, found...)
	}
	v.warned(outcomes[1])
}

// warned adds the warnings of a run of the second form about what Kyverno loses.
func (v *verification) warned(second *Outcome) {
	for _, d := range second.Diagnostics {
		if d.Code == source.CodeKyvernoDiffers && !slices.ContainsFunc(v.proof.Differences, func(other source.Diagnostic) bool { return other.Message == d.Message }) {
			v.proof.Differences = append(v.proof.Differences, d)
		}
	}
}

// isUndefined reports whether the kind of a document is undefined.
func (v *verification) isUndefined(d *manifest.Document) bool {
	return v.sets[1].schemas.Lookup(d.Kind()) == nil
}

// count counts the branches that an object has reached.
func (v *verification) count(first, second *Manifest, madeUp bool) {
	if madeUp {
		v.proof.Counterexamples++
	} else {
		v.proof.Objects++
		if len(first.Changes) > 0 {
			v.proof.Changed++
		}
	}
	seen := map[string]bool{}
	note := func(name, says string) {
		key := name + " " + says
		b := v.reached[key]
		switch {
		case b == nil || seen[key]:
		case madeUp:
			b.Counterexamples++
		default:
			b.Manifests++
		}
		seen[key] = true
	}
	for _, n := range second.NotApplied {
		note(n.ID.Policy, n.Reason.String())
	}
	for _, c := range second.Changes {
		rule, _, _ := strings.Cut(c.By.Rule, " ")
		note(c.By.Policy, rule+" changes the object")
	}
}

// differing returns the differences between two results for an object.
func (v *verification) differing(outcomes [2]*Outcome, first, second *Manifest) (found []source.Diagnostic) {
	denials := [2]string{outcomes[0].denial(first), outcomes[1].denial(second)}
	switch {
	case denials[0] != "" && denials[1] != "":
		return nil
	case denials[0] != "":
		return []source.Diagnostic{reportDifference(first, nil, "it was denied and is now admitted; it was denied for: "+denials[0])}
	case denials[1] != "":
		return []source.Diagnostic{reportDifference(first, nil, "it was admitted and is now denied: "+denials[1])}
	}
	old, made := firstOf(first.After, first.Before, second.Before), firstOf(second.After, second.Before, first.Before)
	for _, c := range change.Diff(stored(old), stored(made), v.sets[1].schemas.Lookup(first.Document.Kind()).Type()) {
		if c.Op != change.Move {
			found = append(found, reportDifference(first, c.Path, differs(c, first, second)))
		} else if v.order == Ordered {
			found = append(found, reportDifference(first, c.Path, fmt.Sprintf("%s has moved: it was item %d (%s; %s)", c.Path, c.From, author(first, c.Path), author(second, c.Path))))
		}
	}
	return found
}

// differs describes values that differ.
func differs(c change.Change, first, second *Manifest) string {
	was, is := string(manifest.JSON(c.Old)), string(manifest.JSON(c.New))
	if redact.IsSecretKind(first.Document.Kind().Kind) {
		was, is = "one value", "another value"
	}
	return fmt.Sprintf("%s was %s (%s) and is now %s (%s)", c.Path, was, author(first, c.Path), is, author(second, c.Path))
}

// denial returns the reason why an object was denied, or "".
func (o *Outcome) denial(m *Manifest) string {
	for _, d := range o.Diagnostics {
		if d.Severity == source.Error && (d.Subject == m.ID || d.Origin == m.Document.At(nil)) {
			return d.Message
		}
	}
	return ""
}

func reportDifference(m *Manifest, path change.Path, text string) source.Diagnostic {
	d := source.Errorf(m.Document.At(path), "conversion-differs", "the converted policies behave differently: %s", text)
	d.Subject, d.Field, d.Excerpt = m.ID, path.String(), m.Document.Excerpt(d.At)
	return d
}

// author returns the name of the policy that wrote a field.
func author(m *Manifest, path change.Path) string {
	for _, c := range slices.Backward(m.Changes) {
		if c.By.Policy != "" && (path.HasPrefix(c.Path) || c.Path.HasPrefix(path)) {
			return c.By.String()
		}
	}
	return "no policy wrote it"
}

func firstOf(objects ...map[string]any) map[string]any {
	for _, object := range objects {
		if object != nil {
			return object
		}
	}
	return nil
}
