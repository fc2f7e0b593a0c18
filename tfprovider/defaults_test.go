package tfprovider

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// TestDefaults shows that the configuration of the provider has defaults for the data source, whose own
// attributes replace them as a whole.
func TestDefaults(t *testing.T) {
	terraform(t)
	other := strings.ReplaceAll(strings.ReplaceAll(labelPolicy, "label.example.com", "other.example.com"), `"yes"`, `"other"`)
	c := newCLI(t, configuration(t, map[string]string{
		"label.yaml": labelPolicy, "other.yaml": other,
		"main.tf": required + `
			provider "preadmit" {
				policies  = [file("label.yaml")]
				normalize = true
				namespace = "shop"
			}
			locals { manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {x: value}\n" }
			data "preadmit_manifests" "default" {
				sensitive_manifests = [local.manifest]
			}
			data "preadmit_manifests" "own" {
				sensitive_manifests = [local.manifest]
				policies            = [file("other.yaml")]
				namespace           = "team"
			}
			output "default" { value = nonsensitive(data.preadmit_manifests.default.sensitive_results) }
			output "own" { value = nonsensitive(data.preadmit_manifests.own.sensitive_results) }
		`,
	}))
	c.run(t, "apply", "-auto-approve")
	got := c.run(t, "output", "-json")
	for _, want := range []string{`_/Secret/shop/a`, `_/Secret/team/a`, `\"mutated\":\"yes\"`, `\"mutated\":\"other\"`} {
		if strings.Count(got, want) != 1 {
			t.Errorf("expected %s once in\n%s", want, got)
		}
	}
	if strings.Count(got, `\"data\":{`) != 2 {
		t.Errorf("normalize is a default for both:\n%s", got)
	}
}

// TestDefaultsInvalid shows the errors about the configuration of the provider.
func TestDefaultsInvalid(t *testing.T) {
	terraform(t)
	for name, test := range map[string][2]string{
		"version":  {`kubernetes_version = "1.12"`, "kubernetes_version"},
		"manifest": {`manifests = ["kind: x"]`, "Unsupported argument"},
	} {
		c := newCLI(t, configuration(t, map[string]string{"main.tf": required + "provider \"preadmit\" {\n" + test[0] + "\n}\ndata \"preadmit_manifests\" \"x\" {\nmanifests = [\"kind: x\"]\n}\n"}))
		if output, err := c.try("validate"); err == nil || !strings.Contains(output, test[1]) {
			t.Errorf("%s: %v %s", name, err, output)
		}
	}
}

// TestFunctionsHaveNoConfiguration shows that a call of a function has only its arguments: the protocol
// does not hand it the configuration of the provider.
func TestFunctionsHaveNoConfiguration(t *testing.T) {
	kind := reflect.TypeFor[tfprotov6.CallFunctionRequest]()
	for i := range kind.NumField() {
		if name := kind.Field(i).Name; name != "Name" && name != "Arguments" {
			t.Errorf("a call has the field %s: may functions use the configuration of the provider now?", name)
		}
	}
}
