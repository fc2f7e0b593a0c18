package celenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/preadmit/preadmit/engine/gvk"
)

// village is a World with few answers.
type village struct{}

var errStranger = errors.New("nobody knows")

func (*village) Get(apiVersion, resource, namespace, name string) (map[string]any, error) {
	if name == "none" {
		return nil, nil
	}
	if name == "secret" {
		return nil, errStranger
	}
	return map[string]any{"asked": apiVersion + " " + resource + " " + namespace + "/" + name, "n": int64(1)}, nil
}

func (*village) List(apiVersion, resource, namespace string, labels map[string]string) ([]any, error) {
	return []any{fmt.Sprintf("%s %s %s %v", apiVersion, resource, namespace, labels)}, nil
}

func (*village) Resource(apiVersion, kind string) (gvk.Resource, error) {
	k := gvk.Parse(apiVersion, kind)
	return gvk.Resource{Group: k.Group, Version: k.Version, Resource: strings.ToLower(kind) + "s"}, nil
}

func (*village) Post(apiVersion, resource, namespace string) (map[string]any, error) {
	return nil, errStranger
}

func (*village) Entry(name, projection string) (any, error) {
	if name == "none" {
		return nil, nil
	}
	return []any{name + "/" + projection}, nil
}

func (*village) Request(method, url string) (any, int64, error) {
	switch url {
	case "dead":
		return nil, 0, errStranger
	case "list":
		return []any{int64(1)}, 404, nil
	}
	return map[string]any{"said": method + " " + url}, 200, nil
}

func (*village) Image(reference string) (map[string]any, error) {
	return map[string]any{"image": reference, "config": map[string]any{"architecture": "arm64"}}, nil
}

func (*village) Now() (time.Time, error) { return time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), nil }

func (*village) Random(pattern string) (string, error) { return "<" + pattern + ">", nil }

// evaluation returns the result of a Kyverno expression, or its error.
func evaluation(t *testing.T, env *Env, w World, expression string) string {
	t.Helper()
	program, err := env.Scope(false).compile(dialect{}, expression, nil)
	if err != nil {
		return "compile: " + err.Text
	}
	in := input()
	in.World = w
	in.Exceptions = Exceptions{Images: []string{"nginx"}}
	value, evalErr := env.Scope(false).Activate(t.Context(), in).eval(program, nil)
	if evalErr != nil {
		return "error: " + evalErr.Error()
	}
	if o, ok := value.(*types.Optional); ok && !o.HasValue() {
		return "none"
	}
	return types.Format(value)
}

// kyvernoFunctions has every function of Kyverno's libraries with its result, which comes from
// Kyverno v1.19.0's command where it does not depend on a World.
var kyvernoFunctions = map[string]string{
	// resource
	`resource.Get("v1", "configmaps", "ns", "a").asked`:                                                    `"v1 configmaps ns/a"`,
	`resource.get("v1", "configmaps", "ns", "a").asked`:                                                    `"v1 configmaps ns/a"`,
	`resource.get(resource.toGVR("apps/v1", "Deployment"), "ns", "a").asked`:                               `"apps/v1 deployments ns/a"`,
	`resource.Get("v1", "configmaps", "ns", "none")`:                                                       `null`,
	`dyn(resource.Get("v1", "configmaps", "ns", "none")) == null`:                                          `true`,
	`resource.Get("v1", "configmaps", "ns", "none") == null`:                                               `compile: ERROR: <input>:1:48: found no matching overload for '_==_' applied to '(map(string, any), null)'`,
	`has(resource.Get("v1", "configmaps", "ns", "none").data)`:                                             `false`,
	`resource.Get("v1", "configmaps", "ns", "none").?data`:                                                 `none`,
	`resource.Get("v1", "configmaps", "ns", "none").data`:                                                  `error: no such key: data`,
	`resource.Get("v1", "secrets", "ns", "secret")`:                                                        `error: failed to get resource: nobody knows`,
	`resource.Get("v1", "configmaps", "a")`:                                                                `compile: ERROR: <input>:1:13: found no matching overload for 'Get' applied to 'resource.Context.(string, string, string)'`,
	`resource.List("v1", "pods", "").items[0]`:                                                             `"v1 pods  map[]"`,
	`resource.list("v1", "pods", "ns", {"a": "b"}).items[0]`:                                               `"v1 pods ns map[a:b]"`,
	`resource.list(resource.ToGVR("v1", "Pod"), "ns", {"a": "b"}).items`:                                   `["v1 pods ns map[a:b]"]`,
	`resource.List(resource.ToGVR("v1", "Pod"), "ns").items.size()`:                                        `1`,
	`resource.Post("authorization.k8s.io/v1", "subjectaccessreviews", {"spec": {"user": "x"}})`:            `error: failed to create resource: nobody knows`,
	`resource.post("authorization.k8s.io/v1", "localsubjectaccessreviews", "ns", {"spec": {"user": "x"}})`: `error: failed to create resource: nobody knows`,
	`resource.ToGVR("v1", "Pod") == resource.toGVR("v1", "Pod")`:                                           `true`,
	`resource.ToGVR("v1", "Pod") == resource.toGVR("v1", "Node")`:                                          `false`,
	`resource.Get(resource.ToGVR("v1", "Pod"), "ns", "a").asked`:                                           `"v1 pods ns/a"`,
	`resource.List("v1", "pods", "ns", {"a": "b"}).items`:                                                  `["v1 pods ns map[a:b]"]`,
	`resource.List(resource.ToGVR("v1", "Pod"), "ns", {"a": "b"}).items`:                                   `["v1 pods ns map[a:b]"]`,
	`resource.list("v1", "pods", "ns").items`:                                                              `["v1 pods ns map[]"]`,
	`resource.list(resource.ToGVR("v1", "Pod"), "").items`:                                                 `["v1 pods  map[]"]`,
	`resource.Post("v1", "pods", "ns", {"a": 1})`:                                                          `error: failed to create resource: nobody knows`,
	`resource.post("v1", "pods", {"a": 1})`:                                                                `error: failed to create resource: nobody knows`,
	// globalContext
	`globalContext.Get("apps", "p")`:    `["apps/p"]`,
	`globalContext.Get("apps")`:         `["apps/"]`,
	`globalContext.get("apps", "p")`:    `["apps/p"]`,
	`globalContext.get("none")`:         `null`,
	`globalContext.get("none") == null`: `true`,
	// http
	`http.Get("https://x").said`:                       `"GET https://x"`,
	`http.get("https://x", {"a": "b"}).statusCode + 1`: `201`,
	`http.Post("https://x", {"a": 1}).said`:            `"POST https://x"`,
	`http.post("https://x", "body", {"a": "b"}).said`:  `"POST https://x"`,
	`http.Client("pem").Get("https://x").said`:         `"GET https://x"`,
	`http.client("pem").post("https://x", [1]).said`:   `"POST https://x"`,
	`http.Get("list")`:                                 `{"body": [1.0], "statusCode": 404}`,
	`http.Get("dead")`:                                 `error: request failed: nobody knows`,
	`http.Get(1)`:                                      `compile: ERROR: <input>:1:9: found no matching overload for 'Get' applied to 'http.Context.(int)'`,
	`http.Get("https://x", {"a": "b"}).said`:           `"GET https://x"`,
	`http.get("https://x").said`:                       `"GET https://x"`,
	`http.Post("https://x", "body", {"a": "b"}).said`:  `"POST https://x"`,
	// image data
	`image.GetMetadata("nginx").config.architecture`: `"arm64"`,
	`image.getMetadata("nginx").image`:               `"nginx"`,
	// references
	`image("nginx:1.2").registry()`:                                   `"index.docker.io"`,
	`image("nginx:1.2").repository()`:                                 `"library/nginx"`,
	`image("nginx:1.2").identifier()`:                                 `"1.2"`,
	`parseImageReference("ghcr.io/a/b:v1").registry()`:                `"ghcr.io"`,
	`parseImageReference("ghcr.io/a/b").tag()`:                        `"latest"`,
	`parseImageReference("localhost:5000/bc").registry()`:             `"localhost:5000"`,
	`parseImageReference("localhost:5000/bb").repository()`:           `"bb"`,
	`parseImageReference("docker.io/a/b").registry()`:                 `"index.docker.io"`,
	`parseImageReference("index.docker.io/bb").repository()`:          `"library/bb"`,
	`parseImageReference("a/b@sha256:` + hash + `").digest()`:         `"sha256:` + hash + `"`,
	`parseImageReference("a/b:1@sha256:` + hash + `").tag()`:          `""`,
	`parseImageReference("a/b@sha256:` + hash + `").identifier()`:     `"sha256:` + hash + `"`,
	`parseImageReference("a/b@sha256:` + hash + `").containsDigest()`: `true`,
	`parseImageReference("a/b:1").containsDigest()`:                   `false`,
	`image("nginx") == image("nginx")`:                                `true`,
	`image("Bad Name")`:                                               `error: could not parse reference: Bad Name`,
	`[isImage("nginx"), isImage("a"), isImage("A/b"), isImage("nginx:"), isImage("x@sha256:12"), isImage("a.b:99999999/cc"), isImage("ho st/cc")]`: `[true, false, false, false, false, true, false]`,
	// users
	`user.parseServiceAccount("system:serviceaccount:ns:sa").Name`: `"sa"`,
	`parseServiceAccount("system:serviceaccount:ns:sa").Namespace`: `"ns"`,
	`parseServiceAccount("jane").Name`:                             `""`,
	`has(parseServiceAccount("jane").Name)`:                        `false`,
	`parseServiceAccount("jane").name`:                             `compile: ERROR: <input>:1:28: undefined field 'name'`,
	`parseServiceAccount("a") == user.ServiceAccount{}`:            `true`,
	// random values
	`random()`: `"<[0-9a-z]{8}>"`,
	`random("[a-z]{2}") + random.random("x")`:        `"<[a-z]{2}><x>"`,
	`random.random()`:                                `"<[0-9a-z]{8}>"`,
	`time.now()`:                                     `timestamp("2024-01-02T03:04:05Z")`,
	`time.toCron(timestamp("2024-01-02T03:04:05Z"))`: `"4 3 2 1 2"`,
	`time.truncate(time.now(), duration("1h"))`:      `timestamp("2024-01-02T03:00:00Z")`,
	// hashes
	`md5("a") == hash.md5("a") && sha1("a") == hash.sha1("a") && sha256("a") == hash.sha256("a")`: `true`,
	`md5("abc")`:    `"900150983cd24fb0d6963f7d28e17f72"`,
	`sha1("abc")`:   `"a9993e364706816aba3e25717850c26c9cd0d89d"`,
	`sha256("abc")`: `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`,
	// numbers
	`math.round(3.14159, 2)`: `3.14`,
	`math.round(2.5)`:        `3.0`,
	`math.greatest(1, 2)`:    `2`,
	`[math.least(1, 2), math.abs(-1), math.sign(-3), math.bitAnd(6, 3), math.bitOr(6, 3), math.bitXor(6, 3), math.bitNot(0), math.bitShiftLeft(1, 3), math.bitShiftRight(8, 3)]`: `[1, 1, -1, 2, 7, 5, -1, 8, 1]`,
	`[math.ceil(1.2), math.floor(1.8), math.trunc(-1.8), math.sqrt(9)]`: `[2.0, 1.0, -1.0, 3.0]`,
	`[math.isNaN(1.0), math.isInf(1.0/0.0), math.isFinite(1.0)]`:        `[false, true, true]`,
	// JSON and YAML
	`json.unmarshal("{\"a\": [1, \"x\"]}").a[0] == 1`:                               `true`,
	`json.unmarshal("{\"a\": 1}").a + 1`:                                            `error: no such overload`,
	`json.unmarshal("{")`:                                                           `error: unexpected end of JSON input`,
	`json.marshal({"b": [1, {"c": true}], "a": dyn("<")})`:                          `compile: ERROR: <input>:1:24: expected type 'int' but found 'map(string, bool)'`,
	`json.marshal({"b": dyn([1, 2]), "a": dyn("<"), "c": dyn({"d": {"e": null}})})`: `"{\"a\":\"\\u003c\",\"b\":[1,2],\"c\":{\"d\":{\"e\":null}}}"`,
	`json.marshal(object.spec.replicas)`:                                            `"3"`,
	`yaml.parse("a: 1\nb: [x]").a == 1`:                                             `true`,
	`yaml.parse("a: 1").a + 1.0`:                                                    `2.0`,
	`yaml.parse("a: [")`:                                                            `error: `,
	`gzip.decompress(gzip.compress("hello"))`:                                       `"hello"`,
	`gzip.decompress(b"x")`:                                                         `error: unexpected EOF`,
	// lists
	`listObjToMap([{"k": "a"}, {"k": "b"}], [{"v": 1}, {"v": 2}], "k", "v")`: `{"a": 1, "b": 2}`,
	`transform.listObjToMap([{"k": "a"}], [{"w": 1}], "k", "v")`:             `{"a": null}`,
	`listObjToMap([{"k": "a"}], [], "k", "v")`:                               `error: listObjToMap must take lists of equal length. list1: 1, list2: 0`,
	`listObjToMap([{"k": 1}], [{"v": 1}], "k", "v")`:                         `error: the passed key name cannot be handled as a string in the key object list`,
	// CEL
	`cel.bind(x, 1, x + x)`:                                         `2`,
	`base64.encode(base64.decode("aGk="))`:                          `"aGk="`,
	`regex.replace("docker.io/a", "^docker\\.io/(.*)", r'r.io/\1')`: `"r.io/a"`,
	`regex.extract("a1", "[0-9]")`:                                  `optional.of("1")`,
	`regex.extractAll("a1b2", "[0-9]")`:                             `["1", "2"]`,
	`strings.quote("a")`:                                            `"\"a\""`,
	`jsonpatch.escapeKey("a/b~c")`:                                  `"a~1b~0c"`,
	`quantity("1Gi").isGreaterThan(quantity("1Mi"))`:                `true`,
	`semver("1.2.3").major()`:                                       `1`,
	`ip("1.2.3.4").family()`:                                        `4`,
	`[1, 2].transformList(i, v, v * 2)`:                             `[2, 4]`,
	`"%s".format(["x"])`:                                            `"x"`,
	// orValue
	`object.metadata.labels.orValue({})`:                    `{"app": "web"}`,
	`object.?metadata.?name.orValue(string(1/0))`:           `error: division by zero`,
	`[1, 2].map(x, optional.of(x).orValue(x/0))`:            `error: division by zero`,
	`object.?nope.orValue(string(1/0))`:                     `error: division by zero`,
	`object.?nope.orValue("x")`:                             `"x"`,
	`object.spec.nope.orValue("x")`:                         `error: no such key: nope`,
	`{"a": optional.of("x").orValue("y"), "b": "lit"}`:      `compile: ERROR: <input>:1:43: expected type 'dyn' but found 'string'`,
	`{"a": optional.of("x").orValue("y"), "b": dyn("lit")}`: `{"a": "x", "b": "lit"}`,
	// variables
	`exceptions.allowedImages`:    `["nginx"]`,
	`exceptions.allowedValues`:    `[]`,
	`exceptions.other`:            `compile: ERROR: <input>:1:11: undefined field 'other'`,
	`request.object`:              `error: no such key: object`,
	`request.operation`:           `"CREATE"`,
	`request.nope`:                `compile: ERROR: <input>:1:8: undefined field 'nope'`,
	`params`:                      `compile: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')`,
	`authorizer`:                  `compile: ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')`,
	`{"a": object.x, "b": "lit"}`: `compile: ERROR: <input>:1:22: expected type 'dyn' but found 'string'`,
}

func TestKyvernoFunctions(t *testing.T) {
	env := Kyverno(false)
	for expression, want := range kyvernoFunctions {
		got := evaluation(t, env, &village{}, expression)
		got, _, _ = strings.Cut(got, "\n")
		if got != want && !(want == "error: " && strings.HasPrefix(got, want)) {
			t.Errorf("%s\n got %s\nwant %s", expression, got, want)
		}
	}
}

const hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

// namespacedFunctions have the signatures of resource in namespaced policies.
var namespacedFunctions = map[string]string{
	`resource.Get("v1", "configmaps", "a").asked`:                  `"v1 configmaps /a"`,
	`resource.get(resource.toGVR("v1", "Pod"), "a").asked`:         `"v1 pods /a"`,
	`resource.Get("v1", "configmaps", "ns", "a")`:                  `compile: ERROR: <input>:1:13: found no matching overload for 'Get' applied to 'resource.Context.(string, string, string, string)'`,
	`resource.List("v1", "pods").items`:                            `["v1 pods  map[]"]`,
	`resource.list("v1", "pods", {"a": "b"}).items`:                `["v1 pods  map[a:b]"]`,
	`resource.list(resource.toGVR("v1", "Pod")).items`:             `["v1 pods  map[]"]`,
	`resource.list(resource.toGVR("v1", "Pod"), {"a": "b"}).items`: `["v1 pods  map[a:b]"]`,
	`resource.Post("v1", "pods", {"a": 1})`:                        `error: failed to create resource: nobody knows`,
	`resource.post("v1", "pods", {"a": 1})`:                        `error: failed to create resource: nobody knows`,
	`resource.Get(resource.toGVR("v1", "Pod"), "a").asked`:         `"v1 pods /a"`,
	`resource.get("v1", "pods", "a").asked`:                        `"v1 pods /a"`,
	`resource.List(resource.toGVR("v1", "Pod")).items`:             `["v1 pods  map[]"]`,
	`resource.List(resource.toGVR("v1", "Pod"), {"a": "b"}).items`: `["v1 pods  map[a:b]"]`,
	`resource.List("v1", "pods", {"a": "b"}).items`:                `["v1 pods  map[a:b]"]`,
	`resource.list("v1", "pods").items`:                            `["v1 pods  map[]"]`,
}

func TestKyvernoNamespaced(t *testing.T) {
	env := Kyverno(true)
	for expression, want := range namespacedFunctions {
		if got, _, _ := strings.Cut(evaluation(t, env, &village{}, expression), "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", expression, got, want)
		}
	}
}

// TestKyvernoFunctionsAreTested checks that the tables above call every function that Kyverno
// has and Kubernetes lacks, with every signature; for cel-go's own functions, only the names are
// checked.
func TestKyvernoFunctionsAreTested(t *testing.T) {
	native, err := New(kyvernoMinor + 1).functions()
	if err != nil {
		t.Fatal(err)
	}
	general, err := native.Extend(ext.Bindings(), ext.Encoders(), ext.Math(), ext.Protos(), ext.Regex(ext.RegexVersion(1)))
	if err != nil {
		t.Fatal(err)
	}
	known := func(env *cel.Env, name, id string) bool {
		function, ok := env.Functions()[name]
		return ok && slices.ContainsFunc(function.OverloadDecls(), func(o *decls.OverloadDecl) bool { return o.ID() == id })
	}
	called := map[string]bool{}
	for _, c := range []struct {
		env         *Env
		expressions map[string]string
	}{{Kyverno(false), kyvernoFunctions}, {Kyverno(true), namespacedFunctions}} {
		compiler, err := c.env.borrow(dialect{variables: true, patches: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, expression := range append(slices.Sorted(maps.Keys(c.expressions)), "x509.decode('x')") {
			checked, issues, err := compiler.compile(expression)
			if err != nil || issues.Err() != nil {
				continue // on purpose: the tables show its error
			}
			for _, reference := range checked.ReferenceMap() {
				for _, id := range reference.OverloadIDs {
					called[id] = true
				}
			}
		}
	}
	for _, e := range []*Env{Kyverno(false), Kyverno(true)} {
		env, err := e.base()
		if err != nil {
			t.Fatal(err)
		}
		for name, function := range env.Functions() {
			if name == "cel.@block" { // expressions cannot call it
				continue
			}
			overloads := slices.DeleteFunc(slices.Clone(function.OverloadDecls()), func(o *decls.OverloadDecl) bool { return known(native, name, o.ID()) })
			isCalled := func(o *decls.OverloadDecl) bool { return called[o.ID()] }
			for _, o := range overloads {
				if !isCalled(o) && (!known(general, name, o.ID()) || !slices.ContainsFunc(overloads, isCalled)) {
					t.Errorf("no test calls %s%v (%s)", name, o.ArgTypes(), o.ID())
				}
			}
		}
	}
}

// TestKyvernoScope checks what the expressions of one policy share: variables keep their types
// and, once read, their values.
func TestKyvernoScope(t *testing.T) {
	scope := Kyverno(false).Scope(false)
	for _, v := range [][2]string{
		{"o", `Object{metadata: Object.metadata{labels: {"n": string(object.spec.replicas)}}}`},
		{"ops", `[JSONPatch{op: "add", path: "/spec/x", value: object.spec.replicas}]`},
		{"late", `object.spec.replicas`},
		{"maybe", `object.?spec`},
	} {
		if err := scope.Variable(v[0], v[1]); err != nil {
			t.Fatal(err)
		}
	}
	apply, err := scope.ApplyConfiguration("variables.o")
	if err != nil {
		t.Fatal(err)
	}
	patch, err := scope.JSONPatch("variables.ops")
	if err != nil {
		t.Fatal(err)
	}
	condition, err := scope.Condition("variables.late == 4 && variables.maybe.hasValue()")
	if err != nil {
		t.Fatal(err)
	}
	a := scope.Activate(t.Context(), input())
	object, err := a.ApplyConfiguration(apply)
	if err != nil || fmt.Sprint(object) != "map[metadata:map[labels:map[n:3]]]" {
		t.Errorf("%v, %v", object, err)
	}
	a.SetObject(map[string]any{"spec": map[string]any{"replicas": int64(4)}})
	if object, err = a.ApplyConfiguration(apply); err != nil || fmt.Sprint(object) != "map[metadata:map[labels:map[n:3]]]" {
		t.Errorf("the variable was read before: %v, %v", object, err)
	}
	if ops, err := a.JSONPatch(patch); err != nil || len(ops) != 1 || ops[0].Value != int64(4) {
		t.Errorf("the variable was not read before: %v, %v", ops, err)
	}
	if ok, err := a.Bool(condition, nil); err != nil || !ok {
		t.Errorf("%v, %v", ok, err)
	}
	for expression, want := range map[string]string{
		"object":           "output is expected to be of type bool",
		"'x'":              "output is expected to be of type bool",
		"variables.nope":   "ERROR: <input>:1:10: undefined field 'nope'",
		"variables.o == x": "ERROR: <input>:1:16: undeclared reference to 'x'",
	} {
		if _, err := scope.Condition(expression); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", expression, err)
		}
	}
	if _, err := scope.JSONPatch("[]"); err == nil || err.Error() != "output is expected to be of type list" {
		t.Errorf("%v", err)
	}
	if _, err := scope.ApplyConfiguration("object"); err == nil || err.Error() != "output is expected to be of type Object" {
		t.Errorf("%v", err)
	}
}

// TestAnnotation evaluates audit annotations.
func TestAnnotation(t *testing.T) {
	scope := Kyverno(false).Scope(false)
	for expression, want := range map[string]string{
		`"a" + object.metadata.name`: "aweb", `null`: "null", `true ? null : null`: "null",
		`string(object.nope)`: "no such key: nope", `1`: "output is expected to be either of type string or null_type",
	} {
		got := ""
		program, err := scope.Annotation(expression)
		if err == nil {
			var isNull bool
			if got, isNull, err = scope.Activate(t.Context(), input()).Text(program, nil); isNull {
				got = "null"
			}
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}

// TestTargets evaluates expressions for targets.
func TestTargets(t *testing.T) {
	scope := Kyverno(false).Scope(false)
	for expression, want := range map[string]string{
		`resource.get("v1", "pods", "ns", "none")`: "map[]",
		`resource.List("v1", "pods", "ns")`:        "map[items:[v1 pods ns map[]]]",
		`object`:                                   "output type must be a map",
		`{"a": 1}`:                                 "output type must be a map",
	} {
		program, err := scope.Targets(expression)
		if err != nil {
			if err.Error() != want {
				t.Errorf("%s: %v", expression, err)
			}
			continue
		}
		in := input()
		in.World = &village{}
		found, err := scope.Activate(t.Context(), in).Targets(program)
		if err != nil || fmt.Sprint(found) != want {
			t.Errorf("%s: %v, %v", expression, found, err)
		}
	}
}

// TestBoundedRegex compares replace with the function of cel-go that it replaces.
func TestBoundedRegex(t *testing.T) {
	theirs, err := cel.NewEnv(cel.OptionalTypes(), ext.Regex(ext.RegexVersion(1)))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := theirs.Extend(boundedRegex()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, expression := range []string{
		`regex.replace('banana', 'a', 'x')`, `regex.replace('banana', 'a', 'x', 0)`, `regex.replace('banana', 'a', 'x', 2)`,
		`regex.replace('banana', 'a', 'x', -12)`, `regex.replace('foo bar', '(fo)o (ba)r', r'\2 \1')`, `regex.replace('test', '(.)', r'\2')`,
		`regex.replace('foo bar', '(', '$2 $1')`, `regex.replace('id=1', r'id=(?P<v>\d+)', r'value: \values')`, `regex.replace('ä', '', '-')`,
		`regex.replace('a', 'a', r'\\')`, `regex.replace('a', 'a', '\\')`, `regex.replace('ab', '(x)?a', r'[\1]')`, `regex.replace('a', 'a', 'b', 99999999999)`,
		`regex.replace('', 'a', 'b')`, `regex.replace('abc', 'b', 'ß\\0')`,
	} {
		if want, got := evaluated(t, theirs, expression), evaluated(t, ours, expression); want != got {
			t.Errorf("%s: %s, cel-go says %s", expression, got, want)
		}
	}
}

// TestX509 decodes certificates and requests.
func TestX509(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(42), Subject: pkix.Name{CommonName: "me"}, DNSNames: []string{"example.com"}, IPAddresses: []net.IP{net.IPv4(1, 2, 3, 4)},
		NotBefore: time.Unix(0, 0).UTC(), NotAfter: time.Unix(1e9, 0).UTC(),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.CreateCertificate(rand.Reader, template, template, &curve.PublicKey, curve)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "me"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, data []byte) string {
		return fmt.Sprintf("%q", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	c, r := text("CERTIFICATE", certificate), text("CERTIFICATE REQUEST", request)
	for expression, want := range map[string]string{
		"x509.decode(" + c + ").SerialNumber == 42":             "true",
		"x509.decode(" + c + ").Issuer.CommonName":              `"me"`,
		"x509.decode(" + c + ").DNSNames":                       `["example.com"]`,
		"x509.decode(" + c + ").IPAddresses":                    `["1.2.3.4"]`,
		"x509.decode(" + c + ").NotAfter":                       `"2001-09-09T01:46:40Z"`,
		"x509.decode(" + c + ").PublicKey.E == 65537":           "true",
		"x509.decode(" + c + ").PublicKey.N":                    fmt.Sprintf("%q", key.N.String()),
		"has(x509.decode(" + c + ").Subject)":                   "false",
		"x509.decode(" + r + ").Subject.CommonName":             `"me"`,
		"x509.decode(" + r + ").PublicKey.E == 65537":           "true",
		"x509.decode(" + text("CERTIFICATE", other) + ")":       "error: certificate should use rsa algorithm",
		"x509.decode(" + text("CERTIFICATE", []byte("x")) + ")": "error: x509: malformed certificate",
		"x509.decode(" + text("KEY", certificate) + ")":         "error: PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST",
		"x509.decode('x')":                                      "error: failed to decode PEM block",
	} {
		if got := evaluation(t, Kyverno(false), nil, expression); got != want {
			t.Errorf("%.60s: %s, want %s", expression, got, want)
		}
	}
}
