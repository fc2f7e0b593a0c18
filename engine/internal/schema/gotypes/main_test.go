package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"
)

// TestCurrent checks that the tables of the default version are current.
func TestCurrent(t *testing.T) {
	g := visit("../openapi/v1.36.tar.gz")
	for name, lines := range map[string][]string{"types.txt": slices.Sorted(maps.Values(g.lines)), "../gonames.txt": g.names()} {
		written, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written, table(lines)) {
			t.Errorf("%s is not current: run bash generate", name)
		}
	}
}
