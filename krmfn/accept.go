package krmfn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
	"github.com/preadmit/preadmit/internal/triage"
)

// acceptances accept the findings at the selection in the configuration file. The reason is an empty text with
// the cursor in it, which is an error until the user has written one.
func (r *refactorer) acceptances() (all []editor.Refactoring) {
	for _, found := range r.at.Findings {
		if found.Code == "acceptance-unused" {
			continue // its fix removes an acceptance
		}
		a := r.acceptanceOf(found)
		accept := editor.Refactoring{Title: "Accept in " + settings.FileName + ": " + a.String(), Kind: "quickfix"}
		accept.Mends = func(d source.Diagnostic) bool {
			return d.Code == found.Code && d.Subject == found.Subject && d.Field == found.Field && d.Printed() == found.Printed()
		}
		if slices.ContainsFunc(all, func(other editor.Refactoring) bool { return other.Title == accept.Title }) {
			continue
		}
		accept.Rewrite, accept.Refused = r.accepted(&a, found)
		path, _ := r.configurationFile()
		accept.Created = r.created(path)
		all = append(all, accept)
	}
	return all
}

// configurationFile returns the path of the configuration file, and its directory without symbolic links. It
// need not exist.
func (r *refactorer) configurationFile() (path, dir string) {
	if file := r.last.check.reported.config.given.file; file != nil {
		return r.workspace.Path(file.Name), file.Dir
	}
	dir = r.workspace.process.Dir
	return filepath.Join(dir, settings.FileName), input.RealPath(dir)
}

// triaged returns a finding with what decisions look at.
func (r *refactorer) triaged(found source.Diagnostic) triage.Finding {
	_, dir := r.configurationFile()
	d := &decisions{process: r.last.process, rules: &triage.Rules{Dir: dir}}
	d.index(r.last.check.reported.run.inputs)
	return d.finding(found)
}

// acceptanceOf returns the narrowest acceptance of a finding: its policy with its object, or with its file.
func (r *refactorer) acceptanceOf(found source.Diagnostic) triage.Acceptance {
	f := r.triaged(found)
	a := triage.Acceptance{Code: found.Code}
	if len(f.Policies) > 0 {
		a.Policy = f.Policies[0]
	}
	switch {
	case strings.Contains(f.Subject, "/"):
		a.Object = f.Subject
	case f.File != "" && filepath.IsLocal(filepath.FromSlash(f.File)):
		a.Path = f.File
	}
	return a
}

// accepted adds an acceptance to the configuration file.
func (r *refactorer) accepted(a *triage.Acceptance, found source.Diagnostic) (rewrite *editor.Rewrite, refused string) {
	if why := triage.Unacceptable(a.Code); why != "" && found.Severity == source.Error {
		return nil, "such a message cannot be accepted: " + why
	}
	if a.Policy+a.Object+a.Path == "" {
		return nil, "it belongs to no policy, object or file below the configuration file"
	}
	path, dir := r.configurationFile()
	path = r.openPath(path)
	if why := readOnly(path); why != "" {
		return nil, why
	}
	before := r.textOf(path)
	after, at := withAcceptance(before, a)
	file, problems := settings.ReadFile(path, dir, []byte(after), configured())
	if len(problems) != 1 || problems[0].Field != at.String() {
		return nil, settings.FileName + " has mistakes: mend these first"
	}
	if _, counts := triage.NewJudge(&file.Rules).Judge(r.triaged(found), false); counts {
		return nil, "no pattern describes it"
	}
	stream, _ := manifest.ReadPlain(path, []byte(after)) // it was read above
	cursor := editor.Offset(after, stream.Documents()[0].At(at)) + 1
	rewrite = &editor.Rewrite{Edits: []editor.Edit{editor.Replacing(path, 0, before, after)}, Cursor: editor.Place{Path: path, From: cursor, To: cursor}}
	return rewrite, ""
}

// created returns the path of a file if it neither exists nor is open.
func (r *refactorer) created(path string) []string {
	path = r.openPath(path)
	if _, isOpen := r.at.Buffers[path]; isOpen || exists(path) {
		return nil
	}
	return []string{path}
}

// readOnly says that permissions forbid to write a file, or to make it in its directory; "" if they do not.
func readOnly(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		path = filepath.Dir(path)
		info, err = os.Stat(path)
	}
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		return ""
	}
	return filepath.Base(path) + " is read-only"
}

// openPath returns the path under which a file is open, or else the path itself.
func (r *refactorer) openPath(path string) string {
	for open := range r.at.Buffers {
		if input.RealPath(open) == input.RealPath(path) {
			return open
		}
	}
	return path
}

// withAcceptance returns the text of a configuration file with one more acceptance, whose reason is empty, and
// the path of the reason.
func withAcceptance(text string, a *triage.Acceptance) (after string, reason change.Path) {
	entry := map[string]any{"code": a.Code, "reason": ""}
	for key, value := range map[string]string{"policy": a.Policy, "object": a.Object, "path": a.Path} {
		if value != "" {
			entry[key] = value
		}
	}
	stream, _ := manifest.ReadPlain(settings.FileName, []byte(text)) // the caller reads the result
	if len(stream.Documents()) != 1 {
		added := string(manifest.YAML(map[string]any{"accepted": []any{entry}}))
		if text != "" && !strings.HasSuffix(text, "\n") {
			added = "\n" + added
		}
		if strings.Contains(text, "\r\n") {
			added = strings.ReplaceAll(added, "\n", "\r\n")
		}
		return text + added, change.Keys("accepted").Index(0).Key("reason")
	}
	d := stream.Documents()[0]
	object := d.Object()
	all, _ := object["accepted"].([]any)
	object["accepted"] = append(all, entry)
	if d.Set(object, nil) != nil {
		return text, nil
	}
	return string(stream.Bytes()), change.Keys("accepted").Index(len(all)).Key("reason")
}
