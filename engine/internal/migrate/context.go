package migrate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// entry returns the value of an entry of the rule's context.
func (c *converter) entry(s *scope, name string) (code, error) {
	for _, item := range c.rule.Root.At("context").Items() {
		if item.At("name").Text() == name {
			found, err := c.entryOf(s, item)
			if err != nil {
				return code{}, c.failed(item.Path, err)
			}
			switch {
			case found.isImageData():
				return code{path: &path{root: c.variable(name, found.path.root).x, parts: found.path.parts}}, nil
			case found.isConstant || found.isRoot():
				return found, nil
			}
			mayFail := c.mayFail(found)
			if found.x = c.variable(name, found.x).x; mayFail {
				c.needed = append(c.needed, found.x)
			}
			return found.required(), nil
		}
	}
	if strings.HasPrefix(name, "element") { // Kyverno knows it in a foreach only
		return code{}, noFormf("write patchesJson6902", "%s in a patch that does not change the elements", name)
	}
	return code{}, noFormf("", "%s is not defined", name)
}

// required returns the value of an entry of a context. If it is missing, this is an error to Kyverno as
// soon as an expression names it, even before a default.
func (c code) required() code {
	return code{x: c.x, kind: c.kind, types: c.types, itemKind: c.itemKind}
}

// entryOf returns the value of an entry of a context.
func (c *converter) entryOf(s *scope, item policy.Node) (code, error) {
	found, err := c.loaded(s, item)
	if err == nil && found.path != nil {
		err = c.supports(found.path.root)
	}
	if err == nil {
		err = c.supports(found.x)
	}
	return found, err
}

// loaded returns the value of an entry of a context, whether servers have its functions or not.
func (c *converter) loaded(s *scope, item policy.Node) (code, error) {
	outer := &scope{rule: c, vars: s.vars}
	switch {
	case item.At("variable").Given():
		return outer.variableOf(item.At("variable"))
	case item.At("configMap").Given():
		return outer.configMap(item.At("configMap"))
	case item.At("globalReference").Given():
		return outer.loadedBy(item.At("globalReference"), "name", func(name expr.Expr) code {
			return code{x: expr.Call("globalContext.Get", name, expr.Literal(""))}
		})
	case item.At("imageRegistry").Given():
		return outer.loadedBy(item.At("imageRegistry"), "reference", func(reference expr.Expr) code {
			return code{path: &path{root: expr.Call("image.GetMetadata", reference)}}
		})
	}
	return outer.apiCall(item.At("apiCall"))
}

// loadedBy returns what an entry selects from the value that a function of one of its texts gives.
func (s *scope) loadedBy(n policy.Node, key string, of func(expr.Expr) code) (code, error) {
	argument, err := s.text(n.At(key).Text())
	if err != nil {
		return code{}, placed(err, n.At(key).Path)
	}
	return s.searched(of(argument.x), n.At("jmesPath"))
}

// variableOf converts an entry that is a variable.
func (s *scope) variableOf(n policy.Node) (code, error) {
	value, err := s.operand(n.At("value").Value)
	if err != nil {
		return code{}, placed(err, n.At("value").Path)
	}
	if path := n.At("jmesPath"); path.Given() {
		if n.At("value").Given() {
			value, err = s.searched(value, path)
		} else {
			inner, begin := trimmed(path.Text(), "{{")
			value, err = s.expression(strings.TrimSuffix(inner, "}}"))
			err = inText(err, begin)
		}
		if err != nil {
			return code{}, placed(err, path.Path)
		}
	}
	fallback := n.At("default")
	if !fallback.Given() {
		return value, nil
	}
	other, err := s.operand(fallback.Value)
	switch {
	case err != nil:
		return code{}, placed(err, fallback.Path)
	case !n.At("jmesPath").Given() && !n.At("value").Given():
		return other, nil
	case value.canFail():
		return code{}, noFormf("write the default with ||", "a default for %s, which may fail for other reasons than that it is missing", value.x)
	case other.mayMiss() || s.rule.mayFail(other):
		err := noFormf("give it a default with ||", "a default that may be missing or fail, which counts even if there is a value")
		return code{}, placed(err, fallback.Path)
	case value.kind == list && other.isConstant && isFalse(other.constant) && other.kind == list:
		return value.orEmptyList(), nil
	case !value.given.IsZero():
		return code{}, noFormf("write the default with ||", "a default for a selection")
	}
	return value.orValue(other), nil
}

// canFail reports whether an expression may fail although what it reads is there.
func (c code) canFail() bool {
	if !c.maybe.IsZero() {
		return !c.maybe.IsTotal(withoutFailing...)
	}
	return !c.x.IsTotal(withoutFailing...)
}

// withoutFailing are the functions that do not fail for the arguments that the conversion gives them.
var withoutFailing = []string{
	"string", "matches", "regex.replace", "double", "duration", "quantity", "isQuantity", "compareTo", "semver", "isSemver", "reverse", "flatten",
}

// mayFail reports whether a value may be an error, which denies the object.
func (c *converter) mayFail(value code) bool {
	isNeeded := func(x expr.Expr) bool {
		return slices.ContainsFunc(c.needed, func(other expr.Expr) bool { return expr.Equal(x, other) })
	}
	for part := range value.x.All() {
		if isNeeded(part) {
			return true
		}
	}
	return value.mayMiss() && !value.isNull || value.canFail()
}

// needs notes that an expression fails if one of some values is missing.
func (c *converter) needs(values ...code) {
	for _, value := range values {
		if value.mayMiss() || c.mayFail(value) {
			c.needed = append(c.needed, value.x)
		}
	}
}

// searched returns what an expression selects from a value.
func (s *scope) searched(value code, n policy.Node) (code, error) {
	if !n.Given() {
		return value, nil
	}
	node, err := jmespath.Parse(n.Text())
	if err != nil {
		return code{}, err
	}
	c, err := s.at(value).node(node)
	return c, placed(err, n.Path)
}

func (s *scope) configMap(n policy.Node) (code, error) {
	of, err := collect([]string{cmp.Or(n.At("namespace").Text(), "default"), n.At("name").Text()}, s.text)
	if err != nil {
		return code{}, err
	}
	return s.rule.lookup("Get", gvk.Resource{Version: "v1", Resource: "configmaps"}, of[0], of[1])
}

// lookup returns a call that reads objects from the cluster. A namespaced policy can only read
// objects of its namespace.
func (c *converter) lookup(function string, resource gvk.Resource, namespace, name code) (code, error) {
	apiVersion := gvk.Kind{Group: resource.Group, Version: resource.Version}.APIVersion()
	args := []expr.Expr{expr.Literal(apiVersion), expr.Literal(resource.Resource)}
	if c.rule.Namespace == "" {
		args = append(args, namespace.x)
	} else if namespace.constant != c.rule.Namespace && !expr.Equal(namespace.x, ofRequest("namespace")) {
		return code{}, noFormf("use a ClusterPolicy", "a NamespacedMutatingPolicy that reads objects of other namespaces")
	}
	found := code{kind: object}
	if !name.x.IsZero() {
		args = append(args, name.x)
		found.types = c.typesOf(resource)
	}
	found.x = expr.Ident("resource").Call(function, args...)
	if function == "List" { // whose type has no list of items to go through
		found.x = expr.Call("dyn", found.x)
	}
	return found, c.supports(found.x)
}

// typesOf returns the type of a resource, if it is known.
func (c *converter) typesOf(resource gvk.Resource) []*schema.Type {
	if kind := c.schemas.LookupResource(resource); kind != nil && kind.Type() != nil {
		return []*schema.Type{kind.Type()}
	}
	return nil
}

// apiCall converts an API call for objects.
func (s *scope) apiCall(n policy.Node) (code, error) {
	if n.At("service").Given() || n.At("method").Text() == "POST" || n.At("data").Given() {
		return code{}, noFormf("write it with http.Get or http.Post", "a call of a service")
	}
	path := n.At("urlPath")
	found, err := s.called(path.Text())
	if err != nil {
		return code{}, placed(err, path.Path)
	}
	result, err := s.searched(found, n.At("jmesPath"))
	if err == nil && n.At("default").Given() {
		return code{}, noFormf("write the default with ||", "a default for an API call, also for a call that fails")
	}
	return result, err
}

// called returns the object or the list at the path of a URL.
func (s *scope) called(urlPath string) (code, error) {
	var parts []string
	keys := slices.DeleteFunc(splitPath(urlPath), func(k pathKey) bool { return k.text == "" })
	for _, k := range keys {
		parts = append(parts, k.text)
	}
	address, ok := kyverno.ParseAddress(parts...)
	if r := address.Resource; !ok || strings.Contains(r.Resource+address.Name, "?") || kyverno.HasSubstitutions(r.Group+r.Version+r.Resource) {
		return code{}, noFormf("write it with resource.Get, resource.List or http.Get", "a call of %s", urlPath)
	}
	of, err := collect([]string{address.Namespace, address.Name}, func(part string) (code, error) {
		c, err := s.text(part)
		if i := slices.Index(parts, part); i >= 0 {
			err = inText(err, keys[i].at)
		}
		return c, err
	})
	switch {
	case err != nil:
		return code{}, err
	case address.Name == "":
		return s.rule.lookup("List", address.Resource, of[0], code{})
	}
	return s.rule.lookup("Get", address.Resource, of[0], of[1])
}
