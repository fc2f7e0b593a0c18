package tfprovider

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		directory, err := os.MkdirTemp("", "tfprovider")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(directory)
		built.directory = directory
		// Ignore the configuration of the user, and disable checks for updates.
		os.Setenv("TF_CLI_CONFIG_FILE", os.DevNull)
		os.Setenv("CHECKPOINT_DISABLE", "1")
		return m.Run()
	}())
}

// terraform returns the path of Terraform. If Terraform is missing, it skips the test; in CI, the test
// fails. TF_ACC_TERRAFORM_PATH is the path of another Terraform, or of OpenTofu.
func terraform(t testing.TB) string {
	t.Helper()
	client := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if client == "" {
		client = "terraform"
	}
	path, err := exec.LookPath(client)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("there is no terraform: %v", err)
	default:
		t.Skipf("there is no terraform: %v", err)
	}
	return ""
}

// built are the binaries of the provider and of the fake providers.
var built struct {
	directory string
	once      sync.Once
	err       error
}

// standIns are the fakes of other providers in the examples, with their source addresses.
var standIns = map[string]string{
	"kubernetes": "hashicorp/kubernetes", "helm": "hashicorp/helm", "local": "hashicorp/local",
	"kubectl": "alekc/kubectl", "echo": "example/echo",
}

// binaries builds the provider and the fake providers, and returns their directory.
func binaries(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		for name, source := range map[string]string{"preadmit": "./terraform-provider-preadmit", "standin": "./testdata/standin"} {
			build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(built.directory, "terraform-provider-"+name), source)
			if output, err := build.CombinedOutput(); err != nil {
				built.err = fmt.Errorf("%v: %v\n%s", build, err, output)
				return
			}
		}
		for name := range standIns {
			if err := os.Link(built.directory+"/terraform-provider-standin", built.directory+"/terraform-provider-"+name); err != nil {
				built.err = err
			}
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.directory
}

// cli is a directory to run Terraform in.
type cli struct {
	client, directory string
	environment       []string
}

// newCLI returns a directory in which Terraform finds the provider and the fake providers without
// installing them.
func newCLI(t testing.TB, directory string) *cli {
	t.Helper()
	client, providers := terraform(t), binaries(t)
	var config strings.Builder
	fmt.Fprintf(&config, "provider_installation {\n  dev_overrides {\n    \"preadmit/preadmit\" = %q\n", providers)
	for _, source := range standIns {
		fmt.Fprintf(&config, "    %q = %q\n", source, providers)
	}
	config.WriteString("  }\n  direct {}\n}\ndisable_checkpoint = true\n")
	return &cli{client, directory, []string{"TF_CLI_CONFIG_FILE=" + configFile(t, config.String())}}
}

func configFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "terraformrc")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// try runs Terraform and returns its output.
func (c *cli) try(arguments ...string) (string, error) {
	command := exec.Command(c.client, arguments...)
	var output bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = c.directory, &output, &output
	command.Env = append(append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_CLI_ARGS=-no-color"), c.environment...)
	err := command.Run()
	return output.String(), err
}

// run runs Terraform, which must succeed.
func (c *cli) run(t testing.TB, arguments ...string) string {
	t.Helper()
	output, err := c.try(arguments...)
	if err != nil {
		t.Fatalf("terraform %q: %v\n%s", arguments, err, output)
	}
	return output
}

const required = `terraform {
  required_providers {
    preadmit = {
      source = "preadmit/preadmit"
    }
  }
}
`

// configuration writes a configuration into a directory.
func configuration(t testing.TB, files map[string]string) string {
	t.Helper()
	directory := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// heredoc returns a text as an HCL string.
func heredoc(text string) string { return "<<EOT\n" + text + "EOT\n" }
