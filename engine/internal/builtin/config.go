package builtin

import (
	"encoding/json"
	"errors"
	"fmt"

	admissionapi "k8s.io/pod-security-admission/admission/api"
	v1 "k8s.io/pod-security-admission/admission/api/v1"
	"k8s.io/pod-security-admission/admission/api/validation"
	"k8s.io/pod-security-admission/api"
	strict "sigs.k8s.io/json"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Config is the configuration of plug-ins.
type Config struct {
	defaults   api.Policy
	exemptions admissionapi.PodSecurityExemptions
}

// The groups of configurations of an API server and of PodSecurity.
const (
	serverGroup   = "apiserver.config.k8s.io"
	securityGroup = "pod-security.admission.config.k8s.io"
)

// IsConfig reports whether objects of a kind configure a server and never reach a cluster.
func IsConfig(kind gvk.Kind) bool { return kind.Group == serverGroup || kind.Group == securityGroup }

// ReadConfig reads the configuration of PodSecurity from documents: PodSecurityConfigurations, or
// AdmissionConfigurations that contain one. Without any, the configuration is that of a stock
// server.
func ReadConfig(documents []*manifest.Document) (Config, []source.Diagnostic) {
	config := Config{}
	config.defaults, _ = admissionapi.ToPolicy(defaultsOf(v1.PodSecurityDefaults{}))
	var diagnostics []source.Diagnostic
	var first *manifest.Document
	for _, d := range documents {
		object, path := securityConfig(d)
		if object == nil {
			continue
		}
		fail := func(err error) {
			diagnostics = append(diagnostics, source.Errorf(d.At(path), "plugin-config-invalid", "the configuration of the admission plug-in PodSecurity is wrong: %v", err).
				With("a server with it does not start"))
		}
		if first != nil {
			fail(fmt.Errorf("there is another one in %s", first.At(nil)))
			continue
		}
		first = d
		given, err := readSecurity(object)
		if err != nil {
			fail(err)
			continue
		}
		config.exemptions = given.Exemptions
		config.defaults, _ = admissionapi.ToPolicy(given.Defaults) // it is valid
	}
	return config, diagnostics
}

// securityConfig returns the configuration of PodSecurity in a document, and its path. It returns
// nil for other documents.
func securityConfig(d *manifest.Document) (map[string]any, change.Path) {
	switch kind := d.Kind(); {
	case kind.Group == securityGroup:
		return d.Object(), nil
	case kind.Group != serverGroup || kind.Kind != "AdmissionConfiguration":
		return nil, nil
	}
	plugins, _ := d.Object()["plugins"].([]any)
	for i, item := range plugins {
		entry, _ := item.(map[string]any)
		if object, ok := entry["configuration"].(map[string]any); ok && entry["name"] == "PodSecurity" {
			return object, change.Keys("plugins").Index(i).Key("configuration")
		}
	}
	return nil, nil
}

// readSecurity reads and checks a PodSecurityConfiguration.
func readSecurity(object map[string]any) (*admissionapi.PodSecurityConfiguration, error) {
	var external v1.PodSecurityConfiguration
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	kind := gvk.Parse(apiVersion, name)
	if kind.Group != securityGroup || kind.Kind != "PodSecurityConfiguration" {
		return nil, fmt.Errorf("expected a PodSecurityConfiguration of %s/v1", securityGroup)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	problems, err := strict.UnmarshalStrict(text, &external)
	if err = errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	internal := &admissionapi.PodSecurityConfiguration{Defaults: defaultsOf(external.Defaults), Exemptions: admissionapi.PodSecurityExemptions(external.Exemptions)}
	return internal, validation.ValidatePodSecurityConfiguration(internal).ToAggregate()
}

// defaultsOf returns the levels of a configuration with those that it leaves out.
func defaultsOf(given v1.PodSecurityDefaults) admissionapi.PodSecurityDefaults {
	v1.SetDefaults_PodSecurityDefaults(&given)
	return admissionapi.PodSecurityDefaults(given)
}
