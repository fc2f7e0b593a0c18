package given

import (
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

func documents(t *testing.T, text string) []*manifest.Document {
	t.Helper()
	stream, problems := manifest.Read("given.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return stream.Documents()
}

func lines(problems []source.Diagnostic) string {
	source.Sort(problems)
	var all []string
	for _, p := range problems {
		line := fmt.Sprintf("%d:%d %s %s: %s", p.At.Line, p.At.Column, p.Code, p.Field, p.Message)
		if p.Advice != "" {
			line += " (" + p.Advice + ")"
		}
		if p.Excerpt != "" {
			line += " with an excerpt, which may be secret"
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// TestAnswers reads a document of kind Values and requests its answers.
func TestAnswers(t *testing.T) {
	v, problems := ReadValues(documents(t, `
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
globalValues:
  request.operation: UPDATE
  random(): {"[a-z]": x}
  time.now(): "2024-01-02T03:04:05Z"
namespaces:
- metadata: {name: shop, labels: {a: both}, annotations: {owner: ann}}
namespaceSelector:
- {name: shop, labels: {a: selector}}
- {name: other, labels: {b: "1"}}
apiCallResponses:
- url: https://x/any
  response: {body: {i: 1}}
- urlPath: /api/v1/pods
  method: get
  response: {statusCode: 404, body: {i: 2}}
- url: https://x/any
  response: {body: {i: 3}}
globalContextEntries:
- name: data
  data: {teams: {a: 1}}
  fieldPath: teams
- name: list
  resources: [{metadata: {name: one}}, {metadata: {name: two}}]
  projections: [{name: names, path: '[].metadata.name'}, {name: broken, path: 'nope('}]
`))
	if len(problems) > 0 {
		t.Fatal(lines(problems))
	}
	call := func(method, url string) string {
		body, status, ok := v.Answers.Call(method, url)
		return fmt.Sprint(body, status, ok)
	}
	entry := func(name, projection string) string {
		e, ok := v.Answers.Entry(name)
		if !ok {
			return "none"
		}
		value, err := e.Select(projection)
		return fmt.Sprint(value, err)
	}
	labels := func(name string) string {
		labels, ok := v.Labels(name)
		return fmt.Sprint(labels, ok)
	}
	answer := func(call, argument string) string {
		value, ok := v.Answer(call, argument)
		return fmt.Sprint(value, ok)
	}
	for _, c := range []struct{ what, got, want string }{
		{"any method, the first of two", call("POST", "https://x/any"), "map[i:1] 200 true"},
		{"a path, a method in lower case, a status", call("GET", "/api/v1/pods"), "map[i:2] 404 true"},
		{"another method", call("POST", "/api/v1/pods"), "<nil> 0 false"},
		{"another URL", call("GET", "https://x"), "<nil> 0 false"},
		{"an entry with a path", entry("data", ""), "map[a:1] <nil>"},
		{"an entry of resources", entry("list", "names"), "[one two] <nil>"},
		{"a projection that it has not", entry("list", "other"), `<nil> projection "other" not found`},
		{"a projection that is wrong", entry("list", "broken")[:5], "<nil>"},
		{"an entry that is not given", entry("nope", ""), "none"},
		{"a namespace that is given twice", labels("shop"), "map[a:both] true"},
		{"a selector", labels("other"), "map[b:1] true"},
		{"a namespace that is not given", labels("x"), "map[] false"},
		{"an answer for an argument", answer("random()", "[a-z]"), "xtrue"},
		{"an answer for another argument", answer("random()", "[0-9]"), "<nil> false"},
		{"an answer for all arguments", answer("time.now()", ""), "2024-01-02T03:04:05Ztrue"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}

// TestContext reads documents of kind Context; if two documents answer the same question, the
// first wins.
func TestContext(t *testing.T) {
	c, problems := ReadContext(documents(t, `
apiVersion: cli.kyverno.io/v1alpha1
kind: Context
spec:
  resources:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}
  - nothing
  images:
  - {image: nginx, digest: sha256:1}
  unknown: 1
`))
	want := `7:5 values-invalid spec.resources[1]: expected an object (give it apiVersion, kind and metadata.name)
10:12 values-invalid spec.unknown: unknown field "unknown" (expected resources, images, apiCallResponses, globalContextEntries)`
	if got := lines(problems); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(c.Resources) != 1 || c.Resources[0].Name != "given.yaml, spec.resources[0]" || c.Resources[0].Value["kind"] != "ConfigMap" {
		t.Errorf("resources: %v", c.Resources)
	}
	other := Answers{
		images: map[string]map[string]any{"nginx": {"digest": "other"}, "redis": {"digest": "2"}},
		calls:  []call{{url: "x"}}, entries: map[string]Entry{"e": {Value: "v"}},
	}
	merged := c.Answers.Merge(other)
	for name, want := range map[string]string{"nginx": "sha256:1", "redis": "2"} {
		if image, ok := merged.Image(name); !ok || image["digest"] != want {
			t.Errorf("%s: %v", name, image)
		}
	}
	if _, ok := merged.Image("nope"); ok {
		t.Error("an image that nobody gave")
	}
	if e, ok := merged.Entry("e"); !ok || e.Value != "v" {
		t.Errorf("entry: %v", e)
	}
}

// TestRefused checks the errors about values. No line of the values is quoted.
func TestRefused(t *testing.T) {
	_, problems := ReadValues(documents(t, `
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
policies:
- {name: p, resources: [{name: r, value: {}}], rules: {}}
namespaceSelector: [{name: n, labels: {}, extra: 1}]
apiCallResponses:
- {url: a, urlPath: /b, response: {body: {}}}
- {response: {body: {}}}
- {url: a, method: PUT, response: {body: {}}}
- {url: a}
globalContextEntries:
- {name: e, data: {}, fieldPath: 'a('}
more: x
`))
	want := []string{
		`5:42 values-invalid policies[0].resources[0].value: unknown field "value" (expected name, values)`,
		`5:55 values-invalid policies[0].rules: expected a list`,
		`6:50 values-invalid namespaceSelector[0].extra: unknown field "extra" (expected name, labels)`,
		`8:3 values-invalid apiCallResponses[0]: expected one of url and urlPath`,
		`9:3 values-invalid apiCallResponses[1]: expected one of url and urlPath`,
		`10:20 values-invalid apiCallResponses[2].method: expected GET or POST`,
		`11:3 values-invalid apiCallResponses[3].response: the field is required (give it the body of the answer)`,
		`13:34 values-invalid globalContextEntries[0].fieldPath: not a JMESPath expression: incomplete expression`,
		`14:7 values-invalid more: unknown field "more" (expected apiVersion, kind, metadata, globalValues, policies, namespaceSelector, namespaces, subresources, apiCallResponses, globalContextEntries)`,
	}
	if got := lines(problems); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestUserInfo reads users, and completes the user of a request.
func TestUserInfo(t *testing.T) {
	u, problems := ReadUserInfo(documents(t, `
apiVersion: cli.kyverno.io/v1alpha1
kind: UserInfo
roles: [r]
clusterRoles: [c]
userInfo: {username: ann, uid: "7", groups: [a, b]}
`))
	if len(problems) > 0 || !u.IsGiven() || fmt.Sprint(u) != "{ann 7 [a b] [r] [c]}" {
		t.Errorf("%v, %s", u, lines(problems))
	}
	if (UserInfo{}).IsGiven() {
		t.Error("nobody is given")
	}
	if got := u.Complete(policy.User{Name: "bob"}); got.Name != "bob" || got.UID != "7" || len(got.Groups) != 2 {
		t.Errorf("completed: %v", got)
	}
	_, problems = ReadUserInfo(documents(t, "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nuserInfo: {name: x}\nroles: r\n"))
	want := "3:18 values-invalid userInfo.name: unknown field \"name\" (expected username, uid, groups, extra)\n4:8 values-invalid roles: expected a list"
	if got := lines(problems); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
