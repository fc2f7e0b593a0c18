package tfprovider

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

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
	for name, test := range map[string]struct {
		object, policies any
		want             any
	}{
		"a text":      {config(map[string]any{"x": text, "y": "z"}), []string{labelPolicy}, labelled(map[string]any{"x": text, "y": "z"})},
		"of any type": {config(map[string]any{"x": some}), []string{labelPolicy}, labelled(map[string]any{"x": some})},
		"named":       {config(map[string]any{"x": text}), []string{copying("object.data.x")}, nothing},
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
		"kind":                {map[string]any{"apiVersion": "v1", "kind": text, "metadata": map[string]any{"name": "a"}}, []string{labelPolicy}, nothing},
		"a map":               {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": unknown{several}}, []string{labelPolicy}, nothing},
		"the object":          {some, []string{labelPolicy}, nothing},
		"the policies":        {config(nil), some, nothing},
		"one of the policies": {config(nil), []any{labelPolicy, text}, nothing},
		"not valid without":   {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "immutable": text}, []string{labelPolicy}, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := s.call(t, "admit", test.object, test.policies); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got:\n%v\n%v\nwant:\n%v", got, err, test.want)
			}
		})
	}
	if _, err := s.call(t, "admit", config(map[string]any{"x": text}), []string{strings.Replace(labelPolicy, "Object{", "Objct{", 1)}); err == nil {
		t.Error("a policy that is wrong is an error at once")
	}
	if _, err := s.call(t, "admit", config(map[string]any{"x": text}), []any{}); err == nil || !strings.Contains(err.Error(), "No Policies") {
		t.Error(err)
	}
}

// TestAdmitPartly makes each value of each manifest of the cases unknown in turn. The known parts of the
// result must be the same as in the result without unknown values.
func TestAdmitPartly(t *testing.T) {
	directories, err := filepath.Glob(filepath.Join(cases, "*"))
	if err != nil || len(directories) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	sets := newCache(cacheSize)
	f := &admitFunction{sets}
	tried, known := 0, 0
	for _, directory := range directories {
		c := config{options: settings.Config{AllowNoPolicies: true}}
		for i, text1 := range contents(t, directory+"/policies") {
			c.texts[settings.Policies] = append(c.texts[settings.Policies], text{name: fmt.Sprintf("p%d", i), data: text1})
		}
		for _, text1 := range contents(t, directory+"/manifests") {
			stream, _ := manifest.Read("m", []byte(text1))
			for _, d := range stream.Documents() {
				whole := exact(object(t, string(d.JSON())))
				want, problems, err := f.admit(t.Context(), whole, c)
				if err != nil || funcError(problems) != nil {
					continue
				}
				eachLeaf(whole, func(partly any) {
					got, problems, err := f.admit(t.Context(), partly, c)
					if err != nil || funcError(problems) != nil {
						t.Errorf("%s: %v %v\n%v", directory, err, problems, partly)
						return
					}
					tried++
					if !isUnknown(got) {
						known++
					}
					if !agrees(got, want) {
						t.Errorf("%s: with parts unknown\n%v\nis\n%v\nbut with all known\n%v", directory, partly, got, want)
					}
				}, whole)
			}
		}
	}
	if os.Getenv("CI") == "" {
		t.Logf("%d values, and something is known of %d results", tried, known)
	}
	if known < tried/3 {
		t.Errorf("of %d results, only %d are known", tried, known)
	}
}

// eachLeaf calls try once for every scalar, with a value in which this scalar is unknown.
func eachLeaf(value any, try func(any), root any) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if u, ok := forgotten(item); ok {
				v[key] = u
				try(root)
				v[key] = item
			} else {
				eachLeaf(item, try, root)
			}
		}
	case []any:
		for i, item := range v {
			if u, ok := forgotten(item); ok {
				v[i] = u
				try(root)
				v[i] = item
			} else {
				eachLeaf(item, try, root)
			}
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
