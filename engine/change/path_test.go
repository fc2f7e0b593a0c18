package change

import "testing"

func TestParsePath(t *testing.T) {
	for _, p := range []Path{
		nil, Keys("spec", "replicas"), Keys("spec", "containers").Index(0).Key("image"), Keys("metadata", "labels", "example.com/team"),
		Keys("data").Key("a b").Key("c"), Path{}.Index(3).Index(0), Keys("metadata", "labels", "app.kubernetes.io/name").Key("x"),
	} {
		if got, err := ParsePath(p.String()); err != nil || got.String() != p.String() {
			t.Errorf("%s: got %s, %v", p, got, err)
		}
	}
	if got, _ := ParsePath(`metadata.labels["example.com/team"]`); got.String() != "metadata.labels[example.com/team]" {
		t.Errorf("got %s", got)
	}
	for _, wrong := range []string{"a..b", ".a", "a[b", "a[0"} {
		if p, err := ParsePath(wrong); err == nil {
			t.Errorf("%s is %s", wrong, p)
		}
	}
}
