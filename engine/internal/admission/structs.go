package admission

import (
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// A structType has what happens to a Go struct beyond the decoding of its fields.
type structType struct {
	// name is the name of the struct in this package: the last part of the package of its OpenAPI
	// component, the version and the type ("apps.v1.DeploymentSpec").
	name string
	// written are the fields that are written even when they are absent.
	written []*schema.Field
	// defaults are the constant defaults of absent fields.
	defaults []constant
	// rounded are the resource lists among the fields, rounded up to milli.
	rounded []string
	rule    rule
	convert conversion
}

var structTypes sync.Map // *schema.Type -> *structType

func structOf(t *schema.Type) *structType {
	if known, ok := structTypes.Load(t); ok {
		return known.(*structType)
	}
	words := strings.Split(t.Name, ".")
	name := strings.Join(words[max(0, len(words)-3):], ".")
	s := &structType{name: name, rule: ruleOf(name, t.Minor), convert: conversionOf(name, t.Minor)}
	for f := range t.GoFields() {
		if f.Zero.Writes() {
			s.written = append(s.written, f)
		}
	}
	s.readDefaults(t)
	known, _ := structTypes.LoadOrStore(t, s)
	return known.(*structType)
}

// goKind is the kind of a Go type, as far as decoding differs.
type goKind uint8

const (
	goStruct goKind = iota
	goList
	goMap
	goString
	goBool
	goInt32
	goInt64
	goFloat
	goBytes
	goQuantity
	goTime
	goMicroTime
	goIntOrString
	goObject // any object
	goJSON   // any value
	// The unions in the schemas of CustomResourceDefinitions.
	schemaOrBool
	schemaOrSchemas
	schemaOrNames
)

// The names of OpenAPI components.
const (
	meta       = "io.k8s.apimachinery.pkg.apis.meta.v1."
	extensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
)

// namedKinds are the kinds of the types that read and write their JSON themselves. Other types
// that may have any value are objects.
var namedKinds = map[string]goKind{
	meta + "Time": goTime, meta + "MicroTime": goMicroTime, meta + "FieldsV1": goObject,
	extensions + "JSON": goJSON, extensions + "JSONSchemaPropsOrBool": schemaOrBool,
	extensions + "JSONSchemaPropsOrArray": schemaOrSchemas, extensions + "JSONSchemaPropsOrStringArray": schemaOrNames,
}

var scalarKinds = [...]goKind{
	schema.NotScalar: goMap, schema.String: goString, schema.Boolean: goBool, schema.Integer: goInt64, schema.Number: goFloat,
	schema.IntOrString: goIntOrString, schema.Quantity: goQuantity, schema.Untyped: goObject,
}

func kindOf(t *schema.Type) goKind {
	switch {
	case t.Minor != 0:
		return goStruct
	case t.IsList:
		return goList
	case t.Format == "int32":
		return goInt32
	case t.Format == "byte":
		return goBytes
	case t.Scalar == schema.String && t.Name == "":
		return goString // the usual case
	}
	if t.Name != "" && t.Scalar != schema.Quantity && t.Scalar != schema.IntOrString {
		if kind, special := namedKinds[t.Name]; special {
			return kind
		}
	}
	return scalarKinds[t.Scalar]
}

// The types that are decoded in places that have no type of their own: the metadata of objects
// without a Go type, and the schemas in the unions.
var (
	stringType = &schema.Type{Scalar: schema.String}
	fieldNames = &schema.Type{IsList: true, Elem: stringType}

	objectMeta     = sync.OnceValue(func() *schema.Type { return schema.Component(release.Default, meta+"ObjectMeta") })
	openAPISchemas = sync.OnceValue(func() *schema.Type {
		return &schema.Type{IsList: true, Elem: schema.Component(release.Default, extensions+"JSONSchemaProps")}
	})
)
