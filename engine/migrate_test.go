package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// TestMigrateCorpus converts the policies of the corpus, those that Kyverno publishes among
// them, and runs both forms on the manifests of their cases, and on foreign ones.
func TestMigrateCorpus(t *testing.T) {
	cases, err := filepath.Glob("../../shared/corpus/kyverno/*/*/policy.yaml")
	if err != nil || len(cases) == 0 {
		t.Skip("the corpus is not there")
	}
	foreign := readForeign(t)
	published, converted := 0, 0
	for _, file := range cases {
		dir := filepath.Dir(file)
		suite := filepath.Base(filepath.Dir(dir))
		t.Run(suite+"/"+filepath.Base(dir), func(t *testing.T) {
			policies := readNamed(t, dir, "earlier.yaml", "policy.yaml", "exceptions.yaml")
			migrated, diagnostics := Migrate(policies, cluster(t, dir), Options{})
			if suite == "policies-v1" {
				published++
			}
			if source.HasErrors(diagnostics) {
				t.Logf("not converted: %v", diagnostics)
				return
			}
			if suite == "policies-v1" {
				converted++
			}
			own := readNamed(t, dir, "resource.yaml", "targets.yaml")
			if out := os.Getenv("DUMP"); out != "" {
				for _, stream := range migrated {
					if stream.Name() == "policy.yaml" {
						os.WriteFile(filepath.Join(out, suite+"__"+filepath.Base(dir)+".yaml"), stream.Bytes(), 0o666)
					}
				}
			}
			for _, manifests := range append([][]*manifest.Stream{own}, foreign...) {
				if problem := sameResult(t, dir, policies, migrated, manifests); problem != "" {
					t.Errorf("%s: %s", manifests[0].Name(), problem)
				}
			}
		})
	}
	t.Logf("%d of %d published policies converted", converted, published)
}

// definitions are of the custom resources in the corpus.
const customResources = `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: scaledobjects.keda.sh}, spec: {group: keda.sh, scope: Namespaced, names: {kind: ScaledObject, plural: scaledobjects}, versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: policies.config.kio.kasten.io}, spec: {group: config.kio.kasten.io, scope: Namespaced, names: {kind: Policy, plural: policies}, versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
`

// cluster is what the cluster of a case holds.
func cluster(t *testing.T, dir string) []*manifest.Stream {
	t.Helper()
	stream, diagnostics := manifest.Read("definitions.yaml", []byte(customResources))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return append(readNamed(t, dir, "cluster.yaml", "context.yaml"), stream)
}

// readForeign reads manifests that have nothing to do with policies of Kyverno.
func readForeign(t *testing.T) [][]*manifest.Stream {
	files, _ := filepath.Glob("../../shared/corpus/map/realworld/*/manifests/*.yaml")
	var all [][]*manifest.Stream
	for i, file := range files {
		if i%3 != 0 {
			continue
		}
		streams := readNamed(t, filepath.Dir(file), filepath.Base(file))
		all = append(all, streams)
	}
	return all
}

// sameResult says where policies in two forms make different objects.
func sameResult(t *testing.T, dir string, before, after, manifests []*manifest.Stream) string {
	results := make([][]map[string]any, 2)
	failed := make([]string, 2)
	for i, policies := range [][]*manifest.Stream{before, after} {
		set, diagnostics := Compile(policies, cluster(t, dir), Options{
			NonIdempotent: "skip", Values: readNamed(t, dir, "values.yaml"), UserInfo: readNamed(t, dir, "userinfo.yaml"),
		})
		if set == nil {
			return fmt.Sprintf("form %d is refused: %v", i, diagnostics)
		}
		for _, stream := range manifests {
			stream, _ := manifest.Read(stream.Name(), stream.Bytes())
			outcome := set.Run(context.Background(), []*manifest.Stream{stream})
			for _, d := range outcome.Diagnostics {
				if d.Severity == source.Error {
					failed[i] += d.Message + "\n"
				}
				if d.Code == "kyverno-differs" && i == 1 {
					return d.String()
				}
			}
			again, _ := manifest.Read(stream.Name(), stream.Bytes())
			for _, d := range again.Documents() {
				results[i] = append(results[i], d.Object())
			}
		}
	}
	if (failed[0] == "") != (failed[1] == "") {
		return fmt.Sprintf("one form fails:\n%s\n--\n%s", failed[0], failed[1])
	}
	var lines []string
	for i := range results[0] {
		for _, d := range change.Diff(results[0][i], results[1][i], nil) {
			lines = append(lines, d.String())
		}
	}
	return strings.Join(lines[:min(len(lines), 6)], "\n")
}
