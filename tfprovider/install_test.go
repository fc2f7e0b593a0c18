package tfprovider

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// mirror packs the provider like a release into a file system mirror for Terraform and OpenTofu, and
// returns the configuration that installs from it.
func mirror(t *testing.T, version string) string {
	t.Helper()
	binary, err := os.ReadFile(filepath.Join(binaries(t), "terraform-provider-preadmit"))
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	var hosts []string
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		target := filepath.Join(directory, host, "preadmit", "preadmit")
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("terraform-provider-preadmit_%s_%s_%s.zip", version, runtime.GOOS, runtime.GOARCH)
		file, err := os.Create(filepath.Join(target, name))
		if err != nil {
			t.Fatal(err)
		}
		archive := zip.NewWriter(file)
		header := &zip.FileHeader{Name: "terraform-provider-preadmit_v" + version, Method: zip.Deflate}
		header.SetMode(0o755)
		entry, err := archive.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(binary)
		}
		for _, err := range []error{err, archive.Close(), file.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		hosts = append(hosts, fmt.Sprintf("%q", host+"/preadmit/preadmit"))
	}
	return fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path    = %q\n    include = [%s]\n  }\n}\ndisable_checkpoint = true\n",
		directory, strings.Join(hosts, ", "))
}

// TestInstall runs the commands of a user: init from a release, plan, apply, and a second plan, which
// must be empty.
func TestInstall(t *testing.T) {
	directory := configuration(t, map[string]string{
		"main.tf": strings.Replace(required, `source = "preadmit/preadmit"`, `source  = "preadmit/preadmit"`+"\n      version = \"~> 0.1\"", 1) + `
			locals {
				policies = [file("${path.module}/policy.yaml")]
			}
			data "preadmit_manifests" "app" {
				manifest_files = ["${path.module}/app.yaml"]
				policies       = local.policies
			}
			resource "terraform_data" "app" {
				for_each = data.preadmit_manifests.app.results
				input    = each.value
			}
			resource "terraform_data" "parts" {
				for_each = provider::preadmit::split(file("${path.module}/app.yaml"))
				input    = provider::preadmit::mutate(each.value, local.policies)
			}
		`,
		"app.yaml":    configMap("a") + "---\n" + configMap("b"),
		"policy.yaml": labelPolicy,
	})
	c := &cli{terraform(t), directory, nil}
	c.environment = []string{"TF_CLI_CONFIG_FILE=" + configFile(t, mirror(t, "0.1.0"))}
	c.run(t, "init")
	if lock, err := os.ReadFile(filepath.Join(directory, ".terraform.lock.hcl")); err != nil || !strings.Contains(string(lock), "h1:") {
		t.Errorf("%v\n%s", err, lock)
	}
	c.run(t, "plan", "-out", "plan.bin")
	if output := c.run(t, "apply", "plan.bin"); !strings.Contains(output, "4 added") {
		t.Error(output)
	}
	// With -detailed-exitcode, changes are an error.
	c.run(t, "plan", "-detailed-exitcode")
	var state struct {
		Values struct {
			Root struct {
				Resources []struct {
					Address string
					Values  struct{ Output string }
				}
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(c.run(t, "show", "-json")), &state); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range state.Values.Root.Resources {
		got[r.Address] = r.Values.Output
	}
	for _, name := range []string{"a", "b"} {
		for _, resource := range []string{"app", "parts"} {
			address := fmt.Sprintf(`terraform_data.%s["_/ConfigMap/default/%s"]`, resource, name)
			if got[address] != mutated(name) {
				t.Errorf("%s: %s", address, got[address])
			}
		}
	}
}

// TestInstallGuide follows the guide about builds that are not in a registry.
func TestInstallGuide(t *testing.T) {
	guide, err := os.ReadFile("templates/guides/install.md")
	if err != nil {
		t.Fatal(err)
	}
	client, home := terraform(t), t.TempDir()
	blocks := func(language string) (found []string) {
		for _, block := range strings.Split(string(guide), "```"+language+"\n")[1:] {
			text, _, _ := strings.Cut(block, "```")
			found = append(found, text)
		}
		return found
	}
	build := exec.Command("bash", "-euc", strings.ReplaceAll(blocks("sh")[0], "$HOME", home))
	build.Dir = ".."
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	kubernetes := strings.Replace(required, "required_providers {", "required_providers {\n    kubernetes = { source = \"hashicorp/kubernetes\" }", 1)
	parts := "provider::preadmit::split(" + heredoc(configMap("a")) + ")"
	for i, test := range []struct {
		configuration string
		installs      bool
	}{
		{required + "output \"x\" {\n  value = " + parts + "\n}\n", true},
		{kubernetes + "resource \"kubernetes_manifest\" \"x\" {\n  manifest = " + parts + "\n}\n", false},
	} {
		text := strings.NewReplacer("/home/me/preadmit/bin", binaries(t), "/home/me/providers", binaries(t), "/home/me", home).Replace(blocks("hcl")[i])
		c := &cli{client, configuration(t, map[string]string{"main.tf": test.configuration}), []string{"TF_CLI_CONFIG_FILE=" + configFile(t, text)}}
		if test.installs {
			c.run(t, "init")
		}
		if output := c.run(t, "plan"); test.installs == strings.Contains(output, "overrides are in effect") {
			t.Error(output)
		}
	}
}
