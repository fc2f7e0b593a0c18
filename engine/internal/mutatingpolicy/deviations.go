package mutatingpolicy

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno/deviation"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const ownPolicy = "write a policy for the controllers, and set autogen.podControllers.controllers to []"

// The deviations of Kyverno's mutating CEL policies from its documentation. A later version of
// Kyverno that has one is another version in its list; one that does not is a condition at the
// place in the code.
var (
	// autogenMetadata: rewrite.
	autogenMetadata = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "does not rewrite Object.metadata, so that the policy fails for controllers", Documented: "a policy for pods also applies to controllers",
		Advice: ownPolicy, Recordings: []string{"mpol-autogen-metadata"},
	}
	// autogenNotWrapped: rewriteText.
	autogenNotWrapped = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "rewrites only expressions that begin with Object{, so that others fail for controllers", Documented: "a policy for pods also applies to controllers",
		Advice: ownPolicy, Recordings: []string{"mpol-autogen-not-wrapped"},
	}
	// autogenJSONPatch: rewrite.
	autogenJSONPatch = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "does not rewrite JSON patches, so that they change the controller in place of its pod template", Documented: "a policy for pods also applies to controllers",
		Advice: ownPolicy, Recordings: []string{"mpol-autogen-json-patch"},
	}
	// autogenVariables: rewrite.
	autogenVariables = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "does not rewrite variables, so that they read the controller in place of its pod template", Documented: "a policy for pods also applies to controllers",
		Advice: ownPolicy, Recordings: []string{"mpol-autogen-variables"},
	}
	// autogenTexts: rewriteText.
	autogenTexts = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "replaces texts in expressions for controllers, in literals, too, and misses object[\"spec\"] and object.?spec", Documented: "a policy for pods also applies to controllers",
		Advice: ownPolicy, Recordings: []string{"mpol-autogen-texts"},
	}
	// selfTargets: mutateTarget.
	selfTargets = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "does not evaluate matchConditions for targets", Documented: "matchConditions select the objects of a policy",
		Advice: "say the same in targetMatchConditions", Source: "pkg/background/mpol/processor.go",
	}
	// nullFails: annotate.
	nullFails = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "fails if an audit annotation is null", Documented: "it is left out",
		Advice: "give \"\" in place of null", Recordings: []string{"mpol-audit-null"},
	}
	// exceptionVariables: excepted.
	exceptionVariables = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "fails if a condition of an exception reads variables", Documented: "the variables of the policy are available",
		Advice: "say the same in the condition without variables", Recordings: []string{"mpol-exceptions"},
	}
	// runsTwice: markShared.
	runsTwice = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "runs the policy twice, because policies with the same selectors have failurePolicy Fail and Ignore", Documented: "a policy runs once",
		Advice: "give all policies with these selectors the same failurePolicy", Source: "pkg/controllers/webhook/utils.go",
	}
	// namespaceObjectNull: inServer.
	namespaceObjectNull = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "has the API server evaluate matchConditions, where namespaceObject is null", Documented: "matchConditions can use namespaceObject",
		Advice: "use a namespaceSelector, or a variable in the condition, which keeps it from the API server", Source: "pkg/controllers/webhook/utils.go",
	}
	// settingsIgnored: constraints and checkReinvocation.
	settingsIgnored = &deviation.Deviation{
		Versions: []string{"1.19"}, Does: "ignores matchPolicy and reinvocationPolicy: they are Equivalent and Never", Documented: "they are those of the webhook",
		Advice: "remove the field", Source: "pkg/controllers/webhook/utils.go",
	}
)

// Deviations are all of them.
var Deviations = []*deviation.Deviation{
	autogenMetadata, autogenNotWrapped, autogenJSONPatch, autogenVariables, autogenTexts,
	selfTargets, nullFails, exceptionVariables, runsTwice, namespaceObjectNull, settingsIgnored,
}

// mark is a part of a policy where Kyverno deviates.
type mark struct {
	at        policy.Node
	deviation *deviation.Deviation
}

// marks finds the deviations that do not depend on objects.
func (d *definition) marks(spec policy.Node) (found []mark) {
	add := func(n policy.Node, v *deviation.Deviation) { found = append(found, mark{n, v}) }
	if n := spec.At("matchConstraints", "matchPolicy"); n.Text() == "Exact" {
		add(n, settingsIgnored)
	}
	if n := spec.At("reinvocationPolicy"); n.Text() == "IfNeeded" {
		add(n, settingsIgnored)
	}
	if conditions := spec.At("matchConditions"); d.inServer != nil {
		add(conditions, namespaceObjectNull)
	} else if len(d.conditions) > 0 && d.targets != nil && !d.targets.isExplicit {
		add(conditions, selfTargets)
	}
	if d.twice {
		add(spec, runsTwice)
	}
	for i, a := range d.annotations {
		if n := spec.At("auditAnnotations").Items()[i].At("valueExpression"); strings.Contains(n.Text(), "null") && a.program != nil {
			add(n, nullFails)
		}
	}
	if len(d.units) > 1 {
		found = append(found, d.extended(spec)...)
	}
	return found
}

// extended finds the deviations of the policies that Kyverno generates for controllers.
func (d *definition) extended(spec policy.Node) (found []mark) {
	for _, item := range spec.At("variables").Items() {
		n := item.At("expression")
		if specText().MatchString(n.Text()) || metadataText().MatchString(n.Text()) {
			found = append(found, mark{n, autogenVariables})
		}
	}
	for _, item := range spec.At("mutations").Items() {
		if n := item.At("jsonPatch", "expression"); n.Text() != "" {
			found = append(found, mark{n, autogenJSONPatch})
		}
		n := item.At("applyConfiguration", "expression")
		text := n.Text()
		rest, isObject := strings.CutPrefix(strings.TrimSpace(text), "Object")
		switch {
		case text == "":
		case !isObject || !strings.HasPrefix(strings.TrimSpace(rest), "{"):
			found = append(found, mark{n, autogenNotWrapped})
		case strings.Contains(text, "Object.metadata"):
			found = append(found, mark{n, autogenMetadata})
		case slices.ContainsFunc([]string{`object["`, "object.?", `"object.`, "oldObject.?"}, func(part string) bool { return strings.Contains(text, part) }):
			found = append(found, mark{n, autogenTexts})
		}
	}
	return found
}

// whyExtended returns the deviation that may be the reason why the policy fails for controllers.
func (d *definition) whyExtended() *deviation.Deviation {
	for _, m := range d.extended(policy.NodeAt(d.document, "spec")) {
		if m.deviation != autogenJSONPatch {
			return m.deviation
		}
	}
	return autogenTexts
}

// checkDeviations reports the deviations of a policy.
func (d *definition) checkDeviations(spec policy.Node) (found []source.Diagnostic) {
	for _, m := range d.marks(spec) {
		at := d.document.At(m.at.Path)
		w := source.Diagnostic{
			At: at, Severity: source.Warning, Code: deviation.Code, Subject: d.kind + " " + d.key(),
			Field: m.at.Path.String(), Message: m.deviation.String(), Advice: m.deviation.Advice, Excerpt: d.document.Excerpt(at),
		}
		if m.deviation == settingsIgnored {
			w = d.document.Remove(w, m.at.Path)
		}
		found = append(found, w)
	}
	for _, x := range d.exceptions {
		if x.usesVariables {
			at := x.exception.reader.Document.At(change.Keys("spec", "matchConditions"))
			found = append(found, source.Diagnostic{
				At: at, Severity: source.Warning, Code: deviation.Code, Subject: "PolicyException " + x.exception.name,
				Field: "spec.matchConditions", Message: exceptionVariables.String(), Advice: exceptionVariables.Advice, Excerpt: x.exception.reader.Document.Excerpt(at),
			})
		}
	}
	return found
}
