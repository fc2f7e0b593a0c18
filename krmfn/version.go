package krmfn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine"
)

// build describes the build of the program, in the JSON format of the version command.
type build struct {
	Version string `json:"version"`
	// Commit and Date identify the commit, if the build has them. Modified reports that the
	// build had uncommitted changes.
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os,omitempty"`
	Arch     string `json:"arch,omitempty"`
	// Kubernetes and Kyverno are the versions that policies can run as.
	Kubernetes versions `json:"kubernetes"`
	Kyverno    versions `json:"kyverno"`
}

// versions are the versions of a system that the program knows.
type versions struct {
	Default string `json:"default"`
	Known   string `json:"known"`
}

// version prints the version of the program and how it was built.
func (p *Process) version(_ context.Context, given arguments) int {
	if len(given.operands) > 0 {
		return p.misused(misusef("argument-invalid", "unexpected argument %q", given.operands[0]), "preadmit version --help")
	}
	var c config
	given.apply(&c)
	b := p.build()
	return p.tell(func(w io.Writer) {
		if c.options.Output == "json" {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			encoder.Encode(b)
			return
		}
		fmt.Fprintln(w, b)
	})
}

// build returns the description of the program.
func (p *Process) build() build {
	b := build{Version: "(unknown version)"}
	b.Kubernetes = versions{engine.DefaultKubernetesVersion, engine.KnownKubernetesVersions()}
	b.Kyverno = versions{engine.DefaultKyvernoVersion, engine.DefaultKyvernoVersion}
	if p.Build == nil {
		return b
	}
	b.Version, b.Go = p.Build.Main.Version, p.Build.GoVersion
	for _, s := range p.Build.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "GOOS":
			b.OS = s.Value
		case "GOARCH":
			b.Arch = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the description as text.
func (b build) String() string {
	text := "preadmit " + b.Version
	if b.Go != "" {
		text += ", " + b.Go
	}
	if b.Commit != "" {
		text += ", commit " + b.Commit
	}
	return text
}
