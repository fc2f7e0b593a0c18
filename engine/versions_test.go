package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// These tests check the behaviour that depends on the version of the cluster, as in the release
// branches 1.34 to 1.37 of k8s.io/apiserver: the served versions of the policy API, the CEL
// libraries, and the rules for lists with keys. All tests use Compile and Run.

// newestPolicyVersion returns the newest version of the policy API that Kubernetes 1.minor serves.
func newestPolicyVersion(minor int) string {
	if minor >= 36 {
		return "v1"
	}
	return "v1beta1"
}

// versioned is a policy for one version of Kubernetes and of the policy API. Its mutation is an
// expression of the patch type. Its param, if any, is the ConfigMap that a paramRef names.
type versioned struct {
	minor                       int
	apiVersion                  string // if empty, the newest served version
	resource                    string
	patchType, expression       string
	paramKind, paramRef, action string
	context                     string
}

// compile compiles the policy with a binding.
func (v versioned) compile(t testing.TB) (*Set, []source.Diagnostic) {
	t.Helper()
	if v.apiVersion == "" {
		v.apiVersion = newestPolicyVersion(v.minor)
	}
	member := map[string]string{"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}[v.patchType]
	spec := map[string]any{
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"}, "resources": []any{v.resource},
		}}},
		"reinvocationPolicy": "Never",
		"mutations":          []any{map[string]any{"patchType": v.patchType, member: map[string]any{"expression": v.expression}}},
	}
	binding := map[string]any{"policyName": "p"}
	if v.paramKind != "" {
		spec["paramKind"] = map[string]any{"apiVersion": "v1", "kind": v.paramKind}
		ref := map[string]any{"name": v.paramRef}
		if v.action != "" {
			ref["parameterNotFoundAction"] = v.action
		}
		binding["paramRef"] = ref
	}
	var text []byte
	for i, kind := range []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} {
		text = append(text, "---\n"...)
		text = append(text, manifest.YAML(map[string]any{
			"apiVersion": "admissionregistration.k8s.io/" + v.apiVersion, "kind": kind,
			"metadata": map[string]any{"name": "p"}, "spec": []map[string]any{spec, binding}[i],
		})...)
	}
	return Compile([]*manifest.Stream{readText(t, "policy.yaml", string(text))}, []*manifest.Stream{readText(t, "context.yaml", v.context)}, Options{
		KubernetesVersion: fmt.Sprintf("1.%d", v.minor), Authorizer: "allow", NonIdempotent: "skip", Validation: ValidationOff,
	})
}

// run runs the policy on one manifest, which the policy must change without an error.
func (v versioned) run(t testing.TB, text string) (after map[string]any, err string) {
	t.Helper()
	set, diagnostics := v.compile(t)
	if set == nil {
		t.Fatalf("1.%d: %v", v.minor, diagnostics)
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "manifest.yaml", text)}, Explain(), Views())
	if outcome.Failed() {
		return nil, outcome.Diagnostics[0].Message
	}
	return outcome.Manifests[0].After, ""
}

func readText(t testing.TB, name, text string) *manifest.Stream {
	t.Helper()
	stream, diagnostics := manifest.Read(name, []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return stream
}

// minors returns all known versions.
func minors() []int {
	var all []int
	for minor := release.Oldest; minor <= release.Newest; minor++ {
		all = append(all, minor)
	}
	return all
}

func TestServedVersions(t *testing.T) {
	served := map[int][]string{
		34: {"v1beta1", "v1alpha1"},
		35: {"v1beta1", "v1alpha1"},
		36: {"v1", "v1beta1", "v1alpha1"},
		37: {"v1", "v1beta1", "v1alpha1"},
	}
	came := map[string]int{"v1": 36}
	for _, minor := range minors() {
		for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
			v := versioned{minor: minor, apiVersion: version, resource: "pods", patchType: "ApplyConfiguration", expression: "Object{}"}
			set, diagnostics := v.compile(t)
			if slices.Contains(served[minor], version) {
				if set == nil || len(diagnostics) > 0 {
					t.Errorf("1.%d, %s: %v", minor, version, diagnostics)
				}
				continue
			}
			if set != nil || len(diagnostics) != 2 {
				t.Errorf("1.%d, %s: want an error for the policy and one for the binding, got %v", minor, version, diagnostics)
				continue
			}
			message := fmt.Sprintf("Kubernetes 1.%d does not serve admissionregistration.k8s.io/%s, which came with 1.%d", minor, version, came[version])
			advice := "use admissionregistration.k8s.io/" + strings.Join(served[minor], " or admissionregistration.k8s.io/")
			for _, d := range diagnostics {
				if d.Message != message || d.Advice != advice || d.Field != "apiVersion" || d.At.Line == 0 {
					t.Errorf("got\n%v\nwant\n%s\n%s", d, message, advice)
				}
			}
		}
	}
}

// TestParamsNotFoundByDefault checks that v1alpha1 has a default for parameterNotFoundAction, and
// the other versions require it.
func TestParamsNotFoundByDefault(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
		v := versioned{
			minor: 36, apiVersion: version, resource: "configmaps", patchType: "ApplyConfiguration", expression: "Object{}",
			paramKind: "ConfigMap", paramRef: "missing",
		}
		set, diagnostics := v.compile(t)
		if version != "v1alpha1" {
			if set != nil || len(diagnostics) != 1 || diagnostics[0].Field != "spec.paramRef.parameterNotFoundAction" || diagnostics[0].Message != "Required value" {
				t.Errorf("%s: %v", version, diagnostics)
			}
			continue
		}
		_, err := v.run(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
		if want := "policy 'p' with binding 'p' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"; err != want {
			t.Errorf("%s: got %q, want %q", version, err, want)
		}
	}
}

// never is the minor version of libraries that no policy can use.
const never = 100

// TestLibraries checks that libraries of Kubernetes 1.n are for policies on 1.n+1 and later,
// because a cluster can be rolled back by one version.
func TestLibraries(t *testing.T) {
	for _, tc := range []struct {
		what       string
		since      int // the version that introduced the library
		expression string
		// want is the result as a string. refusal is part of the error if the library is missing.
		want, refusal string
	}{
		{"lists of one type", 0, `[1, 'a'].size()`, "", "expected type 'int' but found 'string'"},
		{"maps of one type", 0, `{'a': object.metadata.name, 'b': 'c'}.size()`, "", "expected type 'dyn' but found 'string'"},
		{"URLs", 0, `url('https://example.com:80/x').getHostname()`, "example.com", ""},
		{"isURL", 0, `isURL('/relative')`, "true", ""},
		{"find", 0, `'abc 123'.find('[0-9]+')`, "123", ""},
		{"findAll", 0, `'1 2 3'.findAll('[0-9]')[2]`, "3", ""},
		{"isSorted", 0, `[1, 2, 3].isSorted()`, "true", ""},
		{"sum, min, max", 0, `[3, 1, 2].sum() + [3, 1].min() * 10 + [3, 1].max() * 100`, "316", ""},
		{"lastIndexOf of a list", 0, `[1, 2, 1].lastIndexOf(1)`, "2", ""},
		{"UTC", 0, `timestamp('2024-01-01T00:00:00+02:00').getHours()`, "22", ""},
		{"authorizer", 27, `authorizer.group('apps').resource('deployments').check('get').allowed()`, "true", ""},
		{"authorizer of a path", 27, `authorizer.path('/healthz').check('get').allowed()`, "true", ""},
		{"authorizer of the request", 27, `authorizer.requestResource.check('get').allowed()`, "true", ""},
		{"numbers of two types", 28, `1.5 < 2 && 3u > 2`, "true", ""},
		{"optional values", 28, `object.?spec.?nope.orValue('none')`, "none", ""},
		{"optional of a list", 28, `[1, 2][?5].hasValue()`, "false", ""},
		{"quantity", 28, `quantity('1Gi').compareTo(quantity('1024Mi'))`, "0", ""},
		{"isQuantity", 28, `isQuantity('1.3.3')`, "false", ""},
		{"duration literals are checked", 29, `duration('nope') == duration('1s')`, "", "invalid duration argument"},
		{"timestamp literals are checked", 29, `timestamp('nope').getHours()`, "", "invalid timestamp argument"},
		{"regular expressions are checked", 29, `'a'.matches('(')`, "", "invalid matches argument"},
		{"strings", 29, `'%s has %d'.format(['a', 1])`, "a has 1", ""},
		{"strings, quoted", 29, `strings.quote('a "b"')`, `"a \"b\""`, ""},
		{"strings, of version 0 too", 0, `'a,b'.split(',')[1].upperAscii() + ['x', 'y'].join('-') + ' z '.trim() + 'abc'.charAt(1).replace('b', 'q')`, "Bx-yzq", ""},
		{"strings, not of version 3", never, `strings.quote('a').reverse()`, "", "'reverse'"},
		{"sets", 29, `sets.contains([1, 2], [2])`, "true", ""},
		{"ip", 30, `ip('127.0.0.1').isLoopback()`, "true", ""},
		{"isIP", 30, `isIP('::1') && !isIP('1')`, "true", ""},
		{"cidr", 30, `cidr('10.0.0.0/8').containsIP('10.1.2.3')`, "true", ""},
		{"format", 31, `format.named('dns1123Label').value().validate('ok').hasValue()`, "false", ""},
		{"selectors for the authorizer", 31, `authorizer.group('').resource('pods').labelSelector('a=b').fieldSelector('c=d').check('list').allowed()`, "true", ""},
		{"a field named like a keyword", 31, `request.namespace`, "default", ""},
		{"two variables: all", 32, `[1, 2].all(i, v, v == i + 1)`, "true", "undeclared reference to"},
		{"two variables: transformList", 32, `[1, 2].transformList(i, v, i * v)[1]`, "2", "undeclared reference to 'transformList'"},
		{"two variables: transformMap", 32, `{'a': 1}.transformMap(k, v, k + string(v)).a`, "a1", "undeclared reference to 'transformMap'"},
		{"semver", 33, `semver('1.2.3').isLessThan(semver('v1.10', true))`, "true", "undeclared reference to 'semver'"},
		{"isSemver", 33, `isSemver('1.2')`, "false", "undeclared reference to 'isSemver'"},
		{"lists: sort", 34, `[3, 1, 2].sort()[0]`, "1", "undeclared reference to 'sort'"},
		{"lists: sortBy", 34, `['ccc', 'a', 'bb'].sortBy(x, size(x))[1]`, "bb", "undeclared reference to 'sortBy'"},
		{"lists: flatten, slice", 34, `[[1], [2, 3]].flatten().slice(1, 3)[1]`, "3", "undeclared reference to 'flatten'"},
		{"lists: distinct, reverse", 34, `[1, 2, 1].distinct().reverse()[0]`, "2", "undeclared reference to 'distinct'"},
		{"lists: range", 34, `lists.range(3)[2]`, "2", "undeclared reference to 'lists'"},
		{"optionals: first, last", 32, `[1, 2].first().value() + [1, 2].last().value()`, "3", "undeclared reference to 'first'"},
		{"optionals: unwrap", 32, `optional.unwrap([optional.of(1), optional.none()]).size()`, "1", "undeclared reference to"},
		{"optionals: optFlatMap", 28, `optional.of(1).optFlatMap(x, optional.of(x + 1)).value()`, "2", ""},
		{"lists: includes", 37, `[1, 2].includes(1)`, "true", "undeclared reference to 'includes'"},
		{"jsonpatch", 0, `jsonpatch.escapeKey('a/b~c')`, "a~1b~0c", ""},
		{"math", never, `math.greatest(1, 2)`, "", "undeclared reference to 'math'"},
		{"encoders", never, `base64.encode(b'x')`, "", "undeclared reference to 'base64'"},
		{"bindings", never, `cel.bind(x, 1, x)`, "", "undeclared reference to 'cel'"},
		{"regex", never, `regex.extract('a1', '[0-9]')`, "", "undeclared reference to 'regex'"},
		{"protos", never, `proto.hasExt(object, a.b)`, "", "undeclared reference to 'proto'"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			for _, minor := range minors() {
				v := versioned{
					minor: minor, resource: "configmaps", patchType: "JSONPatch",
					expression: `[JSONPatch{op: 'add', path: '/data', value: {'x': string(` + tc.expression + `)}}]`,
				}
				if minor <= tc.since || tc.want == "" {
					set, diagnostics := v.compile(t)
					if set != nil || len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Message, tc.refusal) {
						t.Errorf("1.%d: want %q, got %v", minor, tc.refusal, diagnostics)
					}
					continue
				}
				after, err := v.run(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
				if got, _ := change.Keys("data", "x").Get(after); got != tc.want || err != "" {
					t.Errorf("1.%d: got %v, want %s; error %q", minor, got, tc.want, err)
				}
			}
		})
	}
}

// routes defines a kind with a list of several keys.
const routes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: routes.example.com}
spec:
  group: example.com
  names: {kind: Route, plural: routes}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              to:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [host, port]
                items:
                  type: object
                  required: [host, port]
                  properties:
                    host: {type: string}
                    port: {type: integer}
                    weight: {type: integer}
`

// TestListKeys checks the rules for list keys. structured-merge-diff v6, which servers have since
// 1.34, requires one of the keys of the items of a list. Since 1.35 the live object may have two
// items with the same keys.
func TestListKeys(t *testing.T) {
	const (
		denied = "policy 'p' with binding 'p' denied request: error applying patch: failed to convert "
		pod    = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i%s}]%s}}"
		env    = `Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", env: [Object.spec.containers.env{name: "A", value: "1"}]}]}}`
		spread = `Object{spec: Object.spec{topologySpreadConstraints: [Object.spec.topologySpreadConstraints{%s}]}}`
		zones  = ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"
		route  = "{apiVersion: example.com/v1, kind: Route, metadata: {name: r}, spec: {to: [{host: a, port: 1, weight: 1}]}}"
		to     = `Object{spec: Object.spec{to: [Object.spec.to{%s}]}}`
	)
	for _, tc := range []struct {
		name, manifest, expression string
		// err is the error, in all versions or until another version. If there is no error, value
		// is at the path.
		err   string
		until int
		at    change.Path
		value string
	}{
		{
			name: "all keys", manifest: fmt.Sprintf(pod, "", zones),
			expression: fmt.Sprintf(spread, `topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", maxSkew: 2`),
			at:         change.Keys("spec", "topologySpreadConstraints"), value: `[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]`,
		},
		{ // every key of a built-in kind has a default, even if it is empty
			name: "some keys of a built-in kind", manifest: fmt.Sprintf(pod, "", zones),
			expression: fmt.Sprintf(spread, `topologyKey: "zone", maxSkew: 2`),
			at:         change.Keys("spec", "topologySpreadConstraints"),
			value:      `[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":""}]`,
		},
		{
			name: "all keys of a custom resource", manifest: route,
			expression: fmt.Sprintf(to, `host: "a", port: 1, weight: 2`),
			at:         change.Keys("spec", "to"), value: `[{"host":"a","port":1,"weight":2}]`,
		},
		{
			name: "some keys", manifest: route,
			expression: fmt.Sprintf(to, `host: "a", weight: 2`),
			at:         change.Keys("spec", "to"), value: `[{"host":"a","port":1,"weight":1},{"host":"a","weight":2}]`,
		},
		{
			name: "no key", manifest: route,
			expression: fmt.Sprintf(to, `weight: 2`),
			err:        denied + `patch object to typed object: .spec.to: element 0: associative list with keys has an element that omits all key fields ["host" "port"] (and doesn't have default values for any key fields)`,
		},
		{
			name:       "some keys in the manifest",
			manifest:   "{apiVersion: example.com/v1, kind: Route, metadata: {name: r}, spec: {to: [{port: 1}]}}",
			expression: fmt.Sprintf(to, `host: "a", port: 1`),
			at:         change.Keys("spec", "to"), value: `[{"port":1},{"host":"a","port":1}]`,
		},
		{
			name: "a key with a default", manifest: fmt.Sprintf(pod, ", ports: [{containerPort: 80}]", ""),
			expression: `Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", ports: [Object.spec.containers.ports{containerPort: 80, name: "http"}]}]}}`,
			at:         change.Keys("spec", "containers").Index(0).Key("ports"), value: `[{"containerPort":80,"name":"http","protocol":"TCP"}]`,
		},
		{
			name: "twice in the manifest", until: 35, manifest: fmt.Sprintf(pod, ", env: [{name: D, value: a}, {name: D, value: b}]", ""),
			expression: env,
			err:        denied + `original object to typed object: .spec.containers[name="c"].env: duplicate entries for key [name="D"]`,
			at:         change.Keys("spec", "containers").Index(0).Key("env"),
			value:      `[{"name":"D","value":"a"},{"name":"D","value":"b"},{"name":"A","value":"1"}]`,
		},
		{
			name: "twice in the manifest and in the patch", until: 35, manifest: fmt.Sprintf(pod, ", env: [{name: A, value: a}, {name: A, value: b}]", ""),
			expression: env,
			err:        denied + `original object to typed object: .spec.containers[name="c"].env: duplicate entries for key [name="A"]`,
			at:         change.Keys("spec", "containers").Index(0).Key("env"), value: `[{"name":"A","value":"1"}]`,
		},
		{
			name: "twice in the patch", manifest: fmt.Sprintf(pod, "", ""),
			expression: fmt.Sprintf(`Object{spec: Object.spec{containers: [%[1]s, %[1]s]}}`, `Object.spec.containers{name: "d", image: "i"}`),
			err:        denied + `patch object to typed object: .spec.containers: duplicate entries for key [name="d"]`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, minor := range minors() {
				want := tc.err
				if tc.until > 0 && minor >= tc.until {
					want = ""
				}
				v := versioned{minor: minor, resource: "*", patchType: "ApplyConfiguration", expression: tc.expression, context: routes}
				after, err := v.run(t, tc.manifest)
				if err != want {
					t.Errorf("1.%d: got error\n%s\nwant\n%s", minor, err, want)
				}
				if want != "" {
					continue
				}
				if value, _ := tc.at.Get(after); string(manifest.JSON(value)) != tc.value {
					t.Errorf("1.%d: got\n%s\nwant\n%s", minor, manifest.JSON(value), tc.value)
				}
			}
		})
	}
}

// TestLiteralsWithinLiterals checks that only the first level of a list or map literal is converted
// to a value for a patch, in every version. Since 1.37 the items of a sum are converted, too, and
// servers no longer crash on an Object in a list.
func TestLiteralsWithinLiterals(t *testing.T) {
	containers := func(text string) string {
		return `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ` + text + `}}}}`
	}
	patch := func(value string) string {
		return `[JSONPatch{op: "add", path: "/spec/template/spec/containers", value: ` + value + `}]`
	}
	const (
		items   = "associative list with keys may not have non-map elements"
		crashes = "kube-apiserver crashes on it before 1.37"
		object  = `Object.spec.template.spec.containers{name: "c", image: "j"}`
	)
	for _, tc := range []struct{ name, patchType, expression, before, since string }{
		{"map in a map", "ApplyConfiguration", `Object{spec: {"template": {"metadata": {"labels": {"x": "y"}}}}}`, ".spec.template: expected map, got &{map[", ".spec.template: expected map, got &{map["},
		{"map in a list", "ApplyConfiguration", containers(`[{"name": "c", "image": "j"}]`), items, items},
		{"map of a macro", "ApplyConfiguration", containers(`["c"].map(n, {"name": n, "image": "j"})`), items, items},
		{"map in a sum", "ApplyConfiguration", containers(`[{"name": "c", "image": "j"}] + [{"name": "d", "image": "j"}]`), items, ""},
		{"map after those of the object", "ApplyConfiguration", containers(`object.spec.template.spec.containers + [{"name": "d", "image": "j"}]`), items, ""},
		{"Object in a list", "ApplyConfiguration", containers(`[` + object + `]`), "", ""},
		{"text that is split", "ApplyConfiguration", `Object{metadata: Object.metadata{finalizers: "a.b/c,d.e/f".split(",")}}`, "expected list, got &{[a.b/c d.e/f]}", ""},
		{"patch with an Object in a list", "JSONPatch", patch(`[` + object + `]`), crashes, ""},
		{"patch with an Object in a list in a sum", "JSONPatch", patch(`[` + object + `] + [` + object + `]`), "", ""},
		{"patch with a map in a map of a sum", "JSONPatch", patch(`[dyn({"name": "c", "image": "j"})] + [{"name": dyn("d"), "resources": dyn(Object.spec.template.spec.containers.resources{})}]`), crashes, ""},
		{"patch with a map in an Object", "JSONPatch", patch(`[Object.spec.template.spec.containers{name: "c", env: [{"name": "A"}]}]`), "proto: invalid type: map[ref.Val]ref.Val", "proto: invalid type: map[ref.Val]ref.Val"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, minor := range minors() {
				want := tc.before
				if minor >= 37 {
					want = tc.since
				}
				v := versioned{minor: minor, resource: "deployments", patchType: tc.patchType, expression: tc.expression}
				_, err := v.run(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {}, template: {spec: {containers: [{name: c, image: i}]}}}}")
				if !strings.Contains(err, want) || want == "" && err != "" {
					t.Errorf("1.%d: got %q, want %q", minor, err, want)
				}
			}
		})
	}
}

// TestCrash has patches on which every API server crashes.
func TestCrash(t *testing.T) {
	for name, expression := range map[string]string{
		"add below a null":     `[JSONPatch{op: "add", path: "/data", value: null}, JSONPatch{op: "add", path: "/data/x", value: "y"}]`,
		"replace below a null": `[JSONPatch{op: "replace", path: "/data", value: null}, JSONPatch{op: "replace", path: "/data/x", value: "y"}]`,
		"move below a null":    `[JSONPatch{op: "add", path: "/data", value: null}, JSONPatch{op: "move", from: "/metadata/labels", path: "/data/x"}]`,
	} {
		for _, minor := range minors() {
			v := versioned{minor: minor, resource: "configmaps", patchType: "JSONPatch", expression: expression}
			_, err := v.run(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {a: b}}, data: {a: b}}")
			if want := "writes below a null that an operation before it wrote: kube-apiserver crashes on it"; !strings.Contains(err, want) {
				t.Errorf("%s, 1.%d: got %q, want %q", name, minor, err, want)
			}
		}
	}
}

// TestCrashIgnored checks that a crash ends the request whatever the failurePolicy, before the next mutation.
func TestCrashIgnored(t *testing.T) {
	const text = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p}
spec:
  failurePolicy: Ignore
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/data", value: null}, JSONPatch{op: "add", path: "/data/x", value: "y"}]'}
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels", value: "text"}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p}
`
	set, diagnostics := Compile([]*manifest.Stream{readText(t, "policy.yaml", text)}, nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	outcome := set.Run(t.Context(), []*manifest.Stream{readText(t, "-", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")})
	if got := refusals(outcome); len(got) != 1 || !strings.Contains(got[0], "kube-apiserver crashes on it") {
		t.Errorf("got %q, want the crash alone", got)
	}
}

// TestBuiltinKinds checks that fields, kinds and defaults depend on the version.
func TestBuiltinKinds(t *testing.T) {
	const (
		pod         = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, image: {reference: example.com/a}}]}}"
		statefulSet = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: s, selector: {}, template: {spec: {containers: [{name: c, image: i}]}}}}"
	)
	label := func(value string) string {
		return `Object{metadata: Object.metadata{labels: {"seen": string(` + value + `)}}}`
	}
	for _, tc := range []struct {
		name, resource, expression, manifest string
		before, since                        string // the label, or the error
		came                                 int
	}{
		{
			name: "a default of a volume", resource: "pods", manifest: pod, came: 35, before: "false", since: "true",
			expression: label(`has(object.spec.volumes[0].image.pullPolicy)`),
		},
		{
			name: "a default of a strategy", resource: "statefulsets", manifest: statefulSet, came: 37, before: "false", since: "true",
			expression: label(`has(object.spec.updateStrategy.rollingUpdate.maxUnavailable)`),
		},
		{
			name: "a field", resource: "pods", manifest: pod, came: 36, since: "x",
			expression: `Object{metadata: Object.metadata{labels: {"seen": "x"}}, spec: Object.spec{schedulingGroup: Object.spec.schedulingGroup{podGroupName: "x"}}}`,
			before:     "schedulingGroup",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, minor := range minors() {
				want := tc.before
				if minor >= tc.came {
					want = tc.since
				}
				v := versioned{minor: minor, resource: tc.resource, patchType: "ApplyConfiguration", expression: tc.expression}
				after, err := v.run(t, tc.manifest)
				if got := change.Keys("metadata", "labels", "seen"); err == "" {
					if seen, _ := got.Get(after); seen != want {
						t.Errorf("1.%d: got %v, want %s", minor, seen, want)
					}
				} else if minor >= tc.came || !strings.Contains(err, want) {
					t.Errorf("1.%d: %s", minor, err)
				}
			}
		})
	}
}
