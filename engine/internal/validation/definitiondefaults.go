package validation

import (
	"maps"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
)

// checkDefaults checks the defaults of a schema and of the schemas in it against these, as
// k8s.io/apiextensions-apiserver v0.36.3 (pkg/apiserver/schema/defaulting) does. It leaves those for the
// metadata of embedded objects alone.
func (d *definition) checkDefaults(at *field.Path, s *structural.Structural) (problems field.ErrorList) {
	if s == nil {
		return nil
	}
	if s.Default.Object != nil {
		problems = d.checkDefault(at.Child("default"), s)
	}
	problems = append(problems, d.checkDefaults(at.Child("items"), s.Items)...)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if s.XEmbeddedResource && slices.Contains([]string{"metadata", "apiVersion", "kind"}, name) {
			continue
		}
		property := s.Properties[name]
		problems = append(problems, d.checkDefaults(at.Child("properties").Key(name), &property)...)
	}
	return problems
}

// checkDefault checks one default.
func (d *definition) checkDefault(at *field.Path, s *structural.Structural) (problems field.ErrorList) {
	value := s.Default.Object
	pruned := runtime.DeepCopyJSONValue(value)
	if pruning.Prune(pruned, s, s.XEmbeddedResource); !change.Equal(pruned, value) {
		problems = append(problems, field.Invalid(at, value, "must not have unknown fields"))
	}
	if err := objectmeta.Coerce(at, pruned, s, s.XEmbeddedResource, false); err != nil {
		return append(problems, err)
	}
	if wrong := objectmeta.Validate(at, value, s, s.XEmbeddedResource); len(wrong) > 0 {
		return append(problems, byField(wrong)...)
	}
	if wrong := validateValue(at, s.ToKubeOpenAPI(), value); len(wrong) > 0 {
		return append(problems, byField(wrong)...)
	}
	if !hasRules(s) {
		return problems
	}
	rules := newRuleNode(d.server.cel, s, s, visibleOf(s), model.SchemaDeclType(s, s.XEmbeddedResource))
	for _, old := range []any{value, nil} { // rules may accept the value only as it was, or only as a new one
		run := ruleRun{ctx: d.ctx, budget: celenv.RulesBudget}
		if run.evaluate(rules, at, value, old, correlation{}); len(run.problems) > 0 {
			return append(problems, run.problems...)
		}
	}
	return problems
}
