package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metadata "k8s.io/apimachinery/pkg/api/validation"
	strict "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/preadmit/preadmit/engine/gvk"
)

// definitionKind is the kind of CustomResourceDefinitions. Their validation follows
// k8s.io/apiextensions-apiserver v0.36.3 (pkg/apis/apiextensions/validation), which cannot be imported
// without the metrics, the flags and the client of a server.
var definitionKind = gvk.Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// definition validates one CustomResourceDefinition.
type definition struct {
	server *Server
	ctx    context.Context
	spec   *apiextensions.CustomResourceDefinitionSpec
}

// checkDefinition returns the errors of a CustomResourceDefinition in the order of a server; it has
// those of the properties of a schema in random order. A server does not tighten the rules for
// definitions that it has stored: nothing is said about a change of one that it would refuse today.
func (v *Server) checkDefinition(ctx context.Context, object, old map[string]any) field.ErrorList {
	if old != nil && len(v.checkDefinition(ctx, old, nil)) > 0 {
		return nil
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	var external v1.CustomResourceDefinition
	var internal apiextensions.CustomResourceDefinition
	if strict.Unmarshal(text, &external) != nil {
		return nil // another stage refuses it
	}
	v1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	if v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, &internal, nil) != nil {
		return nil
	}
	d := definition{v, ctx, &internal.Spec}
	problems := d.checkName(&internal)
	at := field.NewPath("spec")
	problems = append(problems, d.checkSpec(at)...)
	problems = append(problems, d.checkStored(field.NewPath("status", "storedVersions"))...)
	problems = append(problems, d.checkApproval(internal.Annotations)...)
	if free := d.spec.PreserveUnknownFields; free != nil && *free {
		problems = append(problems, field.Invalid(at.Child("preserveUnknownFields"), free, "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"))
	}
	return problems
}

// checkStored checks the versions in which objects are stored. A server adds the first one to the status.
func (d *definition) checkStored(at *field.Path) (problems field.ErrorList) {
	var stored []string
	for _, version := range d.spec.Versions {
		switch {
		case !version.Storage:
		case stored == nil:
			stored = []string{version.Name}
		case version.Name != stored[0]:
			problems = append(problems, field.Invalid(at, stored, "must have the storage version "+version.Name))
		}
	}
	if stored == nil {
		return field.ErrorList{field.Invalid(at, stored, "must have at least one stored version")}
	}
	return problems
}

// checkName checks the metadata. The name follows from the names in the spec.
func (d *definition) checkName(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	required := d.spec.Names.Plural + "." + d.spec.Group
	rule := func(name string, prefix bool) []string {
		problems := metadata.NameIsDNSSubdomain(name, prefix)
		if name != required {
			problems = append(problems, `must be spec.names.plural+"."+spec.group`)
		}
		return problems
	}
	return byField(metadata.ValidateObjectMeta(&crd.ObjectMeta, false, rule, field.NewPath("metadata")))
}

// checkApproval checks the annotation that definitions in groups of Kubernetes need.
func (d *definition) checkApproval(annotations map[string]string) field.ErrorList {
	if !apihelpers.IsProtectedCommunityGroup(d.spec.Group) {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(v1.KubeAPIApprovedAnnotation)
	switch state, reason := apihelpers.GetAPIApprovalState(annotations); state {
	case apihelpers.APIApprovalInvalid:
		return field.ErrorList{field.Invalid(at, annotations[v1.KubeAPIApprovedAnnotation], reason)}
	case apihelpers.APIApprovalMissing:
		return field.ErrorList{field.Required(at, reason)}
	}
	return nil
}

// checkSpec checks everything but the metadata.
func (d *definition) checkSpec(at *field.Path) (problems field.ErrorList) {
	switch group := d.spec.Group; {
	case group == "":
		problems = append(problems, field.Required(at.Child("group"), ""))
	case len(validation.IsDNS1123Subdomain(group)) > 0:
		problems = append(problems, field.Invalid(at.Child("group"), group, strings.Join(validation.IsDNS1123Subdomain(group), ",")))
	case !strings.Contains(group, "."):
		problems = append(problems, field.Invalid(at.Child("group"), group, "should be a domain with at least one dot"))
	}
	problems = append(problems, oneOf(at.Child("scope"), string(d.spec.Scope), "Cluster", "Namespaced")...)
	if d.spec.Validation == nil || d.spec.Validation.OpenAPIV3Schema == nil {
		for i, version := range d.spec.Versions {
			if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
				problems = append(problems, field.Required(at.Child("versions").Index(i).Child("schema").Child("openAPIV3Schema"), ""))
			}
		}
	}
	problems = append(problems, d.checkVersions(at)...)
	problems = append(problems, d.checkNames(at.Child("names"))...)
	problems = append(problems, d.checkSchema(d.spec.Validation, d.anyStatus(), at.Child("validation"))...)
	problems = append(problems, checkSubresources(d.spec.Subresources, at.Child("subresources"))...)
	problems = append(problems, checkColumns(d.spec.AdditionalPrinterColumns, at.Child("additionalPrinterColumns"))...)
	problems = append(problems, d.checkSelectable(d.spec.SelectableFields, d.spec.Validation, at.Child("selectableFields"))...)
	return append(problems, checkConversion(d.spec.Conversion, at.Child("conversion"))...)
}

// oneOf checks a value that must be one of some.
func oneOf(at *field.Path, value string, accepted ...string) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(at, "")}
	case !slices.Contains(accepted, value):
		return field.ErrorList{field.NotSupported(at, value, accepted)}
	}
	return nil
}

// checkVersions checks the versions. What all versions have in common is not part of them, but of the
// spec.
func (d *definition) checkVersions(at *field.Path) (problems field.ErrorList) {
	stored, names := 0, map[string]bool{}
	for i := range d.spec.Versions {
		version, at := &d.spec.Versions[i], at.Child("versions").Index(i)
		if names[version.Name] = true; version.Storage {
			stored++
		}
		if wrong := validation.IsDNS1035Label(version.Name); len(wrong) > 0 {
			problems = append(problems, field.Invalid(at.Child("name"), version.Name, strings.Join(wrong, ",")))
		}
		for _, wrong := range deprecationProblems(version) {
			problems = append(problems, field.Invalid(at.Child("deprecationWarning"), version.DeprecationWarning, wrong))
		}
		subresources := version.Subresources
		if subresources == nil {
			subresources = d.spec.Subresources
		}
		problems = append(problems, d.checkSchema(version.Schema, hasStatusField(subresources), at.Child("schema"))...)
		problems = append(problems, checkSubresources(version.Subresources, at.Child("subresources"))...)
		problems = append(problems, checkColumns(version.AdditionalPrinterColumns, at.Child("additionalPrinterColumns"))...)
		problems = append(problems, d.checkSelectable(version.SelectableFields, version.Schema, at.Child("selectableFields"))...)
	}
	if len(names) < len(d.spec.Versions) {
		problems = append(problems, field.Invalid(at.Child("versions"), d.spec.Versions, "must contain unique version names"))
	}
	if stored != 1 {
		problems = append(problems, field.Invalid(at.Child("versions"), d.spec.Versions, "must have exactly one version marked as storage version"))
	}
	if wrong := validation.IsDNS1035Label(d.spec.Version); d.spec.Version != "" && len(wrong) > 0 {
		problems = append(problems, field.Invalid(at.Child("version"), d.spec.Version, strings.Join(wrong, ",")))
	}
	return problems
}

// maxDeprecation is the maximum length of a warning in bytes.
const maxDeprecation = 256

// deprecationProblems returns what is wrong with the warning about a version.
func deprecationProblems(version *apiextensions.CustomResourceDefinitionVersion) (problems []string) {
	warning := version.DeprecationWarning
	switch {
	case warning == nil:
		return nil
	case !version.Deprecated:
		return []string{"can only be set for deprecated versions"}
	case len(*warning) > maxDeprecation:
		problems = append(problems, "must be <= 256 characters long")
	case *warning == "":
		problems = append(problems, "must not be an empty string")
	}
	if i := strings.IndexFunc(*warning, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		problems = append(problems, fmt.Sprintf("must only contain printable UTF-8 characters; non-printable character found at index %d", i))
	}
	if !utf8.ValidString(*warning) {
		problems = append(problems, "must only contain printable UTF-8 characters")
	}
	return problems
}

// anyStatus reports whether any version has the subresource status.
func (d *definition) anyStatus() bool {
	return hasStatusField(d.spec.Subresources) || slices.ContainsFunc(d.spec.Versions, func(version apiextensions.CustomResourceDefinitionVersion) bool {
		return hasStatusField(version.Subresources)
	})
}

func hasStatusField(s *apiextensions.CustomResourceSubresources) bool {
	return s != nil && s.Status != nil
}

// checkNames checks the names of the kind and its resource.
func (d *definition) checkNames(at *field.Path) (problems field.ErrorList) {
	names := &d.spec.Names
	all := []struct{ field, name string }{
		{"plural", names.Plural}, {"singular", names.Singular}, {"kind", names.Kind}, {"listKind", names.ListKind},
	}
	for _, n := range all {
		if n.name == "" {
			problems = append(problems, field.Required(at.Child(n.field), ""))
		}
	}
	for i, n := range all {
		label, advice := n.name, ""
		if i >= 2 {
			label, advice = strings.ToLower(n.name), "may have mixed case, but should otherwise match: "
		}
		problems = append(problems, label1035(at.Child(n.field), n.name, label, advice)...)
	}
	for i, name := range names.ShortNames {
		problems = append(problems, listed1035(at.Child("shortNames").Index(i), name)...)
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		problems = append(problems, field.Invalid(at.Child("listKind"), names.ListKind, "kind and listKind may not be the same"))
	}
	for i, name := range names.Categories {
		problems = append(problems, listed1035(at.Child("categories").Index(i), name)...)
	}
	return problems
}

// label1035 checks a name that may be missing.
func label1035(at *field.Path, name, label, advice string) field.ErrorList {
	if wrong := validation.IsDNS1035Label(label); name != "" && len(wrong) > 0 {
		return field.ErrorList{field.Invalid(at, name, advice+strings.Join(wrong, ","))}
	}
	return nil
}

// listed1035 checks a name in a list.
func listed1035(at *field.Path, name string) field.ErrorList {
	if wrong := validation.IsDNS1035Label(name); len(wrong) > 0 {
		return field.ErrorList{field.Invalid(at, name, strings.Join(wrong, ","))}
	}
	return nil
}

// checkConversion checks how a server converts between versions.
func checkConversion(conversion *apiextensions.CustomResourceConversion, at *field.Path) (problems field.ErrorList) {
	if conversion == nil {
		return nil
	}
	problems = oneOf(at.Child("strategy"), string(conversion.Strategy), "None", "Webhook")
	client, versions := conversion.WebhookClientConfig, conversion.ConversionReviewVersions
	if conversion.Strategy != apiextensions.WebhookConverter {
		if client != nil {
			problems = append(problems, field.Forbidden(at.Child("webhookClientConfig"), "should not be set when strategy is not set to Webhook"))
		}
		if len(versions) > 0 {
			problems = append(problems, field.Forbidden(at.Child("conversionReviewVersions"), "should not be set when strategy is not set to Webhook"))
		}
		return problems
	}
	switch at := at.Child("webhookClientConfig"); {
	case client == nil:
		problems = append(problems, field.Required(at, "required when strategy is set to Webhook"))
	case (client.URL == nil) == (client.Service == nil):
		problems = append(problems, field.Required(at, "exactly one of url or service is required"))
	default:
		problems = append(problems, checkClient(client, at)...)
	}
	return append(problems, checkReviews(versions, at.Child("conversionReviewVersions"))...)
}

// checkReviews checks the versions of ConversionReview that a webhook accepts.
func checkReviews(versions []string, at *field.Path) (problems field.ErrorList) {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(at, "")}
	}
	for i, version := range versions {
		if slices.Contains(versions[:i], version) {
			problems = append(problems, field.Invalid(at.Index(i), version, "duplicate version"))
			continue
		}
		for _, wrong := range validation.IsDNS1035Label(version) {
			problems = append(problems, field.Invalid(at.Index(i), version, wrong))
		}
	}
	if !slices.Contains(versions, "v1") && !slices.Contains(versions, "v1beta1") {
		problems = append(problems, field.Invalid(at, versions, "must include at least one of v1, v1beta1"))
	}
	return problems
}
