package growth

import (
	"os"
	"os/exec"
	"testing"
)

// TestGrowth runs the program, built with counters.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all of preadmit with counters")
	}
	run := exec.Command("go", "run", "-cover", "-covermode=atomic", "-coverpkg=./engine/...,./internal/...,./krmfn/...,./tfprovider/...", "./internal/growth/command")
	run.Dir = "../.."
	run.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
