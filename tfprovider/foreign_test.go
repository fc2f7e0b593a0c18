package tfprovider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/manifest"
)

// foreign are objects of other projects, in the namespaces and with the policies of a test.
type foreign struct {
	live *live
	// namespaces has the number of each namespace of the projects, definitions their
	// CustomResourceDefinitions by group and kind, scopes whether a kind of the server is namespaced.
	namespaces  map[string]int
	definitions map[string]map[string]any
	scopes      map[string]bool
	policies    []map[string]any
	params      []map[string]any
}

// foreign applies the manifests below the directory in PREADMIT_FOREIGN, which has one directory for each
// project. It counts the objects that are applied without an error and have an empty second plan, and fails
// if they are less than 675 of 681, or if one of the others would be applied cleanly without preadmit.
//
// Links and files that are not entirely Kubernetes manifests are left out, and so are objects without a name, later
// objects of the same name in a project, objects that the server refuses without policies, and kinds that
// change how the server works: webhook configurations, admission policies and API services.
func (l *live) foreign(t *testing.T) {
	root := os.Getenv("PREADMIT_FOREIGN")
	if root == "" {
		t.Skip("it needs manifests of other projects: set PREADMIT_FOREIGN to a directory with one directory for each")
	}
	f := &foreign{live: l, namespaces: map[string]int{}, definitions: map[string]map[string]any{}}
	found := f.find(t, root)
	f.prepare(t, found)
	accepted := f.accepted(t, found)
	f.install(t)
	for n, resource := range []string{"kubernetes", "kubectl"} {
		t.Run(resource+"_manifest", func(t *testing.T) { f.compare(t, 2*n, resource, accepted) })
	}
}

// compare applies objects with preadmit, and those that are not applied cleanly without it, too.
func (f *foreign) compare(t *testing.T, n int, resource string, accepted map[string]map[string]any) {
	failed := f.measure(t, n, "with-"+resource, accepted)
	t.Logf("%d of %d are applied cleanly", len(accepted)-len(failed), len(accepted))
	rest := maps.Clone(accepted)
	maps.DeleteFunc(rest, func(key string, _ map[string]any) bool { return failed[key] == "" })
	given := f.measure(t, n+1, "without-"+resource, rest)
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		if given[key] == "" {
			t.Errorf("%s fails only with preadmit: %s", key, failed[key])
		} else {
			t.Logf("%s: %.400s; without preadmit: %.300s", key, failed[key], given[key])
		}
	}
	if len(failed)*681 > 6*len(accepted) {
		t.Errorf("%d of %d are not applied cleanly", len(failed), len(accepted))
	}
}

// find returns the objects in the manifests of projects, and keeps their definitions.
func (f *foreign) find(t *testing.T, root string) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		stream, problems := manifest.Read(path, text)
		if err != nil || len(problems) > 0 {
			return err
		}
		relative, err := filepath.Rel(root, path)
		project, _, _ := strings.Cut(filepath.ToSlash(relative), "/")
		for _, d := range stream.Documents() {
			f.add(found, project, d)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (f *foreign) add(found map[string]map[string]any, project string, d *manifest.Document) {
	kind := d.Kind().Kind + "." + d.Kind().Group
	switch {
	case d.Name() == "" || slices.Contains([]string{"admissionregistration.k8s.io", "apiregistration.k8s.io"}, d.Kind().Group):
	case d.Kind().Kind == "CustomResourceDefinition":
		defined := d.TextAt("spec", "names", "kind") + "." + d.TextAt("spec", "group")
		if f.definitions[defined] == nil {
			f.definitions[defined] = d.Object()
		}
	default:
		namespace := project + "/" + cmp.Or(d.Namespace(), "default")
		if _, ok := f.namespaces[namespace]; !ok {
			f.namespaces[namespace] = len(f.namespaces)
		}
		if key := kind + "/" + namespace + "/" + d.Name(); found[key] == nil {
			found[key] = d.Object()
		}
	}
}

// prepare creates the definitions and the namespaces, and asks the server for the scopes of all kinds.
func (f *foreign) prepare(t *testing.T, found map[string]map[string]any) {
	t.Helper()
	var context []map[string]any
	for _, key := range slices.Sorted(maps.Keys(f.definitions)) {
		context = append(context, f.definitions[key])
	}
	for n := range variants {
		for _, namespace := range slices.Sorted(maps.Keys(f.namespaces)) {
			context = append(context, f.namespace(n, namespace))
		}
	}
	f.live.install(t, context)
	for _, definition := range f.definitions {
		name := definition["metadata"].(map[string]any)["name"].(string)
		if _, err := f.live.kubectl("", "wait", "--for=condition=Established", "customresourcedefinition", name, "--timeout=60s"); err != nil {
			t.Fatal(err)
		}
	}
	f.scopes = map[string]bool{}
	for _, namespaced := range []bool{true, false} {
		listed, err := f.live.kubectl("", "api-resources", "--no-headers", fmt.Sprintf("--namespaced=%t", namespaced))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(listed) {
			fields := strings.Fields(line) // name, short names, apiVersion, namespaced, kind
			group, _, _ := strings.Cut("/"+fields[len(fields)-3], "/v")
			f.scopes[fields[len(fields)-1]+"."+strings.TrimPrefix(group, "/")] = namespaced
		}
	}
	maps.DeleteFunc(found, func(key string, _ map[string]any) bool {
		kind, _, _ := strings.Cut(key, "/")
		_, known := f.scopes[kind]
		return !known
	})
}

func (f *foreign) namespace(variant int, key string) map[string]any {
	object := namespace(fmt.Sprintf("preadmit-live-%s-%d-%d", f.live.id, variant, f.namespaces[key]), f.live.id)
	project, _, _ := strings.Cut(key, "/")
	put(object, project, "metadata", "labels", "example.com/team")
	return object
}

// placed returns an object for one variant, and its namespace: it has a namespace of the test, or if it has
// none, a name of the test.
func (f *foreign) placed(t *testing.T, variant int, key string, object map[string]any) (string, map[string]any) {
	t.Helper()
	var own map[string]any
	if err := json.Unmarshal(manifest.JSON(object), &own); err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(key, "/", 4)
	if !f.scopes[parts[0]] {
		put(own, fmt.Sprintf("%s-%s-%d", parts[3], f.live.id, variant), "metadata", "name")
		return string(manifest.JSON(own)), nil
	}
	in := f.namespace(variant, parts[1]+"/"+parts[2])
	put(own, in["metadata"].(map[string]any)["name"], "metadata", "namespace")
	return string(manifest.JSON(own)), in
}

// accepted returns the objects that the server accepts before it has policies.
func (f *foreign) accepted(t *testing.T, found map[string]map[string]any) map[string]map[string]any {
	t.Helper()
	var stream strings.Builder
	keys := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		text, _ := f.placed(t, 0, key, found[key])
		s, _ := manifest.Read(key, []byte(text))
		d := s.Documents()[0]
		keys[strings.Join([]string{d.TextAt("apiVersion"), d.Kind().Kind, d.Namespace(), d.Name()}, " ")] = key
		fmt.Fprintf(&stream, "---\n%s\n", text)
	}
	listed, err := f.live.kubectl(stream.String(), "create", "--dry-run=server", "--validate=warn", "-f", "-",
		"-o", `jsonpath={.apiVersion} {.kind} {.metadata.namespace} {.metadata.name}{"\n"}`)
	accepted := map[string]map[string]any{}
	for line := range strings.Lines(listed) {
		if key := keys[strings.TrimSuffix(line, "\n")]; key != "" {
			accepted[key] = found[key]
		}
	}
	t.Logf("%d objects of kinds that the server has, %d of them accepted without policies\n%v", len(found), len(accepted), err)
	return accepted
}

// install creates the policies.
func (f *foreign) install(t *testing.T) {
	t.Helper()
	in := "preadmit-live-" + f.live.id + "-params"
	f.params = []map[string]any{namespace(in, "none"), {
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "tiers", "namespace": in},
		"data": map[string]any{"services": "edge", "secrets": "vault", "deployments": "web", "statefulsets": "data"},
	}}
	for _, policy := range objects(t, "testdata/live/foreign.yaml") {
		name := fmt.Sprintf("preadmit-live-%s-%s", f.live.id, policy["metadata"].(map[string]any)["name"])
		put(policy, name, "metadata", "name")
		spec := policy["spec"].(map[string]any)
		if strings.Contains(string(manifest.JSON(spec)), `"scope":"Cluster"`) {
			spec["matchConditions"] = []any{map[string]any{"name": "of-this-test", "expression": fmt.Sprintf("request.name.contains(%q)", f.live.id)}}
		} else {
			confine(policy, f.live.id)
		}
		binding := map[string]any{
			"apiVersion": policy["apiVersion"], "kind": "MutatingAdmissionPolicyBinding",
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"policyName": name},
		}
		if spec["paramKind"] != nil {
			put(binding, map[string]any{"name": "tiers", "namespace": in, "parameterNotFoundAction": "Deny"}, "spec", "paramRef")
		}
		f.policies = append(f.policies, policy, binding)
	}
	f.live.install(t, slices.Concat(f.params, f.policies))
	in = f.namespace(0, slices.Min(slices.Collect(maps.Keys(f.namespaces))))["metadata"].(map[string]any)["name"].(string)
	for range 60 { // the server reads params later than policies
		answer, err := f.live.kubectl("", "create", "service", "clusterip", "canary", "--tcp=80", "-n", in, "--dry-run=server", "-o", "json")
		if err == nil && strings.Contains(answer, "example.com/tier") {
			return
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the server does not find the params: start it anew, since it watches ConfigMaps as params only for the first policies that have them")
}

// chunk is how many objects a configuration has: Terraform takes quadratic time.
const chunk = 100

// measure applies objects in one way, and returns the problem of each that is not applied cleanly.
func (f *foreign) measure(t *testing.T, n int, variant string, objects map[string]map[string]any) map[string]string {
	t.Helper()
	policies, problems := []string{}, map[string]string{}
	for _, p := range f.policies {
		policies = append(policies, string(manifest.JSON(p)))
	}
	user, done := f.live.user(t), 0
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(objects)), chunk) {
		all := map[string]map[string]liveCase{}
		for _, other := range variants {
			all[other] = map[string]liveCase{}
		}
		for _, key := range keys {
			all[variant][key] = f.liveCase(t, n, key, objects[key])
		}
		if how, resource, _ := strings.Cut(variant, "-"); how == "with" {
			maps.Copy(problems, refused(t, all[variant], policies, resource+"_manifest", user))
		}
		c := f.live.cli(t, map[string]string{"main.tf": liveProviders, "cases.json": inJSON(t, all), "policies.json": inJSON(t, policies), "user.json": user})
		for address, problem := range f.live.apply(t, c) {
			key := strings.TrimSuffix(address[strings.IndexByte(address, '"')+1:], `"]`)
			problems[key] = problem
		}
		done += len(keys)
		t.Logf("%s: %d of %d are not applied cleanly", variant, len(problems), done)
	}
	f.free(t, n, objects)
	return problems
}

// free deletes the objects of one variant, so that the next one can have their node ports.
func (f *foreign) free(t *testing.T, n int, objects map[string]map[string]any) {
	t.Helper()
	var stream strings.Builder
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		text, _ := f.placed(t, n, key, objects[key])
		fmt.Fprintf(&stream, "---\n%s\n", text)
	}
	if stream.Len() == 0 {
		return
	}
	if _, err := f.live.kubectl(stream.String(), "delete", "--ignore-not-found", "--wait=false", "-f", "-"); err != nil {
		t.Error(err)
	}
}

// liveCase returns an object with its context.
func (f *foreign) liveCase(t *testing.T, n int, key string, object map[string]any) liveCase {
	t.Helper()
	text, in := f.placed(t, n, key, object)
	c := liveCase{Manifest: text, Policies: []string{}, Context: []string{}}
	kind, _, _ := strings.Cut(key, "/")
	for _, o := range append(slices.Clone(f.params), in, f.definitions[kind]) {
		if o != nil {
			c.Context = append(c.Context, string(manifest.JSON(o)))
		}
	}
	return c
}

// refused removes the cases that preadmit refuses, and returns its messages.
func refused(t *testing.T, cases map[string]liveCase, policies []string, resource, user string) map[string]string {
	t.Helper()
	s, problems := newServer(t), map[string]string{}
	var info map[string]any
	if err := json.Unmarshal([]byte(user), &info); err != nil {
		t.Fatal(err)
	}
	for key, c := range cases {
		_, err := s.call(t, "mutate", c.Manifest, policies, map[string]any{
			"context": c.Context, "for": resource, "request": map[string]any{"user": info, "authorizer": "allow"},
		})
		if err != nil {
			problems[key] = "preadmit: " + err.Error()
			delete(cases, key)
		}
	}
	return problems
}
