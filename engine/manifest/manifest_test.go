package manifest_test

import (
	"math"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

const deployment = `# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # inline
  namespace: shop
spec:
  replicas: 2
  template:
    spec:
      containers:
      # the main container
      - name: web
        image: nginx:1.25
`

func read(t *testing.T, text string) *manifest.Stream {
	t.Helper()
	s, found := manifest.Read("in.yaml", []byte(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return s
}

func TestReadAndSet(t *testing.T) {
	s := read(t, deployment)
	d := s.Documents()[0]
	if d.Kind() != (gvk.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}) || d.Name() != "web" || d.Namespace() != "shop" {
		t.Errorf("read %s %s/%s", d.Kind(), d.Namespace(), d.Name())
	}
	if s.Name() != "in.yaml" || d.Stream() != s || s.ResourceList() != nil {
		t.Errorf("the document is not of its stream")
	}
	image := change.Keys("spec", "template", "spec", "containers").Index(0).Key("image")
	if at := d.At(image).String(); at != "in.yaml:14:16" {
		t.Errorf("the image stands at %s", at)
	}
	object := d.Object()
	if err := change.Apply(object, []change.Change{{Op: change.Replace, Path: image, New: "nginx:1.27"}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Set(object, nil); err != nil || !d.Changed() {
		t.Fatalf("not set: %v", err)
	}
	if got, want := string(s.Bytes()), strings.Replace(deployment, "1.25", "1.27", 1); got != want {
		t.Errorf("got:\n%s", got)
	}
	if err := d.Set(d.Object(), nil); err != nil || d.Changed() || string(s.Bytes()) != deployment {
		t.Errorf("setting what was read does not undo the edit: %v", err)
	}
}

func TestKindOfItems(t *testing.T) {
	for text, want := range map[string]gvk.Kind{
		"apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}]": {Version: "v1", Kind: "ConfigMap"},
		"apiVersion: v1\nkind: List\nitems: [{kind: A, apiVersion: g/v2}]":    {Group: "g", Version: "v2", Kind: "A"},
		"kind: 1\napiVersion: [v1]\nmetadata: x":                              {},
		"{\"kind\": \"\\u0041\", \"apiVersion\": 'v1'}":                       {Version: "v1", Kind: "A"},
	} {
		if got := read(t, text).Documents()[0].Kind(); got != want {
			t.Errorf("%q is of kind %q, not %q", text, got, want)
		}
	}
}

func TestFunctionConfig(t *testing.T) {
	const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\nfunctionConfig:\n  kind: Preadmit\n  # of spec\n  spec: 1 # one\n"
	s := read(t, "---\n"+list)
	config := s.ResourceList().FunctionConfig()
	if len(s.Documents()) != 1 || config.Kind().Kind != "Preadmit" || config.At(change.Keys("spec")).String() != "in.yaml:9:9" {
		t.Errorf("read %v, %s", s.Documents(), config.At(change.Keys("spec")))
	}
	if err := config.Set(map[string]any{"kind": "Preadmit", "spec": int64(2), "x": []any{}}, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.Bytes()), "---\n"+strings.Replace(list, "1 # one\n", "2 # one\n  x: []\n", 1); got != want {
		t.Errorf("got:\n%s", got)
	}
	if s := read(t, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"); s.ResourceList().FunctionConfig() != nil {
		t.Error("a configuration from nowhere")
	}
	if s := read(t, list+"---\nkind: B\n"); s.ResourceList() != nil || len(s.Documents()) != 2 {
		t.Error("a ResourceList among other documents is one of them")
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{nil, ""},
		{[]string{"a: 1"}, "a: 1"},
		{[]string{"a: 1\n", "b: 2\n"}, "a: 1\n---\nb: 2\n"},
		{[]string{"a: 1", "b: 2", "c: 3"}, "a: 1\n---\nb: 2\n---\nc: 3"},
		{[]string{"a: 1\n", "---\nb: 2\n"}, "a: 1\n---\nb: 2\n"},
		{[]string{"a: 1\n---\n", "--- # b\nb: 2\n"}, "a: 1\n---\n--- # b\nb: 2\n"},
		{[]string{"", "a: 1\n", "", "b: 2\n"}, "a: 1\n---\nb: 2\n"},
		{[]string{"a: 1\r\n", "b: 2\r\n"}, "a: 1\r\n---\r\nb: 2\r\n"},
		{[]string{"\ufeffa: 1\n", "\ufeffb: 2\n"}, "\ufeffa: 1\n---\nb: 2\n"},
		{[]string{"{\"a\":1}", "{\"b\":2}\n"}, "{\"a\":1}\n---\n{\"b\":2}\n"},
		{[]string{"a: |\n  x", "b: >+\n  y", "c: |-\n  z", "d: |\n  w"}, "a: |-\n  x\n---\nb: >-\n  y\n---\nc: |-\n  z\n---\nd: |\n  w"},
		{[]string{"a: |\n  x\n  ", "b: |+\n  y\n  ", "c: 1"}, "a: |\n  x\n  \n---\nb: |+\n  y\n---\nc: 1"},
		{[]string{"---\na: &a\n  - |\r\n   x", "a: 1"}, "---\na: &a\n  - |-\r\n   x\n---\na: 1"},
		{[]string{"? k\n: &a !t\n  |2+ # c\n    x", "a: 1"}, "? k\n: &a !t\n  |2- # c\n    x\n---\na: 1"},
		{[]string{"--- # |\na: |\n  | |\n  x", "a: 1"}, "--- # |\na: |-\n  | |\n  x\n---\na: 1"},
		{[]string{"a: 1\n...\n", "# c\n", "b: 2\n"}, "a: 1\n...\n---\n# c\n---\nb: 2\n"},
	} {
		var streams []*manifest.Stream
		count := 0
		for _, part := range c.parts {
			s := read(t, part)
			streams = append(streams, s)
			count += len(s.Documents())
		}
		got := string(manifest.Join(streams))
		if got != c.want {
			t.Errorf("%q joined are %q, not %q", c.parts, got, c.want)
		}
		if again := read(t, got).Documents(); len(again) != count {
			t.Errorf("%q has %d documents, not %d", got, len(again), count)
		}
	}
}

// TestDiagnosticsKeepSecrets checks that a diagnostic has positions and keys, but never values.
func TestDiagnosticsKeepSecrets(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, text := range []string{
		"kind: Secret\ndata: {a: SECRET, a: SECRET}\n",
		"kind: Secret\ndata:\n  a: \"SECRET\n",
		"kind: Secret\ndata:\n  a: SECRET: SECRET\n",
		"kind: Secret\ndata:\n  a: !!int SECRET\n",
		"kind: Secret\ndata:\n  a: !!binary SECRET\n",
		"kind: Secret\ndata:\n  a: *SECRET\n",
		"kind: Secret\ndata:\n  - SECRET\n  a: SECRET\n",
		"kind: Secret\ndata:\n\ta: SECRET\n",
		"kind: Secret\ndata:\n  ? [SECRET]\n  : SECRET\n",
		"SECRET: 1\nSECRET: 2\n",
		"SECRET\n",
		"{\"kind\": \"Secret\", \"data\": {\"a\": \"SECRET\", \"a\": \"SECRET\" SECRET\n",
		"kind: Secret\n--- SECRET\n",
		"kind: Secret\n...\nSECRET\n",
		"%SECRET\n",
		"kind: Secret\n<<: SECRET\n",
		"kind: List\napiVersion: v1\nitems: SECRET\n",
	} {
		_, found := manifest.Read("in.yaml", []byte(strings.ReplaceAll(text, "SECRET", secret)))
		if !source.HasErrors(found) {
			t.Errorf("%q is not refused", text)
		}
		for _, d := range found {
			if strings.Contains(d.String(), secret) {
				t.Errorf("%q: %s", text, d)
			}
		}
	}
}

func TestTooDeep(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 300) + strings.Repeat("]", 300),
		strings.Repeat("{\"a\":", 300) + "1" + strings.Repeat("}", 300),
		"a: " + strings.Repeat("{a: ", 300) + strings.Repeat("}", 300),
		"a:\n" + strings.Repeat("- ", 300) + "b\n",
		"a: &x [" + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "]\n",
	} {
		_, found := manifest.Read("in.yaml", []byte(text))
		if len(found) != 1 || found[0].Code != "too-deep" {
			t.Errorf("%.20q…: %v", text, found)
		}
	}
	read(t, "a: "+strings.Repeat("[", 198)+strings.Repeat("]", 198))
}

func TestSetRefuses(t *testing.T) {
	d := read(t, "kind: A\n").Documents()[0]
	for _, value := range []any{math.NaN(), math.Inf(1), 1, []string{"x"}, "\xff", map[string]any{"\xff": 1.5}, []any{uint64(1)}} {
		if err := d.Set(map[string]any{"kind": "A", "x": value}, nil); err == nil || d.Changed() {
			t.Errorf("%#v was written", value)
		}
	}
	items := read(t, "apiVersion: v1\nkind: PodList\nitems:\n- spec: {}\n").Documents()
	if err := items[0].Set(map[string]any{"spec": map[string]any{}}, nil); err == nil {
		t.Error("the kind of an item cannot be taken away, but was")
	}
}

// TestWholeFloats checks that numbers without a fraction are integers in YAML.
func TestWholeFloats(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n":      "a: 2\n",
		"{\"a\": 1}":  "{\"a\": 2.0}",
		"---\n{a: 1}": "---\n{a: 2}",
	} {
		s := read(t, text)
		if err := s.Documents()[0].Set(map[string]any{"a": 2.0}, nil); err != nil {
			t.Fatal(err)
		}
		if got := string(s.Bytes()); got != want {
			t.Errorf("%q set to 2.0 is %q", text, got)
		}
	}
}
