package admission

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// types returns all Go structs of Kubernetes 1.minor by their names in this package.
func types(minor int) map[string]*schema.Type {
	all := map[string]*schema.Type{}
	var visit func(t *schema.Type)
	visit = func(t *schema.Type) {
		switch {
		case t == nil:
		case kindOf(t) != goStruct:
			visit(t.Elem)
		case all[structOf(t).name] == nil:
			all[structOf(t).name] = t
			for f := range t.GoFields() {
				visit(f.Type)
			}
		}
	}
	for _, kind := range schema.BuiltinOf(minor).Kinds() {
		visit(kind.GoType())
	}
	visit(RequestGoType(minor).typ)
	visit(openAPISchemas())
	return all
}

// TestKindsComplete checks that every built-in kind has a type, except for reviews, which are
// not stored in a cluster.
func TestKindsComplete(t *testing.T) {
	for _, kind := range schema.Builtin().Kinds() {
		if kind.Group == "authentication.k8s.io" || kind.Group == "authorization.k8s.io" {
			continue
		}
		if kind.GoType() == nil {
			t.Errorf("%s has no type", kind)
		}
	}
}

// TestDefaultsComplete checks that each line of defaults.txt names fields that exist, with
// values that can be read.
func TestDefaultsComplete(t *testing.T) {
	names := tableKeys(constantDefaults)
	if !slices.IsSorted(names) {
		t.Error("the table is not sorted")
	}
	for _, name := range names {
		typ := anyType(name)
		if typ == nil {
			t.Errorf("%s is not a type", name)
			continue
		}
		line := findLine(name)
		for word := range strings.FieldsSeq(line) {
			if field, ok := strings.CutSuffix(word, ":milli"); ok {
				if f := typ.FieldType(field); f == nil || kindOf(f) != goMap || kindOf(f.Elem) != goQuantity {
					t.Errorf("%s.%s is not a list of resources", name, field)
				}
				continue
			}
			field, text, _ := strings.Cut(word, "=")
			field, since := cutSince(field)
			if since > release.Default {
				typ = types(since)[name]
			}
			if typ.Declared(field) == nil {
				t.Errorf("%s has no field %s", name, field)
			}
			if !json.Valid([]byte(text)) {
				t.Errorf("%s.%s: %s is not JSON", name, field, text)
			}
		}
	}
}

// anyType returns a type of the default version, or of the first version that has the type.
func anyType(name string) *schema.Type {
	if typ := types(release.Default)[name]; typ != nil {
		return typ
	}
	for minor := release.Oldest; minor <= release.Newest; minor++ {
		if typ := types(minor)[name]; typ != nil {
			return typ
		}
	}
	return nil
}

func tableKeys(table string) []string {
	var keys []string
	for line := range strings.Lines(table) {
		key, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		keys = append(keys, key)
	}
	return keys
}

// TestRulesApply checks that the types with rules and conversions exist: a misspelt name would
// never match.
func TestRulesApply(t *testing.T) {
	rules, conversions := 0, 0
	for name := range types(release.Default) {
		if ruleOf(name, release.Default) != nil {
			rules++
		}
		if conversionOf(name, release.Default) != nil {
			conversions++
		}
	}
	if rules != 25 || conversions != 17 {
		t.Errorf("%d types have rules and %d conversions", rules, conversions)
	}
}

func TestIsLatest(t *testing.T) {
	const hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for image, want := range map[string]bool{
		"nginx":                              true,
		"nginx:latest":                       true,
		"nginx:1.25":                         false,
		"nginx:0.1-latest":                   false,
		"nginx:LATEST":                       false,
		"library/nginx":                      true,
		"docker.io/nginx":                    true,
		"index.docker.io/nginx:latest":       true,
		"localhost/x":                        true,
		"example.com:5000/a/b":               true,
		"example.com:5000/a/b:5":             false,
		"Example.com/a":                      true,
		"[::1]:5000/a":                       true,
		"[::1]/a":                            true,
		"a_b.c/d":                            true, // not a host, but a path
		"a__b/c---d":                         true,
		"nginx:latest@sha256:" + hex:         true,
		"nginx@sha256:" + hex:                false,
		"nginx@sha512:" + hex + hex:          false,
		"nginx@sha256:abc":                   false,
		"nginx@md5:" + hex:                   false,
		"":                                   false,
		"nginx:":                             false,
		":latest":                            false,
		"Nginx":                              false,
		"example.com/Nginx":                  false,
		"$(IMAGE)":                           false,
		"a..b":                               false,
		"a/b/":                               false,
		"-a/b":                               false,
		"a:b:c":                              false,
		"example.com:x/a":                    false,
		"[::1/a":                             false,
		hex:                                  false,
		hex + "0":                            true,
		"nginx:.5":                           false,
		strings.Repeat("a", 248) + ":latest": false, // too long with library/
		"nginx:" + strings.Repeat("l", 129):  false,
		strings.Repeat("a", 247):             true,
		"example.com/" + strings.Repeat("a", 255):       true,
		"example.com/" + strings.Repeat("a", 256):       false,
		"under_score.example/" + strings.Repeat("a", 9): true,
	} {
		if got := isLatest(image); got != want {
			t.Errorf("%q: %v", image, got)
		}
	}
}

func TestQuantities(t *testing.T) {
	for _, test := range []struct{ written, canonical, rounded string }{
		{"1000m", "1", "1"},
		{"1024Mi", "1Gi", "1Gi"},
		{"1536Mi", "1536Mi", "1536Mi"},
		{"0.5", "500m", "500m"},
		{"1.5G", "1500M", "1500M"},
		{"0.1Ti", "109951162777600m", "109951162777600m"},
		{"0Mi", "0", "0"},
		{"0.5Ki", "512", "512"},
		{"+1", "+1", "+1"},
		{"1.500", "1.500", "1.500"},
		{"2.000", "2", "2"},
		{"007Mi", "007Mi", "007Mi"},
		{"12e6", "12e6", "12e6"},
		{"10e1", "100", "100"},
		{"5e-1", "500e-3", "500e-3"},
		{"16Ei", "9223372036854775807", "9223372036854775807"},
		{"100u", "100u", "1m"},
		{"0.0001", "100u", "1m"},
		{"1.123456", "1.123456", "1124m"},
		{"0.0000000001", "1n", "1m"},
		{"-1.5", "-1500m", "-1500m"},
	} {
		canonical, err := canonicalQuantity(test.written)
		if err != nil || canonical != test.canonical {
			t.Errorf("%s: %s, %v", test.written, canonical, err)
		}
		if got := rounded(canonical); got != test.rounded {
			t.Errorf("%s: rounded %s", test.written, got)
		}
	}
}

// TestCanonicalQuantities compares isCanonical with the server's own code.
func TestCanonicalQuantities(t *testing.T) {
	found := 0
	for _, suffix := range []string{"", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3"} {
		for n := range 1100 {
			text := strconv.Itoa(n) + suffix
			if !isCanonical(text) {
				continue
			}
			found++
			if q, err := resource.ParseQuantity(text); err != nil || q.String() != text {
				t.Errorf("%s is %s, %v", text, q.String(), err)
			}
		}
	}
	if found == 0 {
		t.Error("nothing is taken for canonical")
	}
}

// TestCanonicalBase64 compares isCanonicalBase64 with decoding and encoding the text.
func TestCanonicalBase64(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "YQ==": true, "YWI=": true, "YWJj": true, "+/+/": true, "YWJjZA==": true,
		"YR==": false, "YWJ=": false, "YW\nJj": false, "YQ=": false, "YQ": false, "Y===": false, "YQ==YQ==": false, "YW-_": false, "====": false,
	} {
		data, err := base64.StdEncoding.DecodeString(text)
		if canonical := err == nil && base64.StdEncoding.EncodeToString(data) == text; canonical != want {
			t.Errorf("%q: the library says %v", text, canonical)
		}
		if got := isCanonicalBase64(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
