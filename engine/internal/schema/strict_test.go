package schema

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

func TestStrictDecode(t *testing.T) {
	const in = "json: cannot unmarshal "
	for _, c := range []struct{ kind, object, want string }{
		{"Deployment", deployment, ""},
		{"Deployment", `{"spec":{"replicas":null,"selector":null,"template":{"spec":{"containers":null}}}}`, ""},
		{"Deployment", `{"spec":{"replicas":3.0}}`, ""},
		{"Deployment", `{"spec":{"template":{"spec":{"containers":[{"ports":[{"containerPort":1}],"resources":{"limits":{"cpu":2,"memory":"1Gi","x":0.5,"y":"1e3"}}}]}}}}`, ""},
		{"Deployment", `{"spec":{"nope":1}}`, `strict decoding error: unknown field "spec.nope"`},
		{"Deployment", `{"a":1,"apiVersion":"apps/v1"}`, `strict decoding error: unknown field "a"`},
		{
			"Deployment", `{"spec":{"x":1,"template":{"spec":{"containers":[{},{"y z":{"w":1}}]}}}}`,
			`strict decoding error: unknown field "spec.template.spec.containers[1].y z", unknown field "spec.x"`,
		},
		{"Deployment", `{"spec":{"replicas":"three","nope":1}}`, in + "string into Go struct field DeploymentSpec.spec.replicas of type int32"},
		{"Deployment", `{"spec":{"replicas":3.5}}`, in + "number 3.5 into Go struct field DeploymentSpec.spec.replicas of type int32"},
		{"Deployment", `{"spec":{"replicas":9999999999}}`, in + "number 9999999999 into Go struct field DeploymentSpec.spec.replicas of type int32"},
		{"Deployment", `{"spec":{"template":{"spec":{"activeDeadlineSeconds":"9007199254740993"}}}}`, in + "string into Go struct field PodSpec.spec.template.spec.activeDeadlineSeconds of type int64"},
		{"Deployment", `{"metadata":{"labels":{"a":1}}}`, in + "number into Go struct field ObjectMeta.metadata.labels of type string"},
		{"Deployment", `{"metadata":{"labels":["a"]}}`, in + "array into Go struct field ObjectMeta.metadata.labels of type map[string]string"},
		{"Deployment", `{"metadata":{"creationTimestamp":3}}`, in + "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"},
		{"Deployment", `{"metadata":{"creationTimestamp":"today"}}`, `parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"`},
		{"Deployment", `{"spec":"x"}`, in + "string into Go struct field Deployment.spec of type v1.DeploymentSpec"},
		{"Deployment", `{"spec":{"paused":"true"}}`, in + "string into Go struct field DeploymentSpec.spec.paused of type bool"},
		{"Deployment", `{"spec":{"template":{"spec":{"containers":{}}}}}`, in + "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container"},
		{"Deployment", `{"spec":{"template":{"spec":{"containers":["x"]}}}}`, in + "string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container"},
		{"Deployment", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":true}},"replicas":"x"}}`, in + "bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32"},
		{
			"Deployment", `{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}}}}`,
			"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
		},
		{"Deployment", `{"apiVersion":3}`, "couldn't get version/kind; json parse error: " + in + "number into Go struct field .apiVersion of type string"},
		{"Secret", `{"data":{"a":"AAAA"},"stringData":{"b":"c"}}`, ""},
		{"Secret", `{"data":{"a":"?"}}`, "illegal base64 data at input byte 0"},
		{"Secret", `{"data":{"a":1}}`, in + "number into Go struct field Secret.data of type []uint8"},
	} {
		kind := Builtin().Lookup(gvk.Parse("apps/v1", c.kind))
		if kind == nil {
			kind = Builtin().Lookup(gvk.Parse("v1", c.kind))
		}
		err := kind.StrictDecode(nil, parse(t, c.object))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.object, got, c.want)
		}
	}
}

// TestServerDecode compares with what kube-apiserver 1.36.3 said when a JSONPatch added a value to an
// object. A line of testdata/decode.txt is a kind, a path and a value; the next line is the error.
func TestServerDecode(t *testing.T) {
	text, err := os.ReadFile("testdata/decode.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]*Kind{}
	for _, k := range Builtin().Kinds() {
		if !strings.Contains(k.Version, "alpha") && !strings.Contains(k.Version, "beta") && k.Group != "extensions" {
			kinds[k.Kind.Kind] = k
		}
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := 0; i < len(lines); i += 2 {
		words := strings.SplitN(lines[i], " ", 3)
		object := words[2]
		for _, name := range slices.Backward(strings.Split(words[1], "/")[1:]) {
			if _, err := strconv.Atoi(name); err == nil {
				object = "[" + object + "]"
			} else {
				object = "{" + strconv.Quote(name) + ": " + object + "}"
			}
		}
		got := "ok"
		if err := kinds[words[0]].StrictDecode(nil, parse(t, object)); err != nil {
			got = err.Error()
		}
		if want := strings.TrimSpace(lines[i+1]); got != want {
			t.Errorf("%s: got %s, want %s", lines[i], got, want)
		}
	}
	if len(lines) < 240 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestStrictDecodeCustom(t *testing.T) {
	nonsense := parse(t, `{"spec":{"size":"x","nope":1}}`)
	if err := withGadget(t).Lookup(gvk.Parse("example.com/v1", "Gadget")).StrictDecode(nil, nonsense); err != nil {
		t.Error(err)
	}
	if err := Builtin().Unknown(gvk.Parse("example.com/v1", "Gadget")).StrictDecode(nil, nonsense); err != nil {
		t.Error(err)
	}
}

// TestCheck checks that the paths are exact even where the texts name no path.
func TestCheck(t *testing.T) {
	object := parse(t, `{"metadata":{"labels":{"a/b":1}},"spec":{"x":1,"matchConstraints":{"resourceRules":[{"y":1}]}}}`)
	got := Builtin().Lookup(gvk.Parse("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy")).Type().Check(object)
	want := []Problem{
		{Path: change.Keys("metadata", "labels", "a/b"), Text: "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"},
		{Path: change.Keys("spec", "matchConstraints", "resourceRules").Index(0).Key("y"), Text: `unknown field "spec.matchConstraints.resourceRules[0].y"`},
		{Path: change.Keys("spec", "x"), Text: `unknown field "spec.x"`},
	}
	if !slices.EqualFunc(got, want, func(a, b Problem) bool { return slices.Equal(a.Path, b.Path) && a.Text == b.Text }) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	var missing *Type
	if got := missing.Check(object); got != nil {
		t.Errorf("without a type: %v", got)
	}
}

func TestDecodeErrorFields(t *testing.T) {
	err := Builtin().Lookup(gvk.Parse("v1", "Pod")).StrictDecode(nil, parse(t, `{"x":1,"y":2}`))
	var refused *DecodeError
	if !errors.As(err, &refused) || len(refused.Fields) != 2 || refused.Fields[1].Path.String() != "y" {
		t.Errorf("%#v", err)
	}
}

func TestQuantityProblem(t *testing.T) {
	const suffix = "unable to parse quantity's suffix"
	format := quantityProblem("x y")
	for v, want := range map[any]string{
		"1": "", "1.5": "", "+1": "", "-.5Gi": "", "1e3": "", "1E-3": "", "1e+3": "", "100m": "", " 2 ": "", "1.": "", int64(3): "", 0.25: "",
		"": format, "abc": format, "1 2": format, "1,5": format, true: format,
		"1kk": suffix, "1e": suffix, "1gi": format, "1Kim": suffix, "1K": suffix, "1m3": suffix,
	} {
		if got := quantityProblem(v); got != want {
			t.Errorf("%v: got %q want %q", v, got, want)
		}
	}
}
