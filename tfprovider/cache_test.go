package tfprovider

import (
	"fmt"
	"sync"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/internal/settings"
)

// Policies with the same content are compiled once, and the number of cached sets is limited.
func TestCache(t *testing.T) {
	c := newCache(2)
	given := func(policy, version string) *config {
		g := &config{}
		g.texts[settings.Policies] = []text{{name: "policies[0]", data: policy}}
		g.options.Engine.KubernetesVersion = version
		return g
	}
	first := c.compile(given(labelPolicy, "1.36"))
	if first.set == nil {
		t.Fatal(first.diagnostics)
	}
	if c.compile(given(labelPolicy, "1.36")) != first {
		t.Error("the same content is compiled again")
	}
	if c.compile(given(labelPolicy, "1.35")) == first || c.compile(given(teamPolicy, "1.36")) == first {
		t.Error("other content is not compiled")
	}
	if len(c.entries) != 2 || len(c.order) != 2 {
		t.Errorf("%d entries are kept", len(c.entries))
	}
	if c.compile(given(labelPolicy, "1.36")) == first {
		t.Error("the entry not used for longest is kept")
	}
}

// Configs that divide the same text differently must have different fingerprints.
func TestFingerprint(t *testing.T) {
	seen := map[fingerprint]string{}
	for name, c := range map[string]*config{
		"policies":  {texts: [settings.Roles][]text{settings.Policies: {{name: "x", data: "ab"}}}},
		"shifted":   {texts: [settings.Roles][]text{settings.Policies: {{name: "xa", data: "b"}}}},
		"two":       {texts: [settings.Roles][]text{settings.Policies: {{name: "x", data: "a"}, {name: "", data: "b"}}}},
		"context":   {texts: [settings.Roles][]text{settings.Context: {{name: "x", data: "ab"}}}},
		"old":       {texts: [settings.Roles][]text{settings.Old: {{name: "x", data: "ab"}}}},
		"values":    {texts: [settings.Roles][]text{settings.Values: {{name: "x", data: "ab"}}}},
		"user info": {texts: [settings.Roles][]text{settings.UserInfo: {{name: "x", data: "ab"}}}},
		"openapi":   {texts: [settings.Roles][]text{settings.OpenAPI: {{name: "x", data: "ab"}}}},
		"secret":    {sensitive: [settings.Roles][]text{settings.Policies: {{name: "x", data: "ab"}}}},
		"version":   {options: settings.Config{Engine: engine.Options{KubernetesVersion: "1.36"}}},
		"groups":    {options: settings.Config{Engine: engine.Options{User: policy.User{Groups: []string{"a"}}}}},
		"extra":     {options: settings.Config{Engine: engine.Options{User: policy.User{Extra: map[string][]string{"a": nil}}}}},
		"manifests": {texts: [settings.Roles][]text{settings.Manifests: {{name: "x", data: "ab"}}}},
	} {
		if other, ok := seen[c.fingerprint()]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		seen[c.fingerprint()] = name
	}
	if seen[(&config{}).fingerprint()] != "manifests" {
		t.Error("a set depends on the manifests")
	}
}

// Terraform reads data sources and calls functions concurrently.
func TestConcurrency(t *testing.T) {
	s := newServer(t)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			name := fmt.Sprint("c", i)
			policies := []string{labelPolicy, fmt.Sprintf("# %d\n", i%3)}
			if got, err := s.call(t, "mutate", configMap(name), policies, map[string]any{"allow_no_policies": true}); err != nil || got != mutated(name) {
				t.Errorf("%v %v", got, err)
			}
			state, messages := s.read(t, map[string]any{"manifests": []string{configMap(name)}, "policies": policies})
			if key := "_/ConfigMap/default/" + name; state == nil || state["results"].(map[string]any)[key] != mutated(name) {
				t.Error(state, messages)
			}
		})
	}
	wait.Wait()
}
