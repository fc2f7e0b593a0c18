package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// plans returns the two plans to compare: with preadmit's provider, and with a data source that
// copies its strings. It returns nothing if Terraform is not installed.
func (t *tools) plans() []command {
	client, err := exec.LookPath("terraform")
	if err != nil {
		return nil
	}
	environment := []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(t.dir, "terraformrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}
	plan := func(label, dir string) command {
		return command{label: label, path: client, args: []string{"-chdir=" + filepath.Join(t.dir, dir), "plan"}, environment: environment, prepare: t.prepareTerraform}
	}
	return []command{plan("plan", "preadmit-plan"), plan("plan of copies", "echo-plan")}
}

// prepareTerraform builds the providers and writes the input of the plans, once.
func (t *tools) prepareTerraform() error {
	providers := filepath.Join(t.dir, "providers")
	if _, err := os.Stat(providers); err == nil {
		return nil
	}
	for name, what := range map[string]string{"preadmit": "./tfprovider/terraform-provider-preadmit", "echo": "./tfprovider/testdata/standin"} {
		if err := build(filepath.Join(providers, "terraform-provider-"+name), what); err != nil {
			return err
		}
	}
	rc := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"preadmit/preadmit\" = %[1]q\n    \"example/echo\" = %[1]q\n  }\n  direct {}\n}\n", providers)
	if err := os.WriteFile(filepath.Join(t.dir, "terraformrc"), []byte(rc), 0o600); err != nil {
		return err
	}
	policies := fmt.Sprintf("policies = [file(%q)]", filepath.Join(t.dir, tenPolicies))
	for name, given := range map[string][2]string{"preadmit": {"preadmit/preadmit", policies}, "echo": {"example/echo", ""}} {
		dir := filepath.Join(t.dir, name+"-plan")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		text := fmt.Sprintf(configuration, name, given[0], t.streamFile(1000), given[1])
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// configuration reads a thousand manifests, each a string.
const configuration = `terraform {
  required_providers {
    %[1]s = {
      source = %[2]q
    }
  }
}
data "%[1]s_manifests" "x" {
  manifests = split("\n---\n", file(%[3]q))
  %[4]s
}
output "size" { value = length(data.%[1]s_manifests.x.results) }
`
