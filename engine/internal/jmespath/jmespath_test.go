package jmespath

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
)

const data = `
labels: {b: two, a: one, c: three}
list: [3, 1, 2]
names: [{name: x, m: 1}, {name: y}]
text: Hello
big: 9007199254740993
"null": null
`

func search(t *testing.T, env *Env, expression string) (any, error) {
	t.Helper()
	value, err := manifest.Value(data)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := Compile(expression)
	if err != nil {
		return nil, err
	}
	return output(env.Search(compiled, Input(value)))
}

// output returns the result of Search as a value.
func output(result any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return Output(result)
}

var testEnv = NewEnv(func(call, argument string) (any, bool) {
	given := map[string]any{"time_now()": "2026-01-02T03:04:05Z", "time_now_utc()": "2026-01-02T03:04:05Z", "random()": "given for " + argument}
	value, ok := given[call]
	return value, ok
})

// TestFunctions checks the results of Kyverno v1.19.0, as YAML. Where Kyverno fails, the errors
// are ours.
func TestFunctions(t *testing.T) {
	for _, c := range []struct{ expression, want string }{
		{"compare('a', 'b')", "-1"},
		{"compare('a', 'b') < `0`", "null"},
		{"equal_fold('Ab', 'aB')", "true"},
		{"replace('aaa', 'a', 'b', `2`)", "bba"},
		{"replace_all('aaa', 'a', 'b')", "bbb"},
		{"to_upper(text)", "HELLO"},
		{"to_lower(text)", "hello"},
		{"trim('xxaxx', 'x')", "a"},
		{"trim_prefix('xa', 'x')", "a"},
		{"split('a,b', ',')", "[a, b]"},
		{"join('-', split('a,b', ','))", "a-b"},
		{"to_string(list)", "'[3,1,2]'"},
		{"to_string(text)", "Hello"},
		{"join('-', list)", "! join(): argument 2 must be a list of strings"},
		{"truncate('äbc', `2`)", "äb"},
		{"truncate('abc', `-1`)", `""`},
		{"path_canonicalize('/a/../b//c')", "/b/c"},
		{"pattern_match('a*', 'abc')", "true"},
		{"pattern_match('1?', `12`)", "true"},
		{"regex_match('^a.c$', 'abc')", "true"},
		{"regex_replace_all('([a-z])(\\d)', 'a1b2', '$2$1')", "1a2b"},
		{"regex_replace_all('^', 'b', 'a')", "ab"},
		{"regex_replace_all_literal('\\d', 'a1', '$1')", "a$1"},
		{"regex_match('(', 'x')", "! regex_match(): the first argument is not a regular expression of RE2"},
		{"to_boolean('TRUE')", "true"},
		{"to_boolean('yes')", "! to_boolean(): the string must be 'true' or 'false'"},
		{"base64_encode('ab')", "YWI="},
		{"base64_decode('YWI=')", "ab"},
		{"base64_decode('!')", "! base64_decode(): the string is not base64"},
		{"keys(labels)", "[a, b, c]"},
		{"values(labels)", "[one, two, three]"},
		{"labels.*", "[one, two, three]"},
		{"*.b", "[two]"},
		{"[labels.*, list[*]]", "[[one, two, three], [3, 1, 2]]"},
		{"labels.* | [0]", "one"},
		{"text.*", "null"},
		{"missing.*", "null"},
		{"missing.*.x || 'd'", "d"},
		{"labels.missing", `! there is no "missing"`},
		{"labels.*.x[]", "[]"},
		{"values(names[0])[*].x", "[]"},
		{"items(labels, 'k', 'v')[0]", "{k: a, v: one}"},
		{"items(list, 'k', 'v')[1]", "{k: 1, v: 1}"},
		{"items(labels, 'k', 'v')[?k == 'b'].v | [0]", "two"},
		{"lookup(labels, 'a')", "one"},
		{"lookup(labels, 'z')", "null"},
		{"lookup(list, `0`)", "3"},
		{"lookup(list, `7`)", "null"},
		{"lookup(text, 'a')", "! lookup(): argument 1 must be a list or an object, not a string"},
		{"object_from_lists(['a', 'b'], list)", "{a: 3, b: 1}"},
		{"label_match(`{\"a\": \"one\"}`, labels)", "true"},
		{"label_match(labels, `{\"a\": \"one\"}`)", "false"},
		{"parse_json('{\"a\": [1]}')", "{a: [1]}"},
		{"parse_json('x')", "! parse_json(): the string is not JSON"},
		{"parse_yaml('a: [1, yes]')", "{a: [1, true]}"},
		{"add(`1`, `2`)", "3"},
		{"add('1Gi', '1Gi')", "2Gi"},
		{"add('1h', '90s')", "1h1m30s"},
		{"add('1h', '30m')", "! add(): the types of the arguments do not go together"},
		{"add('1Gi', `1`)", "! add(): the types of the arguments do not go together"},
		{"subtract('1Gi', '512Mi')", "512Mi"},
		{"subtract('1h', '90s')", "58m30s"},
		{"multiply('1Gi', `2`)", "2Gi"},
		{"multiply(`2`, '1Gi')", "2Gi"},
		{"multiply(`2`, '90s')", "3m0s"},
		{"divide('1Gi', '512Mi')", "2"},
		{"divide('1Gi', `2`)", "512Mi"},
		{"divide('1h', '90s')", "40"},
		{"divide('1h', `2`)", "30m0s"},
		{"divide(`1`, `0`)", "! divide(): division by zero"},
		{"modulo(`7`, `4`)", "3"},
		{"modulo('7', '4')", `"3"`},
		{"modulo('7m', '4m')", "! modulo(): modulo needs whole numbers"},
		{"modulo('90s', '60s')", "30s"},
		{"modulo(`1.5`, `1`)", "! modulo(): modulo needs whole numbers"},
		{"sum(list)", "6"},
		{"sum(['1Gi', '2Gi'])", "3Gi"},
		{"sum(`[]`)", "! sum(): the list is empty"},
		{"round(`1.256`, `2`)", "1.26"},
		{"add('1e999999999', '1')", "! add(): the types of the arguments do not go together"},
		{"semver_compare('1.2.3', '>=1.0.0 <2.0.0')", "true"},
		{"sha256('a')", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
		{"sha1('a')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
		{"md5('a')", "0cc175b9c0f1b6a831c399e269772661"},
		{"image_normalize('nginx')", "docker.io/nginx:latest"},
		{"image_normalize('ghcr.io/a/b:1@sha256:128c6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3')", "ghcr.io/a/b@sha256:128c6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3"},
		{"image_normalize('A B')", "! image_normalize(): not an image reference"},
		{"time_add('2026-01-01T00:00:00Z', '1h')", `"2026-01-01T01:00:00Z"`},
		{"time_parse('2006-01-02', '2026-03-04')", `"2026-03-04T00:00:00Z"`},
		{"time_parse('1', '86400')", `"1970-01-02T00:00:00Z"`},
		{"time_to_cron('2026-01-02T03:04:00Z')", "4 3 2 1 5"},
		{"time_utc('2026-01-01T01:00:00+01:00')", `"2026-01-01T00:00:00Z"`},
		{"time_diff('2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z')", "1h0m0s"},
		{"time_before('2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z')", "true"},
		{"time_after('2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z')", "false"},
		{"time_between('2026-01-01T00:30:00Z', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z')", "true"},
		{"time_truncate('2026-01-01T00:42:00Z', '1h')", `"2026-01-01T00:00:00Z"`},
		{"time_since('', '2026-01-02T03:04:00Z', '')", "5s"},
		{"time_since('', '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z')", "1m0s"},
		{"time_now()", `"2026-01-02T03:04:05Z"`},
		{"time_now_utc()", `"2026-01-02T03:04:05Z"`},
		{"time_add('yesterday', '1h')", "! time_add(): an argument is not a time of the form 2006-01-02T15:04:05Z07:00"},
		{"random('[a-z]')", "given for [a-z]"},
		{"is_external_url('https://example.com')", `! is_external_url(): the result is different in every run; give it among the values, as "is_external_url()"`},
		{"x509_decode('x')", "! x509_decode(): the string is not PEM"},

		{"to_upper(list)", "! to_upper(): argument 1 must be a string, not a list"},
		{"to_upper('a', 'b')", "! to_upper(): has 1 argument, not 2"},
		{"abs(text)", "! a function is called with an argument of the wrong type, or cannot compare the items of its list"},
		{"nothing(text)", "! there is no function nothing()"},
		{"missing", `! there is no "missing"`},
		{"missing || 'x'", "x"},
		{"names[*].m", "[1]"},
		{`"null".x`, "null"},
		{"big", "9007199254740993"},
		{"length(list)", "3"},
		{"sort(list)", "[1, 2, 3]"},
		{"max_by(names[:1], &m).name", "x"},
		{"list[?@ > `1`]", "[3, 2]"},
		{"&text", "! the result is an expression, not a value"},
	} {
		got, err := search(t, testEnv, c.expression)
		if wantError, ok := strings.CutPrefix(c.want, "! "); ok {
			if err == nil || err.Error() != wantError {
				t.Errorf("%s\ngot:  %v, %v\nwant: %s", c.expression, got, err, wantError)
			}
			continue
		}
		want, _ := manifest.Value(c.want)
		if err != nil || !change.Equal(got, want) {
			t.Errorf("%s\ngot:  %#v, %v\nwant: %#v", c.expression, got, err, want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		expression, text string
		offset           int
	}{
		{"a..b", "expected identifier, lbracket, or lbrace", 2},
		{"a.*.b.*..c", "expected identifier, lbracket, or lbrace", 8},
		{"'a", "unclosed delimiter: '", 2},
		{strings.Repeat("a", maxExpression+1), "it is longer than 16384 bytes", 0},
	} {
		_, err := Compile(c.expression)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Text != c.text || syntax.Offset != c.offset {
			t.Errorf("%.20s: %#v", c.expression, err)
		}
	}
}

// TestBounds evaluates expressions that would fill the memory.
func TestBounds(t *testing.T) {
	for _, expression := range []string{
		"text" + strings.Repeat(" | [@, @]", 40),
		"text" + strings.Repeat(" | replace_all(@, '', @)", 12),
		"text" + strings.Repeat(" | regex_replace_all('', @, @)", 12),
		"text" + strings.Repeat(" | join(@, [@, @, @])", 12),
		"'\"'" + strings.Repeat(" | to_string([@])", 40),
		"text" + strings.Repeat(" | [@, @]", 40) + " | to_string(@)",
	} {
		if _, err := search(t, testEnv, expression); !errors.As(err, new(*limit.Error)) {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

func TestParseImage(t *testing.T) {
	for image, want := range map[string]string{
		"nginx":                    "{registry: docker.io, path: nginx, name: nginx, tag: latest, reference: 'docker.io/nginx:latest', referenceWithTag: 'docker.io/nginx:latest'}",
		"team/web:1":               "{registry: docker.io, path: team/web, name: web, tag: '1', reference: 'docker.io/team/web:1', referenceWithTag: 'docker.io/team/web:1'}",
		"localhost:5000/web":       "{registry: 'localhost:5000', path: web, name: web, tag: latest, reference: 'localhost:5000/web:latest', referenceWithTag: 'localhost:5000/web:latest'}",
		"registry.example.com/a/b": "{registry: registry.example.com, path: a/b, name: b, tag: latest, reference: 'registry.example.com/a/b:latest', referenceWithTag: 'registry.example.com/a/b:latest'}",
	} {
		got, err := ParseImage(image)
		wanted, _ := manifest.Value(want)
		if err != nil || !change.Equal(got, wanted) {
			t.Errorf("%s: %v, %v", image, got, err)
		}
	}
}

// TestX509 decodes a certificate that the test creates.
func TestX509(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "web"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	expression, err := Compile("x509_decode(pem).[Subject.CommonName, PublicKey.E, PublicKey.N, SerialNumber]")
	if err != nil {
		t.Fatal(err)
	}
	got, err := output(testEnv.Search(expression, map[string]any{"pem": certificate}))
	if want := []any{"web", int64(65537), key.N.String(), int64(7)}; err != nil || !change.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// TestSignatures calls the library's functions with all numbers of arguments: it refuses those
// that the table refuses.
func TestSignatures(t *testing.T) {
	env := NewEnv(nil)
	for _, f := range libraryFunctions {
		for n := range 4 {
			compiled, err := Compile(f.name + "(" + strings.TrimPrefix(strings.Repeat(",`null`", n), ",") + ")")
			if err != nil {
				t.Fatal(err)
			}
			_, err = env.Search(compiled, nil)
			wrong := err != nil && strings.Contains(err.Error(), "wrong number of arguments")
			if refused := f.signature.Check(n) != nil; refused != wrong {
				t.Errorf("%s with %d arguments: %v, want an error: %v", f.name, n, err, refused)
			}
		}
	}
}
