package tfprovider

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// readFiles reads the files of patterns, each file once.
func readFiles(patterns []pattern, role settings.Role, reader *input.Reader) (texts []text, problems []message) {
	set := reader.NewSet()
	set.Whole, set.Policies = role == settings.OpenAPI, role == settings.Policies || role == settings.Context
	given, owner, holds := map[string]pattern{}, map[string]int{}, input.Holds{}
	for i, p := range patterns {
		for _, err := range add(set, p.text) {
			problems = append(problems, unreadable(p, role, reader, err))
		}
		for _, d := range set.Problems {
			problems = append(problems, message{d.Severity, p.at, d.Code, "Invalid Kustomization", p.at.String() + ": " + d.At.String() + ": " + d.Printed() + "\n\n" + d.Advice})
		}
		set.Problems = nil
		for _, f := range set.Files {
			if _, known := given[f.Real]; !known {
				given[f.Real], owner[f.Real] = p, i
				holds.Read(i, p.text, f)
			}
		}
	}
	files := set.Files
	if role != settings.OpenAPI {
		files = nil
		for _, parsed := range set.Parse(manifest.Read) {
			files = append(files, parsed.File)
			if len(parsed.Problems) > 0 || input.HoldsPolicies(parsed.Stream) {
				holds.Policy(owner[parsed.File.Real])
			}
		}
	}
	for _, f := range files {
		texts = append(texts, text{given[f.Real].at, f.Name, string(f.Text)})
	}
	if role == settings.Policies {
		for _, i := range holds.Vacant() {
			problems = append(problems, vacant(patterns[i]))
		}
	}
	return texts, problems
}

// codeVacant is the code of patterns of policies that match none.
const codeVacant = "path-without-policy"

// vacant reports that the files of a pattern hold no policy: policies may have moved.
func vacant(p pattern) message {
	return errorf(p.at, codeVacant, "%s: %s: there is no policy\n\n"+
		"check the path; if there may be no policy, set the option allow_no_policies", p.at, p.text)
}

func unreadable(p pattern, role settings.Role, reader *input.Reader, err error) message {
	name := p.text
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		if name, err = pathError.Path, pathError.Err; filepath.IsAbs(name) {
			name = reader.Name(input.Path{Name: p.text}, name)
		}
	}
	var exceeded *limit.Error
	switch {
	case errors.As(err, &exceeded):
		return errorf(p.at, exceeded.Code, "%s: %s: %v\n\n%s", p.at, name, err, exceeded.Advice)
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(name):
		return errorf(p.at, "path-unreadable", "%s: %s: %v\n\nrelative paths are relative to the root module; in a module write \"${path.module}/%s\"", p.at, name, err, filepath.ToSlash(name))
	}
	m := errorf(p.at, "path-unreadable", "%s: %s: %v", p.at, name, err)
	if errors.Is(err, input.ErrLinkedOut) {
		m.code = "link-outside"
		if m.detail += ", which is not read\n\nto read that directory, name it, too"; role == settings.Manifests {
			m.severity = source.Warning
		}
	}
	return m
}

var errEmpty = errors.New("the path is empty")

// add reads the files of a pattern: a file, a directory, or a pattern with wildcards.
func add(set *input.Set, pattern string) []error {
	if pattern == "" {
		return []error{errEmpty}
	}
	p := input.Path{Name: filepath.Clean(pattern)}
	problems := set.Add(p)
	if strings.ContainsAny(pattern, "*?[") && errors.Is(errors.Join(problems...), fs.ErrNotExist) {
		return set.AddGlob(p)
	}
	return problems
}
