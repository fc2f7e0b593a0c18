package validation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rootFields are the Go fields of the schema of a version with the subresource status, in the order of a
// server.
var rootFields = []string{
	"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern",
	"MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
}

// checkSchema checks the schema of a version, or that of all versions.
func (d *definition) checkSchema(of *apiextensions.CustomResourceValidation, status bool, at *field.Path) (problems field.ErrorList) {
	if of == nil || of.OpenAPIV3Schema == nil {
		return nil
	}
	s := of.OpenAPIV3Schema
	if status {
		problems = append(problems, checkRoot(s, at)...)
	}
	if s.Nullable {
		problems = append(problems, field.Forbidden(at.Child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
	}
	at = at.Child("openAPIV3Schema")
	built, err := structural.NewStructural(s)
	node := schemaNode{definition: d, schema: s, at: at, isRoot: true}
	if err == nil {
		wrong := byField(structural.ValidateStructural(at, built))
		if len(wrong) == 0 {
			wrong = d.checkDefaults(at, built)
		}
		if problems = append(problems, wrong...); len(wrong) == 0 {
			node.rules = newScope(s)
		}
	}
	found, ofRules := node.check()
	problems = append(append(problems, found...), ofRules...)
	if len(problems) == 0 && err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	return append(problems, node.rules.checkTotal(at)...)
}

// checkRoot checks the fields of the root of a schema with the subresource status.
func checkRoot(s *apiextensions.JSONSchemaProps, at *field.Path) field.ErrorList {
	value := reflect.ValueOf(s).Elem()
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		switch {
		case value.Field(i).IsZero():
		case name == "Type" && s.Type != "object":
			return field.ErrorList{field.Invalid(at.Child("openAPIV3Schema.type"), s.Type, `only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)}
		case !slices.Contains(rootFields, name):
			return field.ErrorList{field.Invalid(at.Child("openAPIV3Schema"), *s, fmt.Sprintf("only %v fields are allowed at the root of the schema if the status subresource is enabled", rootFields))}
		}
	}
	return nil
}

// schemaNode is a schema in the schema of a version.
type schemaNode struct {
	definition *definition
	schema     *apiextensions.JSONSchemaProps
	at         *field.Path
	// isRoot says that the schema is that of the whole object, ofMeta that it is about the metadata of an
	// object, or a part of it.
	isRoot, ofMeta bool
	// noDefault is the place in which there must be no defaults; "" if there may be some.
	noDefault string
	// uncorrelated is the outermost list around whose items are not known to be those of before an update;
	// nil for no such list.
	uncorrelated *field.Path
	// rules is nil where rules are not compiled.
	rules *ruleScope
}

// check returns the errors of the schema and of the schemas in it, and those of their rules.
func (n schemaNode) check() (problems, ofRules field.ErrorList) {
	problems = n.checkFields()
	for _, child := range n.children() {
		if child.schema == nil {
			continue
		}
		found, more := child.check()
		problems, ofRules = append(problems, found...), append(ofRules, more...)
	}
	problems = append(problems, n.checkTypes()...)
	problems = append(problems, n.checkList()...)
	problems = append(problems, n.checkKeys()...)
	problems = append(problems, n.checkRuleTexts()...)
	if len(problems) == 0 {
		ofRules = append(ofRules, n.checkRules()...)
	}
	return problems, ofRules
}

// child returns the node of a schema in this one, in which rules are not compiled.
func (n schemaNode) child(s *apiextensions.JSONSchemaProps, at *field.Path) schemaNode {
	n.schema, n.at, n.isRoot, n.rules = s, at, false, nil
	return n
}

// children returns the schemas in this one, in the order of a server.
func (n schemaNode) children() (children []schemaNode) {
	s := n.schema
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		child := n.child(s.AdditionalProperties.Schema, n.at.Child("additionalProperties"))
		if child.rules = n.rules.child(child.schema); n.ofMeta {
			child.noDefault = "inside additionalProperties applying to object metadata"
		}
		children = append(children, child)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		children = append(children, n.property(name))
	}
	children = append(children, n.child(s.Not, n.at.Child("not")))
	for _, logic := range []struct {
		name    string
		schemas []apiextensions.JSONSchemaProps
	}{{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"anyOf", s.AnyOf}} {
		for i := range logic.schemas {
			children = append(children, n.child(&logic.schemas[i], n.at.Child(logic.name).Index(i)))
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		child := n.child(s.Items.Schema, n.at.Child("items"))
		if child.rules = n.rules.child(child.schema); textOf(s.XListType) != "map" && n.uncorrelated == nil {
			child.uncorrelated = n.at
		}
		children = append(children, child)
	}
	return children
}

// property returns the node of a property.
func (n schemaNode) property(name string) schemaNode {
	s := n.schema.Properties[name]
	child := n.child(&s, n.at.Child("properties").Key(name))
	child.rules = n.rules.child(&s)
	if (n.isRoot || n.schema.XEmbeddedResource) && slices.Contains([]string{"metadata", "kind", "apiVersion"}, name) {
		if child.ofMeta = true; n.isRoot {
			child.noDefault = "in top-level " + name
		}
	}
	return child
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// schemaTypes are the types of values.
var schemaTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// checkFields checks for fields that no schema of a definition may have.
func (n schemaNode) checkFields() (problems field.ErrorList) {
	s, at := n.schema, n.at
	forbid := func(found bool, name, text string) {
		if found {
			problems = append(problems, field.Forbidden(at.Child(name), text))
		}
	}
	if s.Type != "" && !slices.Contains(schemaTypes, s.Type) {
		problems = append(problems, field.NotSupported(at.Child("type"), s.Type, schemaTypes))
	}
	forbid(s.Default != nil && n.noDefault != "", "default", "must not be set "+n.noDefault)
	forbid(s.ID != "", "id", "id is not supported")
	forbid(s.AdditionalItems != nil, "additionalItems", "additionalItems is not supported")
	forbid(len(s.PatternProperties) > 0, "patternProperties", "patternProperties is not supported")
	forbid(len(s.Definitions) > 0, "definitions", "definitions is not supported")
	forbid(s.Dependencies != nil, "dependencies", "dependencies is not supported")
	forbid(s.Ref != nil, "$ref", "$ref is not supported")
	forbid(s.Type == "null", "type", "type cannot be set to null, use nullable as an alternative")
	forbid(s.Items != nil && len(s.Items.JSONSchemas) > 0, "items", "items must be a schema object and not an array")
	forbid(n.ofMeta && s.XEmbeddedResource, "x-kubernetes-embedded-resource", "must not be used inside of resource meta")
	forbid(s.UniqueItems, "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	additional := s.AdditionalProperties
	forbid(additional != nil && len(s.Properties) > 0 && (!additional.Allows || additional.Schema != nil),
		"additionalProperties", "additionalProperties and properties are mutual exclusive")
	return problems
}

// checkTypes checks the type of a schema with extensions of Kubernetes.
func (n schemaNode) checkTypes() (problems field.ErrorList) {
	s, at := n.schema, n.at
	if keep := s.XPreserveUnknownFields; keep != nil && !*keep {
		problems = append(problems, field.Invalid(at.Child("x-kubernetes-preserve-unknown-fields"), *keep, "must be true or undefined"))
	}
	need := func(extension *string, name, of string, accepted ...string) {
		if extension == nil {
			return
		}
		switch text := "must be " + of + " if " + name + " is specified"; s.Type {
		case of:
		case "":
			problems = append(problems, field.Required(at.Child("type"), text))
		default:
			problems = append(problems, field.Invalid(at.Child("type"), s.Type, text))
		}
		if !slices.Contains(accepted, *extension) {
			problems = append(problems, field.NotSupported(at.Child(name), *extension, accepted))
		}
	}
	need(s.XMapType, "x-kubernetes-map-type", "object", "atomic", "granular")
	need(s.XListType, "x-kubernetes-list-type", "array", "atomic", "set", "map")
	return append(problems, n.checkSet()...)
}

// checkSet checks that the items of a set are compared as a whole.
func (n schemaNode) checkSet() field.ErrorList {
	if textOf(n.schema.XListType) != "set" || n.schema.Type != "array" || n.schema.Items == nil || n.schema.Items.Schema == nil {
		return nil
	}
	const text = "must be atomic as item of a list with x-kubernetes-list-type=set"
	switch item, at := n.schema.Items.Schema, n.at.Child("items"); {
	case item.Type == "array" && item.XListType != nil && *item.XListType != "atomic":
		return field.ErrorList{field.Invalid(at.Child("x-kubernetes-list-type"), item.XListType, text)}
	case item.Type == "object" && textOf(item.XMapType) != "atomic":
		return field.ErrorList{field.Invalid(at.Child("x-kubernetes-map-type"), item.XListType, text)} // the type of the list, as a server says it
	}
	return nil
}

// checkList checks whether a list of type map has keys, and its items are objects.
func (n schemaNode) checkList() (problems field.ErrorList) {
	s, at := n.schema, n.at
	isMap := textOf(s.XListType) == "map"
	const needsMap = "must be map if x-kubernetes-list-map-keys is non-empty"
	switch {
	case len(s.XListMapKeys) == 0 || isMap:
	case s.XListType == nil:
		problems = append(problems, field.Required(at.Child("x-kubernetes-list-type"), needsMap))
	default:
		problems = append(problems, field.Invalid(at.Child("x-kubernetes-list-type"), *s.XListType, needsMap))
	}
	if !isMap {
		return problems
	}
	if len(s.XListMapKeys) == 0 {
		problems = append(problems, field.Required(at.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"))
	}
	switch {
	case s.Items == nil:
		return append(problems, field.Required(at.Child("items"), "must have a schema if x-kubernetes-list-type is map"))
	case s.Items.Schema == nil:
		return append(problems, field.Invalid(at.Child("items"), s.Items, "must only have a single schema if x-kubernetes-list-type is map"))
	case s.Items.Schema.Type != "object":
		return append(problems, field.Invalid(at.Child("items").Child("type"), s.Items.Schema.Type, "must be object if parent array's x-kubernetes-list-type is map"))
	}
	for i, key := range s.XListMapKeys {
		property, found := s.Items.Schema.Properties[key]
		switch {
		case !found:
			problems = append(problems, field.Invalid(at.Child("x-kubernetes-list-map-keys"), s.XListMapKeys, "entries must all be names of item properties"))
		case property.Type == "array" || property.Type == "object":
			problems = append(problems, field.Invalid(at.Child("items").Child("properties").Key(key).Child("type"), s.Items.Schema.Type, "must be a scalar type if parent array's x-kubernetes-list-type is map"))
		}
		if slices.Contains(s.XListMapKeys[:i], key) {
			problems = append(problems, field.Invalid(at.Child("x-kubernetes-list-map-keys"), s.XListMapKeys, "must not contain duplicate entries"))
		}
	}
	return problems
}

// checkKeys checks whether all items of a list of type map or set have a value to compare.
func (n schemaNode) checkKeys() (problems field.ErrorList) {
	list := textOf(n.schema.XListType)
	if n.schema.Items == nil || n.schema.Items.Schema == nil || list != "set" && list != "map" {
		return nil
	}
	item, at := n.schema.Items.Schema, n.at.Child("items")
	if item.Nullable {
		problems = append(problems, field.Forbidden(at.Child("nullable"), "cannot be nullable when x-kubernetes-list-type is "+list))
	}
	if list == "set" {
		return problems
	}
	for _, key := range n.schema.XListMapKeys {
		property, found := item.Properties[key]
		if !found {
			continue
		}
		at := at.Child("properties").Key(key)
		if property.Default == nil && !slices.Contains(item.Required, key) {
			problems = append(problems, field.Required(at.Child("default"), "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
		if property.Nullable {
			problems = append(problems, field.Forbidden(at.Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"))
		}
	}
	return problems
}
