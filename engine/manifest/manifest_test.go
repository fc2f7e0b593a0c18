package manifest_test

import (
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
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

func TestReadAndSet(t *testing.T) {
	s, found := manifest.Read("web.yaml", []byte(deployment))
	if len(found) > 0 {
		t.Fatal(found)
	}
	d := s.Documents()[0]
	if d.Kind().String() != "apps/v1, Kind=Deployment" || d.Name() != "web" || d.Namespace() != "shop" {
		t.Errorf("read %s %s/%s", d.Kind(), d.Namespace(), d.Name())
	}
	image := change.Keys("spec", "template", "spec", "containers").Index(0).Key("image")
	if at := d.At(image).String(); at != "web.yaml:14:16" {
		t.Errorf("the image stands at %s", at)
	}
	object := d.Object()
	if err := change.Apply(object, []change.Change{{Op: change.Replace, Path: image, New: "nginx:1.27"}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Set(object, nil); err != nil {
		t.Fatal(err)
	}
	want := deployment[:len(deployment)-len("1.25\n")] + "1.27\n"
	if got := string(s.Bytes()); got != want {
		t.Errorf("got:\n%s", got)
	}
}
