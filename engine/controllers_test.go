package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// TestControllers compares the objects of our controllers with those that kube-controller-manager
// 1.36.3 made, on a server with its stock plug-ins and policies. Values that a cluster generates
// are not compared. See testdata/README.md.
func TestControllers(t *testing.T) {
	cases, err := filepath.Glob("testdata/controllers/*.yaml")
	if err != nil || len(cases) < 60 {
		t.Fatalf("there are %d cases only: %v", len(cases), err)
	}
	for _, file := range cases {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := textOf(t, file)
			policies, _, _ := strings.Cut(strings.TrimPrefix(text, "# policies: "), "\n")
			owner, rest, _ := strings.Cut(text, "\n---\n")
			want := map[string]map[string]any{}
			for _, d := range readText(t, "made.yaml", rest).Documents() {
				want[d.Kind().Kind+" "+d.Name()] = d.Object()
			}
			for id, got := range makeRecorded(t, name, policies, owner+"\n") {
				if want[id] == nil {
					t.Errorf("%s is made, which no cluster made", id)
				} else if problems := change.Diff(want[id], got, nil); len(problems) > 0 {
					t.Errorf("%s: %v", id, problems)
				}
				delete(want, id)
			}
			for id := range want {
				t.Errorf("%s is not made", id)
			}
		})
	}
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// makeRecorded returns the objects that the controller of an object makes, by kind and name.
func makeRecorded(t *testing.T, namespace, policies, owner string) map[string]map[string]any {
	t.Helper()
	surroundings := readText(t, "context.yaml", textOf(t, "testdata/controllers/cluster/context.yaml"))
	var rules []*manifest.Stream
	if policies != "none" {
		rules = append(rules, readText(t, "policies.yaml", textOf(t, "testdata/controllers/cluster/"+policies+".yaml")))
	}
	options := recordedRequest
	options.DryRun, options.Namespace, options.AdmissionPlugins = false, namespace, []string{"default"}
	set, problems := Compile(rules, []*manifest.Stream{surroundings}, options)
	for _, d := range problems {
		t.Fatal(d)
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "owner.yaml", owner)}, Pods())
	for _, d := range outcome.Diagnostics {
		if outcome.Failed() || d.Code == "controller-endless" {
			t.Error(d)
		}
	}
	made := map[string]map[string]any{}
	for _, s := range outcome.Made() {
		for _, d := range readText(t, "made.yaml", string(s.Bytes())).Documents() {
			made[d.Kind().Kind+" "+d.Name()] = d.Object()
		}
	}
	return made
}
