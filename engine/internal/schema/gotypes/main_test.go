package main

import (
	"bytes"
	"os"
	"testing"
)

// TestCurrent checks that types.txt is what table generates.
func TestCurrent(t *testing.T) {
	written, err := os.ReadFile("types.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, table("../openapi/v1.36.tar.gz")) {
		t.Error("types.txt is not current: run bash generate")
	}
}
