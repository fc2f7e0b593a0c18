package kyverno

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno/deviation"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// only119 are the versions with the deviations of rules: later versions have no ClusterPolicies.
var only119 = []string{"1.19"}

const ownPolicy = "write a policy for the controllers, and set the annotation " + autogenAnnotation + " to none"

// The deviations of Kyverno's mutate rules from its documentation.
var (
	// firstItemDecides: decideAdditions.
	firstItemDecides = &deviation.Deviation{
		Versions: only119, Does: "lets the first item of the object decide +( ) for all items", Documented: "+( ) is decided for each item",
		Advice: "write a foreach over the items", Recordings: []string{"first-item-decides"},
	}
	// itemsLost: deleteFromList.
	itemsLost = &deviation.Deviation{
		Versions: only119, Does: "loses items of a list when several items of the patch have anchors", Documented: "each item is applied",
		Advice: "write a rule for each item", Recordings: []string{"items-lost"},
	}
	// nameIgnored: addNamed.
	nameIgnored = &deviation.Deviation{
		Versions: only119, Does: "ignores a plain name in an item with anchors", Documented: "the name selects the item",
		Advice: "write it as a condition: (name)", Recordings: []string{"name-ignored"},
	}
	// conditionWritten: deleteAnchors.
	conditionWritten = &deviation.Deviation{
		Versions: only119, Does: "writes values below a condition into the object", Documented: "a condition is only compared",
		Advice: "write the condition with anchors down to single values, or as a precondition", Recordings: []string{"condition-written"},
	}
	// emptyMapDropped: deleteAnchors.
	emptyMapDropped = &deviation.Deviation{
		Versions: only119, Does: "does not write empty maps of a patch", Documented: "the patch is merged",
		Advice: "write them with patchesJson6902", Recordings: []string{"empty-map"},
	}
	// namedItemsOnly: addNamed.
	namedItemsOnly = &deviation.Deviation{
		Versions: only119, Does: "applies items with anchors only to items with a name, and replaces lists that do not merge by name", Documented: "items that meet the conditions are changed",
		Advice: "write a foreach with patchesJson6902", Recordings: []string{"named-items-only", "list-replaced"},
	}
	// anchorWritten: isDecided.
	anchorWritten = &deviation.Deviation{
		Versions: only119, Does: "writes the keys =( ), X( ) and ^( ) of a patch into the object", Documented: "they are anchors",
		Advice: "write ( ), +( ) or <( ), or a precondition", Recordings: []string{"anchor-written"},
	}
	// listQuirk: strategicmerge.Merge.
	listQuirk = &deviation.Deviation{
		Versions: only119, Does: "merges items of lists with the same keys into one, and loses items without a key", Documented: "other items stay as they are",
		Advice: "write a foreach with patchesJson6902, or give each item its own keys", Recordings: []string{"list-quirk"},
	}
	// linesFolded: readAsYAML.
	linesFolded = &deviation.Deviation{
		Versions: only119, Does: "takes U+0085 for the end of a line in all texts of the object, which it replaces by a space", Documented: "what a patch does not name stays as it is",
		Advice: "write the rule with patchesJson6902, or texts without U+0085", Recordings: []string{"lines-folded"},
	}
	// directiveWritten: strategicmerge.Merge.
	directiveWritten = &deviation.Deviation{
		Versions: only119, Does: "writes directives other than $patch into the object", Documented: "they are directives of a strategic merge patch",
		Advice: "use $patch, or patchesJson6902", Recordings: []string{"directive-written"},
	}
	// replaceFails: jsonpatch.Kyverno.
	replaceFails = &deviation.Deviation{
		Versions: only119, Does: "fails if replace has nothing to replace", Documented: "add and replace have the same behavior",
		Advice: "use add", Recordings: []string{"replace-missing"},
	}
	// nestedForeachDropped: wrapPatches.
	nestedForeachDropped = &deviation.Deviation{
		Versions: only119, Does: "deletes the pod template of controllers", Documented: "the rule also applies to pod controllers",
		Advice: ownPolicy, Recordings: []string{"autogen-nested"},
	}
	// orderDropped: wrapPatches.
	orderDropped = &deviation.Deviation{
		Versions: only119, Does: "takes the default order of elements for pod controllers", Documented: "the rule also applies to pod controllers",
		Advice: ownPolicy, Recordings: []string{"autogen-order"},
	}
	// targetsDropped: wrapPatches.
	targetsDropped = &deviation.Deviation{
		Versions: only119, Does: "patches pod controllers in place of the targets", Documented: "the rule changes its targets",
		Advice: "set the annotation " + autogenAnnotation + " to none", Recordings: []string{"autogen-targets"},
	}
	// targetsAgain: evaluation.followAll, which runs a rule once.
	targetsAgain = &deviation.Deviation{
		Versions: only119, Does: "runs all rules with targets of a policy at least once for each of them, and again when two change one object; so this rule, which changes its own result, has a result that varies", Documented: "a rule changes its targets",
		Advice: "write a rule that changes nothing the second time, or one policy for each rule with targets", Source: "pkg/background/mutate/mutate.go",
	}
	// textReplaced: generate.
	textReplaced = &deviation.Deviation{
		Versions: only119, Does: "replaces the text request.object.metadata everywhere in the rule for pod controllers, so that it reads the pod template's metadata, which has no name or namespace",
		Documented: "the rule also applies to pod controllers",
		Advice:     "use request.name and request.namespace, or " + ownPolicy, Recordings: []string{"autogen-text"},
	}
	// nothingAfterFailure: webhook.Steps.
	nothingAfterFailure = &deviation.Deviation{
		Versions: only119, Does: "drops all changes of a policy with a rule that fails, and gives an empty object to the policies after it", Documented: "failurePolicy Ignore ignores the failure",
		Advice: "correct the rule that fails", Source: "pkg/webhooks/resource/mutation/mutation.go",
	}
	// numbersWhole: evaluation.matched.
	numbersWhole = &deviation.Deviation{
		Versions: only119, Does: "reads the numbers of the object as floating-point numbers in the first rule that matches, and as integers after it, which functions and comparisons of JMESPath do not take for numbers", Documented: "a rule sees the numbers of the object",
		Advice: "read the number in a variable of the context, whose numbers are always floating-point numbers", Recordings: []string{"whole"},
	}
	// allSubstituted: substituteOthers.
	allSubstituted = &deviation.Deviation{
		Versions: only119, Does: "fails if this variable is missing, even if the rule does not need it", Documented: "one condition of any decides, and entries of a context are loaded when they are needed",
		Advice: "give the variable a default: {{ … || '' }}", Recordings: []string{"whole-rule"},
	}
	// selfBelow: expand.
	selfBelow = &deviation.Deviation{
		Versions: only119, Does: "takes @ in a foreach for the path of the value without its first key", Documented: "@ is the value at the same path of the object",
		Advice: "write the path: {{ request.object.… }}", Recordings: []string{"self"},
	}
	// operationsIgnored: reader.exception.
	operationsIgnored = &deviation.Deviation{
		Versions: only119, Does: "does not compare the operations of an exception", Documented: "an exception selects objects as a rule does",
		Advice: "write a condition of the exception: {key: \"{{ request.operation }}\", operator: AnyIn, value: [UPDATE]}", Recordings: []string{"exception-operations"},
	}
	// flowTextFails: isFlowText.
	flowTextFails = &deviation.Deviation{
		Versions: only119, Does: "fails, because a patch that begins with [ must be JSON", Documented: "patchesJson6902 is YAML or JSON",
		Advice: "begin the operations with - in place of [", Recordings: []string{"json-patch-list"},
	}
)

// Deviations are all of them.
var Deviations = []*deviation.Deviation{
	firstItemDecides, itemsLost, nameIgnored, conditionWritten, emptyMapDropped, namedItemsOnly, anchorWritten, listQuirk, linesFolded,
	directiveWritten, replaceFails, nestedForeachDropped, orderDropped, targetsDropped, targetsAgain, textReplaced, nothingAfterFailure, flowTextFails,
	allSubstituted, selfBelow, numbersWhole, operationsIgnored,
}

// Mark is a part of a rule where Kyverno deviates, or may deviate for some objects.
type Mark struct {
	Path change.Path
	// Means says what Kyverno does there.
	Means *deviation.Deviation
}

// marks finds the deviations of a strategic merge patch.
func marks(n policy.Node) (found []Mark) {
	if _, isList := n.Value.([]any); isList {
		return marksOfList(n)
	}
	if fields := n.Object(); fields != nil && len(fields) == 0 {
		return []Mark{{n.Path, emptyMapDropped}}
	}
	for _, member := range n.Below() {
		key := member.Key()
		a, _ := ParseAnchor(key)
		switch {
		case strings.HasPrefix(key, "$") && key != directive && !HasSubstitutions(key):
			found = append(found, Mark{member.Path, directiveWritten})
		case isConditionKey(key) && leavesText(member.Value):
			found = append(found, Mark{member.Path, conditionWritten})
		case isConditionKey(key):
		case a != NoAnchor && a != Add:
			found = append(found, Mark{member.Path, anchorWritten})
		default:
			found = append(found, marks(member)...)
		}
	}
	return found
}

// leavesText reports whether deleting the anchors inside a condition leaves something.
func leavesText(condition any) bool {
	object, ok := condition.(map[string]any)
	if !ok {
		list, _ := condition.([]any)
		return slices.ContainsFunc(list, func(item any) bool { return !HasAnchors(item) })
	}
	for key, member := range object {
		if a, _ := ParseAnchor(key); a == NoAnchor || leavesText(member) {
			return true
		}
	}
	return false
}

func marksOfList(n policy.Node) (found []Mark) {
	anchored := 0
	for _, item := range n.Items() {
		found = append(found, marks(item)...)
		if item.Object() == nil || !HasAnchors(item.Value) {
			continue
		}
		if anchored++; anchored == 2 {
			found = append(found, Mark{n.Path, itemsLost})
		}
		if hasAnchor(item.Value, func(a Anchor) bool { return a == Add }) {
			found = append(found, Mark{item.Path, firstItemDecides})
		}
		if item.At("name").Given() {
			found = append(found, Mark{item.At("name").Path, nameIgnored})
		}
		found = append(found, Mark{item.Path, namedItemsOnly})
	}
	return found
}

// isSafe reports whether Kyverno does as documented for a mark in objects of all types: it handles
// an item with anchors if the list merges by name.
func (m Mark) isSafe(patch change.Path, types []*schema.Type) bool {
	if m.Means != namedItemsOnly {
		return false
	}
	for _, t := range types {
		var list *schema.Type
		for _, step := range m.Path[len(patch):] {
			if list = t; step.IsIndex() {
				t = t.ItemType()
			} else {
				t = t.FieldType(step.Key)
			}
		}
		if list == nil || list.MergeKey != "name" {
			return false
		}
	}
	return len(types) > 0
}

// deviations finds the deviations that do not depend on objects, besides those of the rules that
// are generated from the rule. types are those of the objects that the rule changes.
func (r *rule) deviations(types []*schema.Type) (found []Mark) {
	for i, n := range withEntries(r.mutation) {
		patch := n.At(strategicPatch)
		for _, m := range marks(patch) {
			if !m.isSafe(patch.Path, types) {
				found = append(found, m)
			}
		}
		if patch := n.At("patchesJson6902"); isFlowText(patch.Value) && !hasVariables(patch.Text()) {
			found = append(found, Mark{patch.Path, flowTextFails})
		}
		if i == 0 {
			continue // not an entry of foreach
		}
		walkTexts(patch, func(n policy.Node, text string) {
			if selfPattern().MatchString(text) {
				found = append(found, Mark{n.Path, selfBelow})
			}
		})
		found = append(found, marksOfConditions(n.At("preconditions"))...)
	}
	found = append(found, marksOfConditions(r.preconditions)...)
	for _, target := range r.targets {
		found = append(found, marksOfConditions(target.At("preconditions"))...)
	}
	for _, n := range r.others {
		isNeeded := n.Has("name") && r.uses(n.At("name").Text()) || !n.Path.HasPrefix(r.preconditions.Path) && !n.Path.HasPrefix(r.context.Path)
		if !isNeeded && mayMiss(n) {
			found = append(found, Mark{n.Path, allSubstituted})
		}
	}
	return found
}

// exponent is the least number that Kyverno writes with an exponent if it is a floating-point number.
const exponent = 1e6

// marksOfConditions finds the deviations of preconditions.
func marksOfConditions(n policy.Node) (found []Mark) {
	for _, item := range conditionsIn(n) {
		if readsNumbers(item) {
			found = append(found, Mark{item.Path, numbersWhole})
		}
	}
	return found
}

// readsNumbers reports whether a condition compares a variable with numbers for which it matters whether
// they are integers: in a list or map for Equals, and large ones, which the list operators compare as texts.
func readsNumbers(condition policy.Node) bool {
	operator := strings.ToLower(condition.At("operator").Text())
	inEquals := func(value any) bool { return change.IsCollection(value) && hasNumber(value, 0) }
	inList := func(value any) bool { return hasNumber(value, exponent) }
	reads := inList
	switch {
	case strings.HasPrefix(operator, "equal"), strings.HasPrefix(operator, "notequal"):
		reads = inEquals
	case !strings.HasSuffix(operator, "in"):
		return false
	}
	key, value := condition.At("key").Value, condition.At("value").Value
	return HasSubstitutions(key) && reads(value) || HasSubstitutions(value) && reads(key)
}

// hasNumber reports whether a value has a number, or the text of a number, that is not smaller than a bound.
func hasNumber(value any, least float64) bool {
	return anywhere(value, func(part any, isKey bool) bool {
		switch part := part.(type) {
		case string:
			f, err := strconv.ParseFloat(part, 64)
			return !isKey && err == nil && least > 0 && math.Abs(f) >= least
		case int64:
			return math.Abs(float64(part)) >= least
		}
		return false
	})
}

// uses reports whether a variable of the rule names an entry of its context.
func (r *rule) uses(entry string) (found bool) {
	for _, n := range []policy.Node{r.context, r.preconditions, r.mutation} {
		walkTexts(n, func(_ policy.Node, text string) { found = found || names(text, entry) })
	}
	return found
}

// selfPattern finds the variable @.
var selfPattern = lazyregexp.New(`\{\{\s*@\s*\}\}`)

// present are the fields of requests that no policy expects to be missing.
var present = []string{"apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace", "spec"}

// mayMiss reports whether a value has a variable that is the path of a field, which may be missing.
func mayMiss(n policy.Node) (may bool) {
	walkTexts(n, func(_ policy.Node, text string) {
		for _, m := range variablePattern().FindAllStringSubmatch(text, -1) {
			expression, err := jmespath.Compile(strings.TrimSpace(m[2][2 : len(m[2])-2]))
			if err == nil {
				keys := expression.Keys()
				may = may || len(keys) > 2 && keys[1] == "object" && !slices.Contains(present, strings.Join(keys[2:], "."))
			}
		}
	})
	return may
}

// isExtended reports whether Kyverno generates rules for pod controllers from the rule.
func (r *rule) isExtended() bool {
	return slices.ContainsFunc(r.policy.rules, func(other *rule) bool {
		return other.generated && slices.Equal(other.root.Path, r.root.Path)
	})
}

// extended finds the deviations of the rules that are generated from the rule.
func (r *rule) extended() (found []Mark) {
	if targets := r.mutation.At("targets"); targets.Given() {
		found = append(found, Mark{targets.Path, targetsDropped})
	}
	for _, entry := range r.foreach.Items() {
		if nested := entry.At("foreach"); nested.Given() {
			found = append(found, Mark{nested.Path, nestedForeachDropped})
		} else if order := entry.At("order"); order.Given() && (order.Text() == "Descending") != entry.At(strategicPatch).Given() {
			found = append(found, Mark{order.Path, orderDropped})
		}
	}
	for _, n := range []policy.Node{r.context, r.preconditions, r.mutation} {
		if path, reads := readsName(n); reads {
			found = append(found, Mark{path, textReplaced})
		}
	}
	return found
}

// readsName returns the first text that reads the name or namespace of a pod.
func readsName(n policy.Node) (change.Path, bool) {
	if strings.Contains(n.Text(), "request.object.metadata.name") || strings.Contains(n.Text(), "request.object.metadata.ownerReferences") {
		return n.Path, true
	}
	for _, below := range n.Below() {
		if path, reads := readsName(below); reads {
			return path, true
		}
	}
	return nil, false
}

// check reports the deviations of a rule.
func (r *rule) check(types []*schema.Type) (found []source.Diagnostic) {
	seen := map[string]bool{}
	all := r.deviations(types)
	if r.isExtended() {
		all = append(all, r.extended()...)
	}
	for _, m := range all {
		if key := m.Path.String() + m.Means.Does; !seen[key] {
			seen[key] = true
			w := r.warning(r.at(m.Path), m.Path, deviation.Code, m.Means.String(), m.Means.Advice)
			found = append(found, r.asDocumented(m, w))
		}
	}
	return found
}

// asDocumented returns a warning about a deviation with the fix after which the rule does what is documented, if that is
// certain.
func (r *rule) asDocumented(m Mark, d source.Diagnostic) source.Diagnostic {
	document, key := r.policy.document, m.Path[len(m.Path)-1].Key
	switch m.Means {
	case nameIgnored:
		return d.Replacing(document.Key(m.Path), source.Meant(key, "("+key+")"))
	case targetsDropped:
		return document.Put(d, change.Keys("metadata", "annotations", autogenAnnotation), "none")
	case flowTextFails:
		text, _ := m.Path.Get(document.Object())
		if operations, err := manifest.Value(text.(string)); err == nil {
			return document.Replace(d, "Write JSON", m.Path, string(manifest.JSON(operations)))
		}
	}
	return d
}

// warning returns a warning about a part of the rule.
func (r *rule) warning(at source.Position, path change.Path, code, text, advice string) source.Diagnostic {
	return source.Diagnostic{
		At: at, Severity: source.Warning, Code: code, Subject: "policy " + r.policy.key() + ", rule " + r.name,
		Field: path.String(), Message: text, Advice: advice, Excerpt: r.policy.document.Excerpt(at),
	}
}

// warnLost warns if a strategic merge patch removes values that it does not name: Kyverno loses
// them. plain says that nothing was unusual about the merge.
func (s *scope) warnLost(r *rule, p *patch, f form, object, patched map[string]any, t *schema.Type, plain bool) {
	if plain && !r.generated && !f.anchored {
		return
	}
	var lost []change.Change
	cause, at := listQuirk, p.node.Path
	for _, c := range change.Diff(object, patched, t) {
		isTemplate := r.generated && c.Path[len(c.Path)-1].Key == "template"
		if c.Op == change.Remove && (isTemplate || !removes(f.value, c.Path)) {
			lost = append(lost, c)
		}
		if isTemplate {
			cause = nestedForeachDropped
		}
	}
	if len(lost) == 0 {
		return
	}
	for _, m := range marks(policy.Node{Value: f.value, Path: p.node.Path}) {
		if m.Means == itemsLost || m.Means == namedItemsOnly && cause == listQuirk {
			cause, at = m.Means, m.Path
		}
	}
	s.warn(cause, r, at, lost)
}

// warn warns that a deviation has changed an object.
func (s *scope) warn(cause *deviation.Deviation, r *rule, at change.Path, effect []change.Change) {
	subject := "policy " + r.policy.key() + ", rule " + r.name
	d := cause.Warning(source.Position{}, subject, source.Messagef(": %s", change.Summary(effect))).Naming(r.at(at), subject)
	d.Field = effect[0].Path.String()
	s.evaluation.request.Warn(d)
}

// removes reports whether a patch itself removes the value at a path, or replaces the list around
// it.
func removes(patch any, path change.Path) bool {
	for _, step := range path {
		object, ok := patch.(map[string]any)
		if _, isDirected := object[directive]; !ok || isDirected {
			return ok
		}
		member, present := object[step.Key]
		if !present {
			return false
		}
		patch = member
	}
	return patch == nil
}

// directive is the key of the directive of a strategic merge patch.
const directive = "$patch"
