package tfprovider

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/settings"
)

// object decodes a JSON text.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	value, err := readJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return value.(map[string]any)
}

// exact converts a result of readJSON to the form of decode.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		return json.Number(v)
	case map[string]any:
		for key := range v {
			v[key] = exact(v[key])
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	}
	return value
}

// TestAdmit admits objects, and checks that numbers keep their digits.
func TestAdmit(t *testing.T) {
	s := newServer(t)
	given := `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"big":9007199254740993,"small":0.1,"list":[1,"x",true,null,{}],"huge":123456789012345678901234567890}}`
	got, err := s.call(t, "admit", object(t, given), []string{labelPolicy})
	if err != nil || !reflect.DeepEqual(got, exact(object(t, given))) {
		t.Errorf("%v\n%v", got, err)
	}
	got, err = s.call(t, "admit", object(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`), []string{labelPolicy})
	if err != nil || !reflect.DeepEqual(got, any(object(t, mutated("a")))) {
		t.Errorf("%v\n%v", got, err)
	}
	if _, err := s.call(t, "admit", "kind: ConfigMap", []string{labelPolicy}); err == nil || !strings.Contains(err.Error(), "for a text use mutate") {
		t.Error(err)
	}
}

// copying is a policy that copies a named value; deciding uses the value in a condition.
func copying(from string) string {
	return strings.Replace(labelPolicy, `"yes"`, "string("+from+")", 1)
}

// selecting is a policy for objects with labels.
func selecting(labels string) string {
	return strings.Replace(labelPolicy, "    resourceRules:", "    objectSelector: {matchLabels: {"+labels+"}}\n    resourceRules:", 1)
}

// kyvernoRule is a rule of Kyverno that is only for objects of a kind with a value in their data.
func kyvernoRule(kind, key string) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: rule}
spec:
  rules:
  - name: rule
    match: {any: [{resources: {kinds: [%s]}}]}
    mutate:
      patchStrategicMerge:
        data:
          (%s): prod
          added: "yes"
`, kind, key)
}

// refusing is a policy that accepts only ConfigMaps for which an expression is true.
func refusing(expression string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refusing.example.com}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations:
  - expression: %q
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refusing.example.com}
spec: {policyName: refusing.example.com, validationActions: [Deny]}
`, expression)
}

// TestAdmitUnknown admits objects with unknown parts.
func TestAdmitUnknown(t *testing.T) {
	s := newServer(t)
	nothing := any(unknown{anything})
	text, some := unknown{someText}, unknown{anything}
	config := func(data map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": data}
	}
	labelled := func(data map[string]any) any {
		c := config(data)
		c["metadata"].(map[string]any)["labels"] = map[string]any{"mutated": "yes"}
		return c
	}
	all := strings.Replace(labelPolicy, `{"mutated": "yes"}`, `{"all": string(object.data.map(k, string(object.data[k])).join("-"))}`, 1)
	labelledAs := func(label any, data map[string]any) any {
		c := config(data)
		c["metadata"].(map[string]any)["labels"] = map[string]any{"mutated": label}
		return c
	}
	forPods := strings.NewReplacer("configmaps, secrets", "pods", "label.example.com", "pod.example.com", `"yes"`, "object.data.x").Replace(labelPolicy)
	for name, test := range map[string]struct {
		object, policies any
		want             any
	}{
		"a text":      {config(map[string]any{"x": text, "y": "z"}), []string{labelPolicy}, labelled(map[string]any{"x": text, "y": "z"})},
		"of any type": {config(map[string]any{"x": some}), []string{labelPolicy}, labelled(map[string]any{"x": some})},
		"copied":      {config(map[string]any{"x": text}), []string{copying("object.data.x")}, labelledAs(text, map[string]any{"x": text})},
		"computed":    {config(map[string]any{"x": text}), []string{copying(`"a-" + object.data.x`)}, labelledAs(text, map[string]any{"x": text})},
		"used":        {config(map[string]any{"x": text}), []string{copying(`object.data.x.split("-")[0]`)}, nothing},
		"decided":     {config(map[string]any{"x": text}), []string{copying(`object.data.x == "prod" ? "a" : "b"`)}, labelledAs(text, map[string]any{"x": text})},
		"another name": {config(map[string]any{"x": text, "y": "v"}), []string{copying("object.data.y")}, func() any {
			c := config(map[string]any{"x": text, "y": "v"})
			c["metadata"].(map[string]any)["labels"] = map[string]any{"mutated": "v"}
			return c
		}()},
		"copied without a name": {config(map[string]any{"x": text}), []string{all}, func() any {
			c := config(map[string]any{"x": text})
			c["metadata"].(map[string]any)["labels"] = map[string]any{"all": text}
			return c
		}()},
		"a name in a text": {config(map[string]any{"x": text}), []string{copying(`"object.data.x"`)}, labelledAs("object.data.x", map[string]any{"x": text})},
		"not asked":        {config(map[string]any{"x": text}), []string{labelPolicy, forPods, kyvernoRule("Pod", "x")}, labelled(map[string]any{"x": text})},
		"a rule that is asked": {config(map[string]any{"x": text}), []string{labelPolicy, kyvernoRule("ConfigMap", "x")}, func() any {
			c := labelled(nil).(map[string]any)
			c["data"] = some
			return c
		}()},
		"a rule of other keys": {config(map[string]any{"x": text}), []string{labelPolicy, kyvernoRule("ConfigMap", "other")}, labelled(map[string]any{"x": text})},
		"not reached":          {config(map[string]any{"x": text, "y": "z"}), []string{copying(`object.data.y == "z" ? "yes" : object.data.x`)}, labelled(map[string]any{"x": text, "y": "z"})},
		"a comparison of maps": {config(map[string]any{"x": text}), []string{copying(`object.data == {"x": "prod"} ? "a" : "yes"`)}, labelledAs(text, map[string]any{"x": text})},
		"a selector":           {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": map[string]any{"env": text}}}, []string{selecting("env: prod")}, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": some}}},
		"another label":        {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": map[string]any{"env": text}}}, []string{selecting("team: web")}, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": map[string]any{"env": text}}}},
		"stringData":           {map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "stringData": map[string]any{"x": text}}, []string{copying(`size(object.data.x) > 3 ? "a" : "yes"`)}, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a", "labels": map[string]any{"mutated": text}}, "stringData": map[string]any{"x": text}}},
		"kind":                 {map[string]any{"apiVersion": "v1", "kind": text, "metadata": map[string]any{"name": "a"}}, []string{labelPolicy}, nothing},
		"a map":                {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": unknown{several}}, []string{labelPolicy}, nothing},
		"the object":           {some, []string{labelPolicy}, nothing},
		"the policies":         {config(nil), some, nothing},
		"one of the policies":  {config(nil), []any{labelPolicy, text}, nothing},
		"not valid without":    {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "immutable": text}, []string{labelPolicy}, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := s.call(t, "admit", test.object, test.policies); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got:\n%v\n%v\nwant:\n%v", got, err, test.want)
			}
		})
	}
	deny := func(expression string) []string { return []string{labelPolicy, refusing(expression)} }
	if _, err := s.call(t, "admit", config(map[string]any{"x": text}), deny(`object.metadata.name != "a"`)); err == nil || !strings.Contains(err.Error(), "[denied]") {
		t.Errorf("a denial that does not depend on the unknown value is an error at once: %v", err)
	}
	if got, err := s.call(t, "admit", config(map[string]any{"x": text}), deny(`object.data.x == "prod"`)); err != nil || !reflect.DeepEqual(got, labelled(map[string]any{"x": text})) {
		t.Errorf("a denial that depends on it is not: %v %v", got, err)
	}
	if _, err := s.call(t, "admit", config(map[string]any{"x": text}), []string{strings.Replace(labelPolicy, "Object{", "Objct{", 1)}); err == nil {
		t.Error("a policy that is wrong is an error at once")
	}
	if _, err := s.call(t, "admit", config(map[string]any{"x": text}), []any{}); err == nil || !strings.Contains(err.Error(), "No Policies") {
		t.Error(err)
	}
}

// TestRulesGet shows which expressions of rules get an unknown value.
func TestRulesGet(t *testing.T) {
	for text, want := range map[string]bool{
		"no expression": false, "{{ request.operation }}": false, "{{ request.object.metadata.name }}": false, "{{ request.userInfo }}": false,
		"{{ to_string(request) }}": true, "{{ request.object }}": true, `{{ request."object".kind }}`: true, "{{ request.object.spec.* }}": true,
		"{{ request.object.* }}": true, "{{ request.object.spec.template | to_string(@) }}": true, "{{ request.object.spec.containers }}": true,
		"{{ to_string(request.object.spec) }}": true, "containers and images": true, `{"*": "prod"}`: true,
	} {
		if got := names(text, []string{"spec", "template", "spec", "containers", "image"}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	stream, _ := manifest.Read("m", []byte(configMap("a")))
	if (*engine.Set)(nil).Covers(stream.Documents()[0]) {
		t.Error("a set without policies covers nothing")
	}
}

// TestAdmitPartly makes each value of each manifest of the cases, and of the recorded cases, unknown in
// turn. Whatever it becomes, among others the texts that the policies contain, the known parts of the
// planned result must be the same in the final result.
func TestAdmitPartly(t *testing.T) {
	directories, err := filepath.Glob(filepath.Join(cases, "*"))
	if err != nil || len(directories) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	p := planned{f: &admitFunction{newCache(cacheSize)}}
	every := 6
	if os.Getenv("PREADMIT_COMPLETIONS") == "all" {
		every = 1
	}
	for i, directory := range recordings(t) {
		// Some of them, because all take a minute.
		if name := filepath.Base(directory); i%every == 0 || name == "finalizers-and-owners" || name == "service-account-alias" || name == "limit-range" {
			directories = append(directories, directory)
		}
	}
	for _, directory := range directories {
		c := config{options: settings.Config{AllowNoPolicies: true}}
		c.options.Engine.Authorizer = engine.AuthorizerAllow
		policies := contents(t, directory+"/policies")
		for i, data := range policies {
			c.texts[settings.Policies] = append(c.texts[settings.Policies], text{name: fmt.Sprintf("p%d", i), data: data})
		}
		for _, data := range contents(t, directory+"/manifests") {
			stream, _ := manifest.Read("m", []byte(data))
			for _, d := range stream.Documents() {
				p.check(t, directory, c, exact(object(t, string(d.JSON()))), literals(policies))
			}
		}
	}
	if os.Getenv("CI") == "" {
		t.Logf("%d values with %d completions, and something is known of %d results", p.tried, p.completed, p.known)
	}
	if p.known < p.tried/2 || p.completed < p.tried {
		t.Errorf("of %d results with %d completions, only %d are known", p.tried, p.completed, p.known)
	}
}

// TestAdmitMaximal makes each value of an object unknown in turn, under policies of all languages that
// copy values, write others and have no conditions on it. Everything that does not depend on the value must be known.
func TestAdmitMaximal(t *testing.T) {
	p := planned{f: &admitFunction{newCache(cacheSize)}}
	c := config{}
	for i, data := range contents(t, "testdata/maximal/policies") {
		c.texts[settings.Policies] = append(c.texts[settings.Policies], text{name: fmt.Sprintf("p%d", i), data: data})
	}
	for _, data := range contents(t, "testdata/maximal/manifests") {
		stream, _ := manifest.Read("m", []byte(data))
		whole := exact(object(t, string(stream.Documents()[0].JSON())))
		eachLeaf(whole, func(set func(any), item any) {
			u, ok := forgotten(item)
			if text, _ := item.(string); !ok || slices.Contains([]string{"apps/v1", "v1", "Deployment", "Secret", "shop"}, text) {
				return
			}
			defer set(item)
			set(u)
			got, problems, err := p.f.admit(t.Context(), whole, c)
			if err != nil || funcError(problems) != nil {
				t.Fatal(err, problems)
			}
			var finals []any
			for _, completion := range different(item) {
				set(completion)
				final, problems, err := p.f.admit(t.Context(), whole, c)
				if err != nil || funcError(problems) != nil {
					t.Fatal(err, problems)
				}
				finals = append(finals, final)
			}
			if least := newPartly(whole).common(finals[0], finals[1]); !reflect.DeepEqual(got, least) {
				t.Errorf("with %v unknown, the result is\n%v\nwant\n%v", item, got, least)
			}
			p.tried++
		})
	}
	if p.tried < 20 {
		t.Errorf("only %d values", p.tried)
	}
}

// different returns two values of the same kind.
func different(item any) [2]any {
	switch item.(type) {
	case bool:
		return [2]any{true, false}
	case json.Number:
		return [2]any{json.Number("8081"), json.Number("8082")}
	}
	if item == "64Mi" {
		return [2]any{"80Mi", "81Mi"}
	}
	return [2]any{"some", "other"}
}

// planned compares planned results with final ones.
type planned struct {
	f                       *admitFunction
	tried, completed, known int
}

// check makes every scalar of an object unknown in turn.
func (p *planned) check(t *testing.T, name string, c config, whole any, literals []string) {
	t.Helper()
	if final, problems, err := p.f.admit(t.Context(), whole, c); err != nil || funcError(problems) != nil || final == nil {
		return
	}
	eachLeaf(whole, func(set func(any), item any) {
		u, ok := forgotten(item)
		if !ok {
			return
		}
		defer set(item)
		set(u)
		got, problems, err := p.f.admit(t.Context(), whole, c)
		if err != nil || funcError(problems) != nil {
			t.Errorf("%s: %v %v\n%v", name, err, problems, whole)
			return
		}
		if p.tried++; isUnknown(got) {
			return
		}
		p.known++
		for _, completion := range completions(item, literals) {
			set(completion)
			final, problems, err := p.f.admit(t.Context(), whole, c)
			if err != nil || funcError(problems) != nil {
				continue // refused at apply
			}
			if p.completed++; !agrees(got, final) {
				t.Errorf("%s: with %v unknown, planned\n%v\nbut with %v it is\n%v", name, item, got, completion, final)
			}
		}
	})
}

var literal = regexp.MustCompile(`["']([\w./:-]{1,40})["']|: ([\w./:-]{1,40})\n`)

// literals returns the texts in policies that they may compare with.
func literals(policies []string) []string {
	var found []string
	for _, match := range literal.FindAllStringSubmatch(strings.Join(policies, "\n"), -1) {
		found = append(found, match[1]+match[2])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// completions returns values that an unknown scalar may become.
func completions(item any, literals []string) []any {
	switch item.(type) {
	case bool:
		return []any{true, false}
	case json.Number:
		return []any{item, json.Number("1"), json.Number("8080")}
	}
	all := []any{item, "other"}
	for _, text := range literals {
		all = append(all, text)
	}
	return all
}

// eachLeaf calls try once for every scalar, with a function that replaces it.
func eachLeaf(value any, try func(set func(any), item any)) {
	visit := func(set func(any), item any) {
		switch item.(type) {
		case map[string]any, []any:
			eachLeaf(item, try)
		default:
			try(set, item)
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			visit(func(to any) { v[key] = to }, v[key])
		}
	case []any:
		for i, item := range v {
			visit(func(to any) { v[i] = to }, item)
		}
	}
}

// forgotten returns an unknown value with the kind of a scalar.
func forgotten(item any) (unknown, bool) {
	switch item.(type) {
	case string:
		return unknown{someText}, true
	case json.Number:
		return unknown{someNumber}, true
	case bool:
		return unknown{someBool}, true
	}
	return unknown{}, false
}

// agrees reports whether the known parts of a result are the same as in a completely known result.
func agrees(partly, whole any) bool {
	switch p := partly.(type) {
	case unknown:
		return true
	case map[string]any:
		w, ok := whole.(map[string]any)
		if !ok || len(p) != len(w) {
			return false
		}
		for key := range p {
			if _, ok := w[key]; !ok || !agrees(p[key], w[key]) {
				return false
			}
		}
		return true
	case []any:
		w, ok := whole.([]any)
		if !ok || len(p) != len(w) {
			return false
		}
		for i := range p {
			if !agrees(p[i], w[i]) {
				return false
			}
		}
		return true
	}
	return partly == whole
}
