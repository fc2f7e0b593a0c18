package validation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metadata "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	strict "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// InvalidError is the refusal of an object by the validation of its kind, in the words of a server.
type InvalidError struct {
	Text string
	// Fields are the paths of the fields with a problem, as the server writes them.
	Fields []string
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Text }

// fieldsOf returns the fields of problems, each once.
func fieldsOf(problems field.ErrorList) (fields []string) {
	for _, p := range problems {
		if f := versioned.Replace(p.Field); !slices.Contains(fields, f) {
			fields = append(fields, f)
		}
	}
	return fields
}

// Checks reports whether objects of a kind are validated.
func Checks(kind *schema.Kind) bool { return kind.Definition != nil || kind.Kind == definitionKind }

// Server validates objects as a server of a version of Kubernetes does.
type Server struct {
	minor int
	cel   *celenv.Env
}

// New returns the validation of a server of Kubernetes 1.minor.
func New(minor int) *Server { return &Server{minor, celenv.New(minor)} }

// Check validates an object for which Checks is true. old is the object before an update, or nil. The
// warnings come with the server's answer. Neither object is modified.
func (v *Server) Check(ctx context.Context, kind *schema.Kind, object, old map[string]any) (warnings []string, err error) {
	problems, warnings := v.problems(ctx, kind, object, old)
	if len(problems) == 0 {
		return warnings, nil
	}
	name := unstructured.Unstructured{Object: object}
	return warnings, &InvalidError{
		Text:   fmt.Sprintf("%s.%s %q is invalid: %v", kind.Kind.Kind, kind.Group, name.GetName(), problems.ToAggregate()),
		Fields: fieldsOf(problems),
	}
}

// versioned replaces the fields of all versions of a definition, which are in none of its manifests, with
// those of the first version.
var versioned = strings.NewReplacer(
	"spec.validation.", "spec.versions[0].schema.", "spec.subresources.", "spec.versions[0].subresources.",
	"spec.additionalPrinterColumns[", "spec.versions[0].additionalPrinterColumns[", "spec.selectableFields[", "spec.versions[0].selectableFields[",
)

// problems returns the errors of an object, and the warnings about it.
func (v *Server) problems(ctx context.Context, kind *schema.Kind, object, old map[string]any) (field.ErrorList, []string) {
	if kind.Kind == definitionKind {
		return v.checkDefinition(ctx, object, old), nil
	}
	c, _ := kind.Definition.Derived(func() any { return v.newCustom(kind) }).(*custom)
	if c == nil {
		return nil, nil
	}
	return c.validate(ctx, object, old)
}

// UnknownFields returns the fields of a custom resource that its definition does not have, besides
// those of metadata, in the order and the words of a server. Other kinds have none here.
func (v *Server) UnknownFields(kind *schema.Kind, object map[string]any) (unknown []schema.Problem) {
	if kind.Definition == nil {
		return nil
	}
	c, _ := kind.Definition.Derived(func() any { return v.newCustom(kind) }).(*custom)
	if c == nil {
		return nil
	}
	if keepsAll(object, c.structural) {
		return nil
	}
	object = change.CloneObject(object)
	paths := pruning.PruneWithOptions(object, c.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	_, embedded := objectmeta.CoerceWithOptions(nil, object, c.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	for _, path := range append(paths, embedded...) {
		at, _ := change.ParsePath(path) // not every key can be read back
		unknown = append(unknown, schema.Problem{Path: at, Text: fmt.Sprintf("unknown field %q", path)})
	}
	return unknown
}

// keepsAll reports whether a server surely drops no field of a custom resource. It is a shortcut: most
// objects have no such field, and pruning needs a copy.
func keepsAll(object map[string]any, s *structural.Structural) bool {
	for key, value := range object {
		if key != "apiVersion" && key != "kind" && key != "metadata" && !keepsMember(key, value, s) {
			return false
		}
	}
	return true
}

func keepsMember(key string, value any, s *structural.Structural) bool {
	if property, ok := s.Properties[key]; ok {
		return keeps(value, &property)
	}
	if s.AdditionalProperties != nil {
		return keeps(value, s.AdditionalProperties.Structural)
	}
	return s.XPreserveUnknownFields
}

// keeps is keepsAll for a value of an object. It leaves objects in objects to pruning.
func keeps(value any, s *structural.Structural) bool {
	switch value := value.(type) {
	case map[string]any:
		if s == nil || s.XEmbeddedResource {
			return false
		}
		for key, member := range value {
			if !keepsMember(key, member, s) {
				return false
			}
		}
	case []any:
		if s == nil {
			return false
		}
		for _, item := range value {
			if (s.Items != nil || !s.XPreserveUnknownFields) && !keeps(item, s.Items) {
				return false
			}
		}
	}
	return true
}

// custom validates the objects of a version of a CustomResourceDefinition, as the strategy of
// k8s.io/apiextensions-apiserver v0.36.3 (pkg/registry/customresource) does.
type custom struct {
	namespaced bool
	minor      int
	structural *structural.Structural
	schema     *spec.Schema
	// rules is nil without x-kubernetes-validations.
	rules *ruleNode
	scale *v1.CustomResourceSubresourceScale
}

// newCustom returns nil if the schema is not valid. A server refuses its definition.
func (v *Server) newCustom(kind *schema.Kind) any {
	text, err := json.Marshal(kind.Definition.Version)
	if err != nil {
		return nil
	}
	var external v1.CustomResourceDefinitionVersion
	var internal apiextensions.CustomResourceValidation
	if strict.Unmarshal(text, &external) != nil || external.Schema == nil {
		return nil
	}
	if v1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(external.Schema, &internal, nil) != nil {
		return nil
	}
	c := &custom{namespaced: kind.Namespaced, minor: v.minor}
	if c.structural, err = structural.NewStructural(internal.OpenAPIV3Schema); err != nil {
		return nil
	}
	c.schema = openAPI(c.structural, v.minor)
	if hasRules(c.structural) {
		c.rules = newRuleNode(v.cel, c.structural, c.structural, model.WithTypeAndObjectMeta(c.structural), model.SchemaDeclType(c.structural, true))
	}
	if external.Subresources != nil {
		c.scale = external.Subresources.Scale
	}
	return c
}

// validate returns the errors of an object in the order of the stages of a server, and in each stage
// by field; a server has some of them in random order.
func (c *custom) validate(ctx context.Context, object, old map[string]any) (field.ErrorList, []string) {
	u := &unstructured.Unstructured{Object: object}
	warnings := finalizerWarnings(u, &unstructured.Unstructured{Object: old})
	var problems field.ErrorList
	var correlated *common.CorrelatedObject
	at := field.NewPath("metadata")
	if own, _ := object["metadata"].(map[string]any); old == nil && isUsualCustom(own, c.namespaced) && !change.Reference {
		// a server has nothing to say
	} else if malformed := c.malformed(own, at); malformed != nil {
		problems = append(problems, malformed)
	} else if old == nil {
		problems = append(problems, byField(metadata.ValidateObjectMetaAccessor(u, c.namespaced, metadata.NameIsDNSSubdomain, at))...)
	} else {
		correlated = common.NewCorrelatedObject(object, old, &model.Structural{Structural: c.structural})
		problems = append(problems, byField(metadata.ValidateObjectMetaAccessorUpdate(u, &unstructured.Unstructured{Object: old}, at))...)
	}
	problems = append(problems, byField(validateSchema(c.schema, object, correlated))...)
	problems = append(problems, c.validateScale(object)...)
	problems = append(problems, byField(objectmeta.Validate(nil, object, c.structural, false))...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, c.structural, old)) == 0 {
		problems = append(problems, byField(listtype.ValidateListSetsAndMaps(nil, c.structural, object))...)
	}
	if c.rules == nil {
		return problems, warnings
	}
	if slices.ContainsFunc(problems, blocks) {
		return append(problems, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")), warnings
	}
	var before any // not a nil map, which would be an old object
	if old != nil {
		before = old
	}
	run := ruleRun{ctx: ctx, budget: celenv.RulesBudget}
	run.evaluate(c.rules, nil, object, before, correlation{value: correlated})
	failed := run.problems
	c.showTypes(failed)
	slices.SortStableFunc(failed, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) }) // rules of one field have an order
	return append(problems, failed...), append(warnings, run.warnings...)
}

// readsMetadataSince is the first minor version whose servers refuse metadata that they cannot read
// (pkg/registry/customresource/validator.go). Servers before drop it.
const readsMetadataSince = 37

// malformed returns the error of a server that cannot read the metadata of a custom resource, or nil.
func (c *custom) malformed(own map[string]any, at *field.Path) *field.Error {
	if c.minor < readsMetadataSince {
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(own, &metav1.ObjectMeta{}); err != nil {
		return field.Invalid(at, own, err.Error())
	}
	return nil
}

// byField sorts the errors of one stage, which a server has in random order.
func byField(problems field.ErrorList) field.ErrorList {
	slices.SortStableFunc(problems, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Error(), b.Error()))
	})
	return problems
}

// blocks reports whether no rules are evaluated because of an error.
func blocks(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}, err.Type)
}

// showsValuesSince is the first minor version whose servers show values in the errors of rules, and
// not only types.
const showsValuesSince = 35

// showTypes replaces values in the errors of rules with their types, if the server does.
func (c *custom) showTypes(problems field.ErrorList) {
	if c.minor >= showsValuesSince {
		return
	}
	for _, problem := range problems {
		if problem.Type == field.ErrorTypeInvalid || problem.Type == field.ErrorTypeDuplicate {
			problem.BadValue = c.typeAt(problem.Field)
		}
	}
}

// typeAt returns the type of a field in the schema, or object for an unknown path.
func (c *custom) typeAt(name string) string {
	path, err := change.ParsePath(name)
	s := c.structural
	for _, step := range path {
		switch child, ok := s.Properties[step.Key]; {
		case err != nil:
		case step.Key != "" && ok:
			s = &child
		case step.Key == "" && s.Items != nil:
			s = s.Items
		case s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
			s = s.AdditionalProperties.Structural
		}
	}
	return cmp.Or(s.Type, "object")
}

// validateScale checks the values of the subresource scale.
func (c *custom) validateScale(object map[string]any) (problems field.ErrorList) {
	if c.scale == nil {
		return nil
	}
	keys := func(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
	for _, path := range []string{c.scale.SpecReplicasPath, c.scale.StatusReplicasPath} {
		n, _, err := unstructured.NestedInt64(object, keys(path)...)
		switch {
		case err != nil:
			problems = append(problems, field.Invalid(field.NewPath(path), n, err.Error()))
		case n < 0:
			problems = append(problems, field.Invalid(field.NewPath(path), n, "should be a non-negative integer"))
		case n > math.MaxInt32:
			problems = append(problems, field.Invalid(field.NewPath(path), n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)))
		}
	}
	if path := c.scale.LabelSelectorPath; path != nil {
		if text, _, err := unstructured.NestedString(object, keys(*path)...); err != nil {
			problems = append(problems, field.Invalid(field.NewPath(*path), text, err.Error()))
		}
	}
	return problems
}
