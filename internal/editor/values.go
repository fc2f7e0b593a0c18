package editor

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// values are the values of fields whose schemas do not enumerate them, as those of the policies of Kyverno.
var values = map[string][]string{
	"failurePolicy":           {"Fail", "Ignore"},
	"matchPolicy":             {"Equivalent", "Exact"},
	"operations":              {"CREATE", "UPDATE", "DELETE", "CONNECT"},
	"parameterNotFoundAction": {"Allow", "Deny"},
	"patchType":               {"ApplyConfiguration", "JSONPatch"},
	"reinvocationPolicy":      {"IfNeeded", "Never"},
	"restartPolicy":           {"Always", "Never", "OnFailure"},
	"scope":                   {"Cluster", "Namespaced", "*"},
	"validationActions":       {"Audit", "Deny", "Warn"},
}

// asked is a value that is being typed.
type asked struct {
	state *State
	lines *lines
	kind  gvk.Kind
	// around is the mapping of the value.
	around map[string]any
}

// text returns a text in the mapping of the value.
func (a *asked) text(name string) string {
	text, _ := a.around[name].(string)
	return text
}

// texts returns the texts of a list in the mapping of the value, without the one that is being typed; all
// texts if the list is missing.
func (a *asked) texts(name string) []string {
	texts := slices.DeleteFunc(textsOf(a.around[name]), func(text string) bool { return text == cursorMark })
	if len(texts) == 0 {
		return []string{"*"}
	}
	return texts
}

// sources list the values of fields, by the ends of their paths. A path that begins with a dot is complete.
var sources = map[string]func(a *asked) []string{
	".apiVersion": (*asked).apiVersions,
	".kind":       (*asked).kinds,

	"paramKind.apiVersion": (*asked).apiVersions,
	"paramKind.kind":       (*asked).kinds,
	"spec.policyName":      (*asked).policies,
	"paramRef.name":        func(a *asked) []string { return a.params(Object.name) },
	"paramRef.namespace":   func(a *asked) []string { return a.params(Object.namespace) },
	"metadata.namespace":   (*asked).namespaces,
	"validations.reason": func(*asked) []string {
		return []string{"Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"}
	},

	"resourceRules.apiGroups":          (*asked).groups,
	"resourceRules.apiVersions":        (*asked).versions,
	"resourceRules.resources":          (*asked).resources,
	"excludeResourceRules.apiGroups":   (*asked).groups,
	"excludeResourceRules.apiVersions": (*asked).versions,
	"excludeResourceRules.resources":   (*asked).resources,
	"rules.apiGroups":                  (*asked).groups,
	"rules.apiVersions":                (*asked).versions,
	"rules.resources":                  (*asked).resources,

	"resources.kinds":      (*asked).allKinds,
	"resources.namespaces": (*asked).namespaces,
	"configMap.name":       func(a *asked) []string { return a.namesOf(configMapKind, Object.name) },
	"configMap.namespace":  func(a *asked) []string { return a.namesOf(configMapKind, Object.namespace) },

	"applyTo.groups":   (*asked).groups,
	"applyTo.versions": func(a *asked) []string { return a.versionsOf("groups") },
	"applyTo.kinds":    func(a *asked) []string { return a.kindsOf("groups", "versions") },
	"kinds.apiGroups":  (*asked).groups,
	"kinds.kinds":      func(a *asked) []string { return a.kindsOf("apiGroups", "") },

	"match.namespaces":         (*asked).namespaces,
	"match.excludedNamespaces": (*asked).namespaces,
	"parameters.assign.value":  (*asked).atLocation,
	"values.fromList":          (*asked).atLocation,
}

// completeValue lists the values of a slot.
func (s *State) completeValue(l *lines, at slot) []Item {
	var items []Item
	for _, value := range s.valuesOf(l, at) {
		item := Item{Kind: ValueItem, Name: value}
		switch {
		case value == "":
			item.Name, item.Detail = `""`, "the core group"
			item.Insert = strings.TrimPrefix(item.Name, at.quote)
		case at.quote == "" && mustQuote(value):
			item.Insert = `"` + value + `"`
		}
		items = append(items, item)
	}
	return items
}

// mustQuote reports whether a value that is a name means something else without quotes.
func mustQuote(value string) bool {
	return strings.ContainsAny(value[:1], "*0123456789") || slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(value))
}

func (s *State) valuesOf(l *lines, at slot) []string {
	if len(at.path) == 0 {
		return nil
	}
	path := "." + strings.Join(at.path, ".")
	for end, find := range sources {
		if path == end || strings.HasSuffix(path, "."+end) {
			a := &asked{state: s, lines: l, kind: at.kind}
			if mappings := l.around(at); len(mappings) > 0 {
				a.around = mappings[len(mappings)-1]
			}
			found := find(a)
			slices.Sort(found)
			return slices.Compact(found)
		}
	}
	if n, ok := s.inPatch(at.kind, at.path, func() []map[string]any { return l.around(at) }); ok {
		return s.valuesIn(n)
	}
	return s.enumeration(at.kind, at.path)
}

// valuesIn returns the values of a field that its type allows in any of its kinds.
func (s *State) valuesIn(n named) (all []string) {
	for _, kind := range n.kinds {
		all = append(all, s.enumeration(kind, n.path)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// enumeration returns the values of a field that its type allows; nil if these cannot be listed.
func (s *State) enumeration(kind gvk.Kind, path []string) []string {
	if found := s.Schemas.Values(kind, path...); len(found) > 0 {
		return found
	}
	if len(path) == 0 || s.Schemas.TypeAt(kind, path...) == "" {
		return nil
	}
	return values[path[len(path)-1]]
}

// kinds returns the kinds of the apiVersion beside the value, or all kinds without an apiVersion. All versions of a kind of
// policies have the same fields.
func (a *asked) kinds() []string {
	apiVersion := a.text("apiVersion")
	if apiVersion == "" {
		return a.allKinds()
	}
	var names []string
	group := gvk.Parse(apiVersion, "").Group
	for _, k := range a.state.Schemas.Policies() {
		if k.Group == group {
			names = append(names, k.Kind)
		}
	}
	for _, k := range a.known() {
		if k.APIVersion() == apiVersion {
			names = append(names, k.Kind)
		}
	}
	return names
}

func (a *asked) allKinds() []string {
	var names []string
	for _, k := range a.known() {
		names = append(names, k.Kind)
	}
	return names
}

// apiVersions returns the apiVersions of the kind beside the value, or all apiVersions without a kind.
func (a *asked) apiVersions() []string {
	var names []string
	for _, k := range a.known() {
		if kind := a.text("kind"); kind == "" || k.Kind == kind {
			names = append(names, k.APIVersion())
		}
	}
	return names
}

// known returns the kinds that have a definition, and those of the documents of the workspace.
func (a *asked) known() []gvk.Kind {
	kinds := slices.Concat(a.state.Schemas.Kinds(), a.state.Schemas.Policies())
	for _, o := range a.state.Objects() {
		if o.Kind.Kind != "" && o.Kind.Version != "" {
			kinds = append(kinds, o.Kind)
		}
	}
	return kinds
}

// objects returns the documents of the workspace, and those of the text of which the cursor is in.
func (a *asked) objects() []Object {
	return append(a.lines.objects(), a.state.Objects()...)
}

// policies returns the names of the policies that a binding can name.
func (a *asked) policies() []string {
	var names []string
	for _, o := range a.objects() {
		if o.Kind.Kind+"Binding" == a.kind.Kind && o.Kind.Group == a.kind.Group {
			names = append(names, o.Name)
		}
	}
	return names
}

// params returns a name of each param that a binding can name: of those of the kind that its policy
// asks for.
func (a *asked) params(name func(Object) string) []string {
	spec, _ := a.lines.read("")["spec"].(map[string]any)
	policy, _ := spec["policyName"].(string)
	var names []string
	for _, o := range a.objects() {
		if o.Kind.Kind+"Binding" != a.kind.Kind || o.Name != policy {
			continue
		}
		names = append(names, a.namesOf(o.paramKind(), name)...)
	}
	return names
}

var configMapKind = gvk.Kind{Version: "v1", Kind: "ConfigMap"}

// namesOf returns a name of each object of a kind.
func (a *asked) namesOf(kind gvk.Kind, name func(Object) string) []string {
	var names []string
	for _, o := range a.objects() {
		if o.Kind == kind && name(o) != "" {
			names = append(names, name(o))
		}
	}
	return names
}

// atLocation returns the values of the field at the location of a mutator of Gatekeeper.
func (a *asked) atLocation() (all []string) {
	location, _ := change.Keys("spec", "location").Get(a.lines.read(""))
	text, _ := location.(string)
	return a.state.valuesIn(a.state.located(a.lines, text))
}

// namespaces returns the namespaces that the documents name.
func (a *asked) namespaces() []string {
	var names []string
	for _, o := range a.objects() {
		if o.Kind == namespaceKind {
			names = append(names, o.Name)
		} else if o.Namespace != "" && o.Namespace != cursorMark {
			names = append(names, o.Namespace)
		}
	}
	return names
}

func (a *asked) groups() []string {
	var names []string
	for _, k := range a.state.Schemas.Kinds() {
		names = append(names, k.Group)
	}
	return names
}

func (a *asked) versions() []string { return a.versionsOf("apiGroups") }

// versionsOf returns the versions of the groups in a field.
func (a *asked) versionsOf(groups string) []string {
	var names []string
	for _, k := range a.state.Schemas.Selected(a.texts(groups), []string{"*"}, []string{"*"}) {
		names = append(names, k.Version)
	}
	return names
}

// kindsOf returns the kinds of the groups and versions in two fields.
func (a *asked) kindsOf(groups, versions string) []string {
	var names []string
	for _, k := range a.state.Schemas.Selected(a.texts(groups), a.texts(versions), []string{"*"}) {
		names = append(names, k.Kind)
	}
	return names
}

func (a *asked) resources() []string {
	return a.state.Schemas.Resources(a.texts("apiGroups"), a.texts("apiVersions"))
}
