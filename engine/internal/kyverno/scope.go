package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
)

var (
	namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}
	configMapKind = gvk.Kind{Version: "v1", Kind: "ConfigMap"}
)

// evaluation is the state of the program on one request.
type evaluation struct {
	program   *program
	request   *policy.Request
	operation string
	user      given.UserInfo
	// original is the object before the first rule of the policy. The variable images is
	// computed from it.
	original map[string]any
	images   []*entry
	// rule is the rule that runs.
	rule *rule
	// empty says that a policy has failed, and its failure was ignored.
	empty bool
	// matched says that a rule has matched, whole that Kyverno has read the object since then, and oldWhole
	// that it has read the old object: see numbersWhole.
	matched, whole, oldWhole bool
	// elements counts evaluated foreach elements, whose number is limited.
	elements int
	// steps is the memory of the steps of a policy, path that of the path of a value.
	steps []policy.Step
	path  change.Path
}

func (p *program) evaluate(r *policy.Request) *evaluation {
	e := &evaluation{program: p, request: r, operation: string(r.Operation), original: r.Object}
	e.user = p.user
	e.user.Name, e.user.UID, e.user.Groups = r.User.Name, r.User.UID, r.User.Groups
	return e
}

// candidate returns the object of the request as filters see it.
func (e *evaluation) candidate(object map[string]any) candidate {
	c := candidate{kind: e.request.Kind.Kind, object: object}
	if e.request.Kind.Namespaced {
		c.namespace = e.request.Namespace
	}
	return c
}

// namespaceLabels returns the labels of a namespace, from the values or from its object.
func (e *evaluation) namespaceLabels(name string) map[string]any {
	if labels, ok := e.program.values.Labels(name); ok {
		return labels
	}
	e.request.Snapshot.Ask()
	object, known, err := e.request.Snapshot.Namespace(name)
	if err != nil {
		return nil
	}
	if !known {
		e.warnAssumed(name, "selects namespaces by label")
	}
	labels, _ := change.Keys("metadata", "labels").Get(object)
	found, _ := labels.(map[string]any)
	return found
}

// warnAssumed warns that the rule uses a namespace that is not in the input.
func (e *evaluation) warnAssumed(namespace, why string) {
	e.request.WarnAssumed(namespace, e.rule.at(e.rule.root.Path), "policy "+e.rule.policy.key()+" "+why)
}

// scope has what expressions can use: variables, and entries of a context that are loaded when
// an expression first names them.
type scope struct {
	evaluation *evaluation
	// vars are the variables. They are nil until an expression needs them, because the variable
	// request contains a copy of the object.
	vars map[string]any
	// begun is the object before the rule.
	begun   map[string]any
	pending []*entry
	// given are the variables that the user's values define.
	given map[string]bool
	// loaded is the size of the loaded entries.
	loaded int
}

// newScope returns the scope of a rule for an object.
func (e *evaluation) newScope(r *rule, object map[string]any) *scope {
	s := &scope{evaluation: e, begun: object}
	if hasImages[e.request.Kind.Kind.Kind] {
		s.pending = e.imagesEntry()
	}
	for _, v := range r.variables(e.program.values, nameOf(object)) {
		s.give(v.key, v.value)
	}
	return s
}

// imagesEntry returns the variable images, which the rules of a policy share.
func (e *evaluation) imagesEntry() []*entry {
	if len(e.images) == 0 || !change.Same(e.images[0].images, e.original) {
		e.images = []*entry{{name: "images", images: e.original}}
	}
	return slices.Clip(e.images)
}

// variables returns the variables of expressions, except for entries that are not loaded.
func (s *scope) variables() map[string]any {
	if s.vars != nil {
		return s.vars
	}
	s.vars = map[string]any{"request": s.evaluation.requestVariable(s.begun)}
	if account, ok := strings.CutPrefix(s.evaluation.user.Name, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(account, ":")
		s.vars["serviceAccountName"], s.vars["serviceAccountNamespace"] = name, namespace
	} else if s.evaluation.user.IsGiven() {
		s.vars["serviceAccountName"], s.vars["serviceAccountNamespace"] = "", ""
	}
	return s.vars
}

func nameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// requestVariable returns the variable request: the fields of an AdmissionRequest.
func (e *evaluation) requestVariable(object map[string]any) map[string]any {
	r := e.request
	kind := map[string]any{"group": r.Kind.Group, "version": r.Kind.Version, "kind": r.Kind.Kind.Kind}
	resource := map[string]any{"group": r.Kind.Group, "version": r.Kind.Version, "resource": r.Kind.Resource}
	request := map[string]any{
		"object": e.objectVariable(object), "operation": e.operation, "dryRun": r.DryRun,
		"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
	}
	for key, text := range map[string]string{"namespace": r.Namespace, "name": r.Name} {
		if text != "" { // else the webhook has no such key, and an expression fails
			request[key] = text
		}
	}
	if r.OldObject != nil {
		request["oldObject"] = data(r.OldObject, e.oldWhole)
	}
	if e.user.IsGiven() {
		request["userInfo"] = e.user.Complete(policy.User{}).Info()
		request["roles"], request["clusterRoles"] = change.List(e.user.Roles), change.List(e.user.ClusterRoles)
	}
	return request
}

// objectVariable returns an object as expressions see it: with its namespace, which a server
// adds before admission.
func (e *evaluation) objectVariable(object map[string]any) map[string]any {
	variable, _ := data(object, e.whole).(map[string]any)
	if metadata, ok := variable["metadata"].(map[string]any); ok && metadata["namespace"] == nil && e.request.Kind.Namespaced {
		return with(variable, []string{"metadata", "namespace"}, e.request.Namespace)
	}
	return variable
}

// data returns a value as expressions see it. Its integers stay integers if it is whole: see numbersWhole.
func data(value any, whole bool) any {
	if whole {
		return jmespath.Whole(value)
	}
	return jmespath.Input(value)
}

// setObject changes the object that expressions see.
func (s *scope) setObject(object map[string]any) {
	s.evaluation.whole = true
	request, _ := s.variables()["request"].(map[string]any)
	request = maps.Clone(request)
	request["object"] = s.evaluation.objectVariable(object)
	s.vars["request"] = request
}

// give sets the variable at a dotted path.
func (s *scope) give(key string, value any) {
	parts := strings.Split(key, ".")
	if s.given == nil {
		s.given = map[string]bool{}
	}
	s.given[parts[0]] = true
	s.vars = with(s.variables(), parts, jmespath.Input(value))
}

// with returns an object with the value at a path of keys replaced.
func with(object map[string]any, path []string, value any) map[string]any {
	copied := maps.Clone(object)
	if copied == nil {
		copied = map[string]any{}
	}
	if len(path) == 1 {
		copied[path[0]] = value
		return copied
	}
	child, _ := copied[path[0]].(map[string]any)
	copied[path[0]] = with(child, path[1:], value)
	return copied
}

// child returns a copy of the scope that can be changed independently.
func (s *scope) child() *scope {
	copied := *s
	copied.vars, copied.pending = maps.Clone(s.vars), slices.Clone(s.pending)
	return &copied
}

// query evaluates an expression, after loading the entries that it names.
func (s *scope) query(text string) (any, error) {
	text = strings.TrimSpace(text)
	expression, err := s.evaluation.program.env.Compile(text)
	if err != nil {
		return nil, err
	}
	if err := s.load(text); err != nil {
		return nil, err
	}
	if s.vars == nil && !change.Reference {
		if text, ok := expression.TextBelow(s.begun, "request", "object"); ok {
			return text, nil
		}
	}
	s.observe(text, s.variables())
	return s.evaluation.program.env.Search(expression, s.variables())
}

// load loads the entries that an expression names, in the order of their definition. While an
// entry is loaded, its name has its earlier meaning.
func (s *scope) load(text string) error {
	for {
		i := slices.IndexFunc(s.pending, func(e *entry) bool { return names(text, e.name) })
		if i < 0 {
			return nil
		}
		s.variables()
		e := s.pending[i]
		s.pending = slices.Delete(slices.Clone(s.pending), i, i+1)
		value, err := s.loadEntry(e)
		if err != nil {
			return err
		}
		size, _ := limit.Size(value, limit.Texts)
		if s.loaded += size; s.loaded > limit.Texts {
			return limit.Exceeded(limit.Expression, "select less in the context", "the entries of the context take more than %d MiB", limit.Texts>>20)
		}
		if value != nil || e.images == nil {
			s.vars[e.name] = jmespath.Input(value)
		}
	}
}

// names reports whether an expression contains a name that is not part of a longer name or of a
// path.
func names(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		before := i == 0 || !isWord(text[i-1]) && text[i-1] != '.' || text[i-1] == '_'
		if before && (end == len(text) || !isWord(text[end])) {
			return true
		}
		from = i + 1
	}
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
