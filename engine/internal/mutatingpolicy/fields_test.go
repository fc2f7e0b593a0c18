package mutatingpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
)

// The fields of Kyverno v1.19.0's CustomResourceDefinitions with their types; [0] is an item of
// a list.
const policyFields = `
spec object
spec.auditAnnotations array
spec.auditAnnotations[0] object
spec.auditAnnotations[0].key string
spec.auditAnnotations[0].valueExpression string
spec.autogen object
spec.autogen.mutatingAdmissionPolicy object
spec.autogen.mutatingAdmissionPolicy.enabled boolean
spec.autogen.podControllers object
spec.autogen.podControllers.controllers array
spec.autogen.podControllers.controllers[0] string
spec.evaluation object
spec.evaluation.admission object
spec.evaluation.admission.enabled boolean
spec.evaluation.background object
spec.evaluation.background.enabled boolean
spec.evaluation.mode string
spec.evaluation.mutateExisting object
spec.evaluation.mutateExisting.enabled boolean
spec.evaluation.skipBackgroundRequests boolean
spec.evaluation.useServerSideApply boolean
spec.failurePolicy string
spec.matchConditions array
spec.matchConditions[0] object
spec.matchConditions[0].expression string
spec.matchConditions[0].name string
spec.matchConstraints object
MATCH spec.matchConstraints
spec.mutations array
spec.mutations[0] object
spec.mutations[0].applyConfiguration object
spec.mutations[0].applyConfiguration.expression string
spec.mutations[0].jsonPatch object
spec.mutations[0].jsonPatch.expression string
spec.mutations[0].patchType string
spec.reinvocationPolicy string
spec.targetMatchConditions array
spec.targetMatchConditions[0] object
spec.targetMatchConditions[0].expression string
spec.targetMatchConditions[0].name string
spec.targetMatchConstraints object
MATCH spec.targetMatchConstraints
spec.targetMatchConstraints.expression string
spec.variables array
spec.variables[0] object
spec.variables[0].expression string
spec.variables[0].name string
spec.webhookConfiguration object
spec.webhookConfiguration.timeoutSeconds integer`

const exceptionFields = `
spec object
spec.allowedValues array
spec.allowedValues[0] string
spec.evaluationMode string
spec.expiresAt string
spec.images array
spec.images[0] string
spec.matchConditions array
spec.matchConditions[0] object
spec.matchConditions[0].expression string
spec.matchConditions[0].name string
spec.policyRefs array
spec.policyRefs[0] object
spec.policyRefs[0].kind string
spec.policyRefs[0].name string
spec.properties object
spec.properties.any string
spec.reportResult string`

// matchFields returns the fields of MatchResources in a field.
func matchFields(field string) []string {
	fields := []string{field + ".matchPolicy string"}
	for _, rules := range []string{"resourceRules", "excludeResourceRules"} {
		fields = append(fields, field+"."+rules+" array", field+"."+rules+"[0] object", field+"."+rules+"[0].scope string")
		for _, list := range []string{"apiGroups", "apiVersions", "operations", "resources", "resourceNames"} {
			fields = append(fields, field+"."+rules+"[0]."+list+" array", field+"."+rules+"[0]."+list+"[0] string")
		}
	}
	for _, selector := range []string{"namespaceSelector", "objectSelector"} {
		expressions := field + "." + selector + ".matchExpressions"
		fields = append(fields, field+"."+selector+" object", field+"."+selector+".matchLabels object", field+"."+selector+".matchLabels.any string",
			expressions+" array", expressions+"[0] object", expressions+"[0].key string", expressions+"[0].operator string",
			expressions+"[0].values array", expressions+"[0].values[0] string")
	}
	return fields
}

// TestEveryField sets every field to a value of another type, and checks that the error is at
// the field. It also checks that no field is missing from Kyverno's definitions.
func TestEveryField(t *testing.T) {
	for kind, fields := range map[string]string{"MutatingPolicy": policyFields, "PolicyException": exceptionFields} {
		var want []string
		for line := range strings.SplitSeq(strings.TrimSpace(fields), "\n") {
			if field, isMatch := strings.CutPrefix(line, "MATCH "); isMatch {
				want = append(want, matchFields(field)...)
				continue
			}
			want = append(want, line)
		}
		got := flattened(policydoc.TypeOf(kind).FieldType("spec"), "spec")
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the fields\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, line := range want {
			path, typ, _ := strings.Cut(line, " ")
			refused := situation{policies: wronglyTyped(kind, path, typ)}.refused(t)
			if expected := fmt.Sprintf("policy-invalid %s: Invalid value", path); !strings.Contains(refused, expected) || !strings.Contains(refused, path+" in body must be of type "+typ) {
				t.Errorf("%s, %s of another type: %s", kind, path, refused)
			}
		}
	}
}

// flattened returns the paths of a field and of all fields in it, with their types.
func flattened(t *schema.Type, path string) []string {
	typ := map[schema.Scalar]string{schema.NotScalar: "object", schema.String: "string", schema.Boolean: "boolean", schema.Integer: "integer"}[t.Scalar]
	if t.IsList {
		typ = "array"
	}
	lines := []string{path + " " + typ}
	for _, f := range t.Fields {
		lines = append(lines, flattened(f.Type, path+"."+f.Name)...)
	}
	switch {
	case t.IsList:
		lines = append(lines, flattened(t.Elem, path+"[0]")...)
	case t.Elem != nil:
		lines = append(lines, flattened(t.Elem, path+".any")...)
	}
	return lines
}

// wronglyTyped returns a document in which the value at a path has a wrong type.
func wronglyTyped(kind, path, typ string) string {
	var value any = "text"
	if typ == "string" {
		value = true
	}
	parts := strings.Split(strings.ReplaceAll(path, "[0]", ".[0]"), ".")
	for _, part := range slices.Backward(parts) {
		if part == "[0]" {
			value = []any{value}
		} else {
			value = map[string]any{part: value}
		}
	}
	document := value.(map[string]any)
	document["apiVersion"], document["kind"], document["metadata"] = "policies.kyverno.io/v1", kind, map[string]any{"name": "p"}
	return string(manifest.YAML(document))
}

// TestFieldsWithoutEffect sets fields that do not affect the result of a request: reports, other
// modes, and generated native policies.
func TestFieldsWithoutEffect(t *testing.T) {
	want := situation{spec: oneMutation}.happens(t)
	for _, spec := range []string{
		"evaluation: {background: {enabled: false}}",
		"evaluation: {mode: JSON}",
		"evaluation: {skipBackgroundRequests: false}",
		"autogen: {mutatingAdmissionPolicy: {enabled: true}}",
		"webhookConfiguration: {timeoutSeconds: 3}",
		"reinvocationPolicy: IfNeeded",
	} {
		// The field comes last, so that positions stay the same.
		compare(t, spec, situation{spec: oneMutation + spec}.happens(t), want)
	}
	excepted := situation{policies: excepting("")}.happens(t)
	for _, spec := range []string{"  evaluationMode: JSON", "  properties: {ticket: '7'}", "  reportResult: pass"} {
		compare(t, spec, situation{policies: excepting(spec)}.happens(t), excepted)
	}
}
