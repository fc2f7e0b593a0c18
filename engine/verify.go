package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/migrate"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// Proof says on what it rests that policies in two forms mean the same.
type Proof struct {
	// Differences are the objects on which they differ, as errors; besides, there is what
	// runs of the second form warn of.
	Differences []source.Diagnostic
	// Objects are the manifests that both forms were run on, Changed those that they
	// change, and Witnesses the objects that were made up besides. Undefined are manifests
	// of kinds that nobody defines, of which nothing is proved.
	Objects, Changed, Witnesses, Undefined int
	// Branches are what the policies of the second form may do.
	Branches []Branch
}

// Branch is one of the things that a policy may do.
type Branch struct {
	// Policy is the name of the policy, Says what it does there: "matchConditions[0] \"x\" is
	// false", "mutations[0] changes the object".
	Policy, Says string
	// Manifests and Witnesses are how many objects came there.
	Manifests, Witnesses int
}

// Verify runs policies in two forms on manifests, and on objects that are made up to reach
// what no manifest reaches. The manifests are not edited. There is no proof if one of the
// forms does not compile.
func Verify(ctx context.Context, before, after, surroundings, manifests []*manifest.Stream, options Options) (*Proof, []source.Diagnostic) {
	options.NonIdempotent = "skip"
	v := verification{ctx: ctx, proof: &Proof{}, reached: map[string]*Branch{}}
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
	v.compare(v.witnesses(after), true)
	return v.result(), nil
}

// result is the proof.
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
	reached map[string]*Branch
	keys    []string
}

// branches lists what the policies of the second form may do.
func (v *verification) branches(policies []*manifest.Stream) {
	for _, d := range documentsOf(policies) {
		spec := policy.Node{Value: d.Object()}.At("spec")
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

// witnesses are objects that are made up for policies.
func (v *verification) witnesses(policies []*manifest.Stream) []*manifest.Stream {
	var b strings.Builder
	for _, d := range documentsOf(policies) {
		for _, object := range migrate.Witnesses(policy.Node{Value: d.Object()}, v.sets[1].schemas) {
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
		stream, problems := manifest.Read(fmt.Sprintf("witness-%d", i), []byte(text))
		if len(problems) == 0 {
			streams = append(streams, stream)
		}
	}
	return streams
}

// compare runs both forms. Witnesses are one world each, as they have the same names.
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
	if madeUp && (outcomes[0].Invalid && outcomes[1].Invalid) {
		return // no such object can be
	}
	for i, first := range outcomes[0].Manifests {
		if i >= len(outcomes[1].Manifests) {
			break
		}
		second := outcomes[1].Manifests[i]
		if v.isUndefined(first.Document) {
			v.proof.Undefined++
			continue
		}
		v.count(first, second, madeUp)
		if d := differing(outcomes, first, second); d != nil {
			if madeUp {
				d.At, d.Excerpt = source.Position{}, ""
				d.Message += "; the object is made up: " + strings.TrimSpace(string(manifest.JSON(first.Document.Object())))
			}
			v.proof.Differences = append(v.proof.Differences, *d)
		}
	}
	for _, d := range outcomes[1].Diagnostics {
		if d.Code == "kyverno-differs" && !slices.ContainsFunc(v.proof.Differences, func(other source.Diagnostic) bool { return other.Message == d.Message }) {
			v.proof.Differences = append(v.proof.Differences, d)
		}
	}
}

// isUndefined reports whether nobody defines the kind of a document.
func (v *verification) isUndefined(d *manifest.Document) bool {
	return v.sets[1].schemas.Lookup(d.Kind()) == nil
}

// count notes what an object proves.
func (v *verification) count(first, second *Manifest, madeUp bool) {
	if madeUp {
		v.proof.Witnesses++
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
			b.Witnesses++
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

// differing says where two forms differ on an object; nil if they do not.
func differing(outcomes [2]*Outcome, first, second *Manifest) *source.Diagnostic {
	denials := [2]string{outcomes[0].denial(first), outcomes[1].denial(second)}
	switch {
	case denials[0] != "" && denials[1] != "":
		return nil
	case denials[0] != "":
		return reportDifference(first, nil, "it was denied, and is admitted now; it was denied for: "+denials[0])
	case denials[1] != "":
		return reportDifference(first, nil, "it is denied now: "+denials[1])
	}
	old, made := firstOf(first.After, first.Before, second.Before), firstOf(second.After, second.Before, first.Before)
	changes := change.Diff(old, made, nil)
	if len(changes) == 0 {
		return nil
	}
	c := changes[0]
	was, is := string(manifest.JSON(c.Old)), string(manifest.JSON(c.New))
	if secret.IsKind(first.Document.Kind().Kind) {
		was, is = "one value", "another one"
	}
	return reportDifference(first, c.Path, fmt.Sprintf("%s was %s (%s), and is %s now (%s)", c.Path, was, author(first, c.Path), is, author(second, c.Path)))
}

// denial is why an object was denied, or "".
func (o *Outcome) denial(m *Manifest) string {
	for _, d := range o.Diagnostics {
		if d.Severity == source.Error && (d.Subject == m.ID || d.Origin == m.Document.At(nil)) {
			return d.Message
		}
	}
	return ""
}

func reportDifference(m *Manifest, path change.Path, text string) *source.Diagnostic {
	d := source.Errorf(m.Document.At(path), "conversion-differs", "the policies in the new form do something else: %s", text)
	d.Subject, d.Field, d.Excerpt = m.ID, path.String(), m.Document.Excerpt(d.At)
	return &d
}

// author says who wrote a field.
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
