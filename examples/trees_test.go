package examples

import "testing"

func TestTrees(t *testing.T) {
	golden(t, "trees/expected.yaml", output(t, "trees", "preadmit", "render", "-p", "policies", "manifests"))
	golden(t, "trees/expected.json", output(t, "trees", "preadmit", "render", "--plain", "--tree", "package-tree.yaml", "package.json"))

	// The trees do not change their own output.
	for flags, file := range map[string]string{"-p policies": "expected.yaml", "--plain --tree package-tree.yaml": "expected.json"} {
		if r := command(t, "trees", "", "bash", "-c", "preadmit render "+flags+" "+file); r.stdout != read(t, "trees/"+file) || r.stderr != "" {
			t.Errorf("a second run on %s gives:\n%s%s", file, r.stdout, r.stderr)
		}
	}
}
