package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/archive"
	"github.com/preadmit/preadmit/internal/racing"
)

// asDocumented reports whether a conversion warns that it does what Kyverno's documentation says,
// and not what Kyverno does.
func asDocumented(diagnostics []source.Diagnostic) bool {
	return slices.ContainsFunc(diagnostics, func(d source.Diagnostic) bool {
		return d.Code == source.CodePolicyConvertedAlmost && strings.HasPrefix(d.Message, "the converted policy does as documented")
	})
}

// TestMigrateCorpus converts the policies of the recorded cases, and of the corpus, if it is there,
// which has those that Kyverno publishes. It runs both forms on the manifests of their cases, on
// generated objects, and on unrelated manifests.
func TestMigrateCorpus(t *testing.T) {
	cases, err := filepath.Glob("testdata/kyverno/*/*/policy.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	corpus, _ := filepath.Glob("../../shared/corpus/kyverno/*/*/policy.yaml")
	cases = append(cases, corpus...)
	foreign := readForeign(t)
	published, converted := 0, 0
	for _, file := range racing.Sample(cases) {
		dir := filepath.Dir(file)
		suite := filepath.Base(filepath.Dir(dir))
		t.Run(suite+"/"+filepath.Base(dir), func(t *testing.T) {
			policies := readNamed(t, dir, "earlier.yaml", "policy.yaml", "exceptions.yaml")
			migrated, diagnostics := Migrate(MutatingPolicies, policies, cluster(t, dir), Options{})
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
			proof := prove(t, dir, policies, migrated, append([][]*manifest.Stream{own}, foreign...))
			for _, d := range notExcused(policies, diagnostics, proof.Differences) {
				t.Errorf("%v", d)
			}
			for _, b := range proof.Branches {
				if b.Manifests+b.Counterexamples == 0 {
					t.Logf("nothing reaches policy %s: %s", b.Policy, b.Says)
				}
			}
		})
	}
	if published == 50 && converted < 49 {
		t.Errorf("%d of %d published policies converted, not 49 of 50", converted, published)
	}
}

// convertedRecorded is the number of recorded ClusterPolicies and Policies that convert; the others
// are refused. Of these, documentedRecorded do as documented, with a warning.
const (
	convertedRecorded  = 268
	documentedRecorded = 60
)

// itemsTwice are the cases whose object has two items of one key in a list. The conversion notes that
// they stay two.
var itemsTwice = []string{"list-quirk.condition-fails", "list-quirk.env-twice"}

// isAboutText reports whether a case is about texts that Kyverno changes or crashes on, whatever its
// patch does.
func isAboutText(dir string) bool {
	name := filepath.Base(dir)
	return strings.HasPrefix(name, "lines-folded.") || strings.HasPrefix(name, "yaml.")
}

// TestMigrateRecorded converts the policies of which the answers of Kyverno's command are recorded, and
// runs both forms on the object of the recording and on generated objects. Where the conversion warns that
// it does as documented, they may differ in the fields that the policy names.
func TestMigrateRecorded(t *testing.T) {
	dirs := matching(t, filepath.Join(archive.Unpack(t, "testdata/kyverno/recorded", leastRecorded), "*"))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !kyverno.IsPolicy(kindOf(t, dir)) || isAboutText(dir) })
	some := racing.Sample(dirs)
	converted, documented := 0, 0
	for _, dir := range some {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			policies := readNamed(t, dir, "policy.yaml", "exceptions.yaml")
			migrated, diagnostics := Migrate(MutatingPolicies, policies, cluster(t, dir), Options{})
			if source.HasErrors(diagnostics) {
				return // refused
			}
			converted++
			proof := prove(t, dir, policies, migrated, [][]*manifest.Stream{readNamed(t, dir, "resource.yaml")})
			if asDocumented(diagnostics) {
				documented++
				excused := namedFields(policies)
				for _, d := range proof.Differences {
					if !slices.ContainsFunc(excused, func(e excuse) bool { return e.excuses(d) }) {
						t.Errorf("in a field that the policy does not name: %v", d)
					}
				}
				return
			}
			if slices.Contains(itemsTwice, filepath.Base(dir)) {
				isNoted := slices.ContainsFunc(diagnostics, func(d source.Diagnostic) bool {
					return d.Severity == source.Info && strings.HasPrefix(d.Message, "two items of one key in a list")
				})
				if len(proof.Differences) == 0 || !isNoted {
					t.Errorf("noted: %v, %d differences", isNoted, len(proof.Differences))
				}
				return
			}
			for _, d := range proof.Differences {
				t.Errorf("%v", d)
			}
		})
	}
	if len(some) == len(dirs) && (converted != convertedRecorded || documented != documentedRecorded) {
		t.Errorf("%d of %d policies converted, %d as documented; not %d and %d", converted, len(dirs), documented, convertedRecorded, documentedRecorded)
	}
}

// kindOf returns the kind of the policy of a case.
func kindOf(t *testing.T, dir string) gvk.Kind {
	t.Helper()
	return documentsOf(readNamed(t, dir, "policy.yaml"))[0].Kind()
}

// TestMigrateUnknownTarget checks that the guess of a target's resource is reported.
func TestMigrateUnknownTarget(t *testing.T) {
	policies, problems := manifest.Read("policy.yaml", []byte(`{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {mutateExistingOnPolicyUpdate: false, rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]},
  mutate: {targets: [{apiVersion: example.com/v1, kind: Box, name: b, namespace: shop}], patchStrategicMerge: {metadata: {labels: {a: b}}}}}]}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	migrated, problems := Migrate(MutatingPolicies, []*manifest.Stream{policies}, nil, Options{})
	if len(problems) != 1 || !strings.Contains(problems[0].Message, `its resource is assumed to be "boxes"`) || !strings.Contains(string(manifest.Join(migrated)), "resources: [boxes]") {
		t.Errorf("%v\n%s", problems, manifest.Join(migrated))
	}
}

// TestMigrateCustom checks a patch below a map whose values are maps, which an Object cannot have, and fields
// that may be null.
func TestMigrateCustom(t *testing.T) {
	read := func(name, text string) []*manifest.Stream {
		stream, problems := manifest.Read(name, []byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return []*manifest.Stream{stream}
	}
	definition := read("crd.yaml", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clusters.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Cluster, plural: clusters},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, required: [zone], properties: {zone: {type: string, nullable: true}, size: {type: string, nullable: true}, hosts: {type: array, items: {type: string}},
    spec: {type: object, properties: {pools: {type: object, additionalProperties: {type: object, properties: {size: {type: integer}, zone: {type: string}}}}}}}}}}]}}`)
	manifests := read("manifest.yaml", `{apiVersion: example.com/v1, kind: Cluster, metadata: {name: c}, zone: null, size: null, spec: {pools: {small: {zone: a}, large: {size: 9}}}}
---
{apiVersion: example.com/v1, kind: Cluster, metadata: {name: d}, zone: a, size: b}`)
	for patch, refusal := range map[string]string{
		"{spec: {pools: {small: {size: 3}}}}":                               "",
		"{metadata: {labels: {a: '{{ request.object.zone }}'}}}":            "",
		"{metadata: {labels: {a: '{{ request.object.zone || `\"b\"` }}'}}}": "",
		"{metadata: {labels: {a: '{{ request.object.size || `\"b\"` }}'}}}": "",
		"{metadata: {labels: {a: '{{ request.object.size }}'}}}":            "request.object.size, which is null or fails if it is missing",
		"{metadata: {labels: {a: '{{ request.object.hosts[0] }}'}}}":        "request.object.hosts[0], which is null or fails if it is missing",
		"{metadata: {labels: {a: 'in {{ request.object.zone }}'}}}":         "a value as part of a text that may be null",
		"{metadata: {finalizers: ['{{ request.object.zone }}']}}":           "an item of a list that may be null",
	} {
		policies := read("policy.yaml", `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [example.com/v1/Cluster]}}]},
  mutate: {patchStrategicMerge: `+patch+`}}]}}`)
		migrated, problems := Migrate(MutatingPolicies, policies, definition, Options{})
		if refusal != "" || len(problems) > 0 {
			if refusal == "" || len(problems) != 1 || !strings.Contains(problems[0].Message, refusal) {
				t.Errorf("%s: %v, not %q", patch, problems, refusal)
			}
			continue
		}
		proof, problems := Verify(context.Background(), policies, migrated, definition, manifests, Ordered, Options{})
		if proof == nil || len(problems) > 0 || len(proof.Differences) > 0 || proof.Changed == 0 {
			t.Errorf("%s: %v %+v\n%s", patch, problems, proof, manifest.Join(migrated))
		}
	}
}

// customResources are the definitions of the custom resources in the corpus.
const customResources = `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: scaledobjects.keda.sh}, spec: {group: keda.sh, scope: Namespaced, names: {kind: ScaledObject, plural: scaledobjects}, versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: policies.config.kio.kasten.io}, spec: {group: config.kio.kasten.io, scope: Namespaced, names: {kind: Policy, plural: policies}, versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
`

// cluster returns the objects in the cluster of a case.
func cluster(t *testing.T, dir string) []*manifest.Stream {
	t.Helper()
	stream, diagnostics := manifest.Read("definitions.yaml", []byte(customResources))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return append(append(readNamed(t, dir, "cluster.yaml", "context.yaml"), stream), namespacesOf(t, dir)...)
}

// namespacesOf returns the Namespaces whose labels the values of a case have, because only
// Kyverno's policies read values.
func namespacesOf(t *testing.T, dir string) (namespaces []*manifest.Stream) {
	t.Helper()
	for _, d := range documentsOf(readNamed(t, dir, "values.yaml")) {
		for _, n := range (policy.Node{Value: d.Object()}).At("namespaceSelector").Items() {
			object := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": n.At("name").Text(), "labels": n.At("labels").Value}}
			stream, problems := manifest.Read("namespace.yaml", manifest.YAML(object))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			namespaces = append(namespaces, stream)
		}
	}
	return namespaces
}

// readForeign reads manifests that are unrelated to policies of Kyverno.
func readForeign(t *testing.T) [][]*manifest.Stream {
	files, _ := filepath.Glob("../../shared/corpus/map/realworld/*/manifests/*.yaml")
	var all [][]*manifest.Stream
	for _, file := range files {
		all = append(all, readNamed(t, filepath.Dir(file), filepath.Base(file)))
	}
	return all
}

// prove runs both forms on streams of manifests, each of which is a separate run.
func prove(t *testing.T, dir string, before, after []*manifest.Stream, worlds [][]*manifest.Stream) *Proof {
	v := verification{ctx: context.Background(), proof: &Proof{}, reached: map[string]*Branch{}}
	for i, policies := range [][]*manifest.Stream{before, after} {
		set, diagnostics := Compile(policies, cluster(t, dir), Options{
			NonIdempotent: "skip", Values: readNamed(t, dir, "values.yaml"), UserInfo: readNamed(t, dir, "userinfo.yaml"),
		})
		if set == nil {
			t.Fatalf("form %d is refused: %v", i, diagnostics)
		}
		v.sets[i] = set
	}
	v.branches(after)
	for _, manifests := range worlds {
		v.run(manifests, false)
	}
	v.compare(v.counterexamples(after), true)
	return v.result()
}
