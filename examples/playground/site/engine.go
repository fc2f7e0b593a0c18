package site

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
)

// Names of the compressed engine: a file, and a script for pages from a disk, which may load scripts
// but not fetch files.
const (
	engineFile   = "preadmit.wasm.gz"
	engineScript = "preadmit.wasm.js"
)

// engine compiles the engine and returns its compressed size. It disables inlining: that saves a
// fifth of the download and costs a few milliseconds per answer.
func (b *builder) engine() (size int, err error) {
	directory, err := os.MkdirTemp("", "playground")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(directory)
	file := filepath.Join(directory, "preadmit.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-gcflags=all=-l", "-o", file, "./wasm")
	build.Dir = b.own()
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return 0, failed("go build ./wasm", output, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(data); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	if err := b.write(engineFile, packed.Bytes()); err != nil {
		return 0, err
	}
	script := `globalThis.preadmitWasm="` + base64.StdEncoding.EncodeToString(packed.Bytes()) + "\";\n"
	return packed.Len(), b.write(engineScript, []byte(script))
}
