package tfprovider

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// unitTest runs steps with the provider in this process.
func unitTest(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	t.Setenv("TF_ACC_TERRAFORM_PATH", terraform(t))
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"preadmit": func() (tfprotov6.ProviderServer, error) { return NewServer("test"), nil },
		},
		Steps: steps,
	})
}

// again is a step that checks that the second plan is empty.
func again(step resource.TestStep) resource.TestStep {
	step.ConfigPlanChecks.PostApplyPostRefresh = append(step.ConfigPlanChecks.PostApplyPostRefresh, plancheck.ExpectEmptyPlan())
	return step
}

func TestAccDataSource(t *testing.T) {
	address := "data.preadmit_manifests.x"
	unitTest(t, again(resource.TestStep{
		Config: `data "preadmit_manifests" "x" {
			manifests           = [` + heredoc(configMap("a")) + `]
			sensitive_manifests = [` + heredoc(secretNamed("s", "hunter2hunter2")) + `]
			policies            = [` + heredoc(labelPolicy) + `]
			request             = { operation = "CREATE", user = { username = "ci", groups = ["x"], extra = { k = ["v"] } } }
		}`,
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("results"), knownvalue.MapExact(map[string]knownvalue.Check{
				"_/ConfigMap/default/a": knownvalue.StringExact(mutated("a")),
			})),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("changed"), knownvalue.ListExact([]knownvalue.Check{
				knownvalue.StringExact("_/ConfigMap/default/a"), knownvalue.StringExact("_/Secret/default/s"),
			})),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("yaml"), knownvalue.Null()),
			statecheck.ExpectSensitiveValue(address, tfjsonpath.New("sensitive_results")),
			statecheck.ExpectSensitiveValue(address, tfjsonpath.New("sensitive_manifests")),
			statecheck.ExpectSensitiveValue(address, tfjsonpath.New("yaml")),
		},
	}))
}

// Functions keep keys known, and only values that depend on unknown ones are unknown. The data source
// cannot do this.
func TestAccUnknown(t *testing.T) {
	config := `
		resource "terraform_data" "later" { input = "later" }
		locals {
			policies  = [` + heredoc(labelPolicy) + `]
			manifests = {
				a = jsonencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
				b = jsonencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "b", labels = { x = terraform_data.later.output } } })
			}
			each = { for k, m in local.manifests : k => provider::preadmit::mutate(m, local.policies) }
			all  = provider::preadmit::mutate_all(local.manifests, local.policies)
		}
		output "each_keys" { value = keys(local.each) }
		output "each_a"    { value = local.each["a"] }
		output "each_b"    { value = local.each["b"] }
		output "all_keys"  { value = keys(local.all) }
		output "all_a"     { value = local.all["a"] }
		output "all_b"     { value = local.all["b"] }
		data "preadmit_manifests" "x" {
			manifests = values(local.manifests)
			policies  = local.policies
		}
		output "source" { value = data.preadmit_manifests.x.results }
	`
	keys := knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("a"), knownvalue.StringExact("b")})
	var checks []plancheck.PlanCheck
	for _, name := range []string{"each", "all"} {
		checks = append(checks,
			plancheck.ExpectKnownOutputValue(name+"_keys", keys),
			plancheck.ExpectKnownOutputValue(name+"_a", knownvalue.StringExact(mutated("a"))),
			plancheck.ExpectUnknownOutputValue(name+"_b"),
		)
	}
	later := knownvalue.StringExact(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"mutated":"yes","x":"later"},"name":"b"}}`)
	unitTest(t, again(resource.TestStep{
		Config:           config,
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: append(checks, plancheck.ExpectUnknownOutputValue("source"))},
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownOutputValue("each_b", later),
			statecheck.ExpectKnownOutputValue("all_b", later),
			statecheck.ExpectKnownOutputValue("source", knownvalue.MapSizeExact(2)),
		},
	}))
}

// Only the sensitive element is sensitive.
func TestAccSensitive(t *testing.T) {
	unitTest(t, resource.TestStep{
		Config: `
			locals {
				manifests = {
					open   = jsonencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } })
					secret = sensitive(jsonencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "b" } }))
				}
				policies = [` + heredoc(labelPolicy) + `]
				each     = { for k, m in local.manifests : k => provider::preadmit::mutate(m, local.policies) }
				all      = provider::preadmit::mutate_all(local.manifests, local.policies)
			}
			output "each" { value = [issensitive(local.each["open"]), issensitive(local.each["secret"])] }
			output "all"  { value = issensitive(local.all) }
		`,
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownOutputValue("each", knownvalue.ListExact([]knownvalue.Check{knownvalue.Bool(false), knownvalue.Bool(true)})),
			statecheck.ExpectKnownOutputValue("all", knownvalue.Bool(true)),
		},
	})
}

// Errors name the line in the configuration.
func TestAccErrors(t *testing.T) {
	source := func(body string) string { return "data \"preadmit_manifests\" \"x\" {\n" + body + "}\n" }
	call := func(arguments string) string {
		return "output \"x\" {\n  value = provider::preadmit::mutate(" + arguments + ")\n}\n"
	}
	for name, test := range map[string]struct {
		config string
		want   []string
	}{
		"invalid manifest": {
			source("  policies = []\n  manifests = [\n    " + `"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}",` + "\n    \"kind: ConfigMap\",\n  ]\n"),
			[]string{"Error: Invalid Manifest", `:\s+"kind: ConfigMap",`, `manifests\[1\], document 1, line 1, column 1: the document has no apiVersion`},
		},
		"invalid policy": {
			source("  manifests = [" + heredoc(configMap("a")) + "  ]\n  policies = [\n" + heredoc(strings.Replace(labelPolicy, "Object.metadata", "Objct.metadata", 1)) + "  ]\n"),
			[]string{"Error: Invalid Policy", `policies\[0\], line 15, column 51`, `undeclared reference to 'Objct`},
		},
		"unknown argument": {
			source("  manifest = [\"x\"]\n"),
			[]string{`Did you mean "manifests"\?`},
		},
		"duplicate": {
			source("  manifests = [\n    \"" + strings.ReplaceAll(configMap("a"), "\n", `\n`) + "\",\n    \"" + strings.ReplaceAll(configMap("a"), "\n", `\n`) + "\",\n  ]\n"),
			[]string{"Error: Duplicate Manifest", `_/ConfigMap/default/a is already defined in`},
		},
		"missing file": {
			source("  manifest_files = [\"missing.yaml\"]\n"),
			[]string{"Error: Unreadable File", `missing.yaml: no such file or directory`, `path.module`},
		},
		"unknown option": {
			call(`"kind: x", [], { contxt = [] }`),
			[]string{`Invalid value for "options" parameter`, `did you mean context\?`},
		},
		"policy of a function": {
			call(`jsonencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } }), ["kind: MutatingAdmissionPolicy"]`),
			[]string{`Invalid value for "policies" parameter`, `the document has no apiVersion`},
		},
		"no input": {
			source("  policies = []\n"),
			[]string{"Error: No Manifests"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Terraform wraps lines at any place.
			pattern := strings.ReplaceAll(strings.Join(test.want, `(?s:.)*`), " ", `[\s│]+`)
			unitTest(t, resource.TestStep{Config: test.config, PlanOnly: true, ExpectError: regexp.MustCompile(pattern)})
		})
	}
}

// The protocol can transfer a thousand manifests.
func TestAccMany(t *testing.T) {
	unitTest(t, resource.TestStep{
		Config: fmt.Sprintf(`
			locals {
				policies  = [%s]
				manifests = { for i in range(1000) : format("c%%d", i) => jsonencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c${i}" } }) }
			}
			data "preadmit_manifests" "x" {
				manifests = values(local.manifests)
				policies  = local.policies
			}
			output "same" { value = toset(values(data.preadmit_manifests.x.results)) == toset(values(provider::preadmit::mutate_all(local.manifests, local.policies))) }
			output "size" { value = length(data.preadmit_manifests.x.ids) }
		`, heredoc(labelPolicy)),
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownOutputValue("same", knownvalue.Bool(true)),
			statecheck.ExpectKnownOutputValue("size", knownvalue.Int64Exact(1000)),
		},
	})
}
