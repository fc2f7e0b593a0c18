package main

import (
	"bytes"
	"os"
	"testing"
)

// TestCurrent checks that gotypes.txt is what table generates.
func TestCurrent(t *testing.T) {
	written, err := os.ReadFile("../gotypes.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, table("../../schema/openapi/v1.36.tar.gz")) {
		t.Error("gotypes.txt is not current: run go generate in the directory above")
	}
}
