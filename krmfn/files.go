package krmfn

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// files reads the files that options and arguments name. It reads standard input only once,
// even if several options name it.
type files struct {
	process *Process
	stdin   *input.File
	reader  *input.Reader
	// checking says that the run looks for mistakes in policies.
	checking    bool
	diagnostics []source.Diagnostic
	// inBase reports whether the base has a path, if this is the working tree of diff --base. gone are the errors
	// for those that the working tree does not have: the report shows what becomes of that.
	inBase func(name string) bool
	gone   []source.Diagnostic
	// configs are the configs for the directories of the configuration file.
	configs map[int]*config
	// inNamespaces are the configs of releases with a namespace of their own.
	inNamespaces map[namespaced]*config
	// except are files that are not manifests because options name them, by their paths without
	// symbolic links.
	except map[string]bool
	// origins are the files that streams were read from.
	origins map[*manifest.Stream]input.File
	// skipped are the files in directories that hold no manifests; unrendered are the charts
	// and kustomizations, which have to be rendered first.
	skipped    []input.Skipped
	unrendered input.Site
	// rest is what the directories have besides manifests, for --copy-others; otherwise nil.
	rest *input.Rest
}

// fileSet collects files. It reads each file once, even if several paths name it.
type fileSet struct {
	files *files
	set   *input.Set
	read  readFunc
	// lenient says that links out of a directory are skipped with a warning. Otherwise they are
	// errors, because the output would be different without the policies there.
	lenient bool
}

// files returns a reader of the files of a config.
func (p *Process) files(c *config) *files {
	return &files{process: p, reader: &input.Reader{
		Dir: p.Dir, Ignore: c.options.Ignore, IgnoreDir: p.ignoreDir(&c.given), Limit: limit.Input{Bytes: int(c.options.InputLimit)}, Note: p.ledger.NoteRead, Buffers: p.buffers,
	}}
}

// bounds are the limits for one file.
func (f *files) bounds() manifest.Bounds {
	return manifest.Bounds{Documents: limit.DocumentsIn(f.reader.Limit.Bytes)}
}

// told returns the diagnostics about the files that were read since the last call.
func (f *files) told(c *config) []source.Diagnostic {
	all := slices.Concat(f.gone, f.diagnostics, f.tellSkipped(c.options.Verbose), f.tellUnrendered())
	f.gone, f.diagnostics, f.skipped, f.unrendered = nil, nil, nil, input.Site{}
	return all
}

func (f *files) set() *fileSet {
	return &fileSet{files: f, set: f.reader.NewSet(), read: f.bounds().Read}
}

// stdinNames are names of standard input besides "-".
var stdinNames = []string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

func isStdin(name string) bool { return name == "-" || slices.Contains(stdinNames, name) }

// input returns the path for the reader.
func (p path) input() input.Path {
	in := input.Path{Name: p.name, Base: p.base, Shallow: p.shallow}
	if p.within != nil {
		in.Within = p.within.dirs
	}
	return in
}

// add reads the files of a path. It returns an error if the path is a directory without files to
// read, and reports all other errors itself.
func (s *fileSet) add(p path) (empty error) {
	if p.within == nil && isStdin(p.name) {
		s.addStdin(p)
		return nil
	}
	for _, err := range s.set.Add(p.input()) {
		if errors.Is(err, input.ErrNoManifests) || errors.Is(err, input.ErrAllIgnored) {
			empty = err
		} else {
			s.fail(p, err)
		}
	}
	return empty
}

func (s *fileSet) addStdin(p path) {
	if s.files.stdin == nil {
		if s.files.process.StdinIsTerminal {
			s.failStdin(p, "is a terminal; give a file, or pipe manifests in")
			return
		}
		data, err := s.files.reader.Limit.Read(s.files.process.Stdin)
		if exceeded(err) {
			s.fail(p, err)
			return
		}
		if err != nil {
			s.failStdin(p, "cannot be read: "+err.Error())
			return
		}
		stdin := input.NewFile("-", data)
		s.files.stdin = &stdin
		s.files.process.ledger.NoteStream("standard input", s.files.process.Stdin)
	}
	if s.set.First("-") {
		s.set.Files = append(s.set.Files, *s.files.stdin)
	}
}

func (s *fileSet) failStdin(p path, why string) {
	d := source.Errorf(p.at, "path-unreadable", "standard input %s", why)
	d.Field = p.label
	s.files.diagnostics = append(s.files.diagnostics, d)
}

// absolute returns an absolute path for a path relative to the working directory.
func (p *Process) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Dir, path)
}

// exceeded reports whether the input is too large.
func exceeded(err error) bool { return errors.As(err, new(*limit.Error)) }

// fail reports the error of reading a path, if err is not nil.
func (s *fileSet) fail(p path, err error) {
	if err == nil {
		return
	}
	d := source.Errorf(p.at, "path-unreadable", "%s: %v", source.Name(p.name), err)
	d.Subject, d.Field = p.subject, p.label
	var pathError *fs.PathError
	var exceeded *limit.Error
	inDirectory := errors.As(err, &pathError)
	switch {
	case errors.As(err, &exceeded):
		if d.Code, d.Advice = exceeded.Code, exceeded.Advice; inDirectory {
			d = d.Saying(source.Messagef("%s: %v", source.Name(pathError.Path), exceeded))
			d.Advice = "exclude it with --ignore, or " + exceeded.Advice
		}
	case errors.Is(err, input.ErrLinkedOut):
		d = d.Saying(source.Messagef("%s: the link leads to a directory outside of %s, which is not read", source.Name(pathError.Path), source.Name(p.name)))
		d.Code = "link-outside"
		if d.Advice = "to read that directory, name it, too"; s.lenient {
			d.Severity = source.Warning
		}
	case errors.Is(err, input.ErrEscape) && inDirectory:
		d = d.Saying(source.Messagef("%s: the link leads out of %s", source.Name(pathError.Path), source.Literal(p.within.names)))
		d.Code = "path-outside"
		d.Advice = "replace the link by a file, or exclude it in a file " + input.IgnoreFile
	case errors.Is(err, input.ErrEscape):
		d = d.Saying(source.Messagef("%s: the path leads out of %s", source.Name(p.name), source.Literal(p.within.names))).With(p.within.advice)
		d.Code = "path-outside"
	case inDirectory:
		d = s.unreadable(d, p, pathError)
	}
	if s.isGone(p, err) {
		s.files.gone = append(s.files.gone, d.With("the base has it: restore it, or do not name it any more"))
		return
	}
	s.files.diagnostics = append(s.files.diagnostics, d)
}

// unreadable completes the error of a path at which the operating system could not read something.
func (s *fileSet) unreadable(d source.Diagnostic, p path, err *fs.PathError) source.Diagnostic {
	name := err.Path
	if full, err := s.files.reader.Resolve(p.input()); err == nil && full == name {
		name = p.name
	}
	d = d.Saying(source.Messagef("%s: %v", source.Name(name), err.Err))
	if p.base != "" && errors.Is(err, fs.ErrNotExist) {
		d.Advice = "paths are relative to " + p.base
	}
	return d
}

// isGone reports whether the error of reading a path is that the working tree does not have it any more.
func (s *fileSet) isGone(p path, err error) bool {
	missing := errors.Is(err, input.ErrNoManifests) || errors.Is(err, fs.ErrNotExist) && !exists(s.files.process.absolute(p.name))
	return missing && s.files.inBase != nil && s.files.inBase(p.name)
}

// addAll reads the files of paths. A directory without manifests is an error.
func (s *fileSet) addAll(paths []path) {
	for _, p := range paths {
		s.fail(p, s.add(p))
	}
}

// addAny reads the files of a directory, which need not have any.
func (s *fileSet) addAny(p path) {
	if err := s.add(p); errors.Is(err, input.ErrAllIgnored) {
		s.fail(p, err)
	}
}

// manifests reads the documents in the files of paths.
func (s *fileSet) manifests(paths []path) []*manifest.Stream {
	s.addAll(paths)
	return s.parse()
}

// policies reads the policies of the options, and returns the paths that hold none. A file with other objects,
// such as params, may be among files with policies.
func (s *fileSet) policies(c *config) (streams []*manifest.Stream, vacant []path) {
	s.set.Policies = true
	paths, owner, before := c.documents[settings.Policies].paths, map[string]int{}, len(s.files.diagnostics)
	var holds input.Holds
	for i, p := range paths {
		n := len(s.set.Files)
		s.addAll([]path{p})
		for _, file := range s.set.Files[n:] {
			owner[file.Real] = i
			holds.Read(i, p.name, file)
		}
	}
	streams = s.parse()
	for _, stream := range streams {
		if input.HoldsPolicies(stream) {
			holds.Policy(owner[s.files.origins[stream].Real])
		}
	}
	if !c.options.AllowNoPolicies && !source.HasErrors(s.files.diagnostics[before:]) {
		for _, i := range holds.Vacant() {
			vacant = append(vacant, paths[i])
		}
	}
	return append(streams, c.documents[settings.Policies].inline...), vacant
}

// codeVacant is the code of paths of policies that hold none.
const codeVacant = "path-without-policy"

// withoutPolicy returns the error that a path holds no policies: a gate must not pass because its policies have moved.
func withoutPolicy(p path) source.Diagnostic {
	d := source.Errorf(p.at, codeVacant, "%s: there is no policy", source.Name(p.name))
	d.Subject, d.Field = p.subject, p.label
	return d.With("check the path, and give objects of other kinds as context; " +
		"if there may be no policy, set --allow-no-policies or allowNoPolicies")
}

// trees reads the mutation trees in the files of paths.
func (s *fileSet) trees(paths []path) []*manifest.Stream {
	s.read, s.set.Whole = s.files.bounds().ReadTrees, true
	return s.manifests(paths)
}

// parse reads the documents in the files found since the last call.
func (s *fileSet) parse() []*manifest.Stream {
	var streams []*manifest.Stream
	if s.lenient {
		s.files.unrendered = s.set.Site
	}
	s.files.diagnostics = append(s.files.diagnostics, s.set.Problems...)
	read := s.read
	if !s.set.Whole {
		read = s.files.process.readings.unless(s.files.bounds(), read)
	}
	for _, p := range s.set.Parse(read) {
		s.files.diagnostics = append(s.files.diagnostics, p.Problems...)
		streams = append(streams, p.Stream)
		if s.files.origins == nil {
			s.files.origins = map[*manifest.Stream]input.File{}
		}
		s.files.origins[p.Stream] = p.File
	}
	s.files.skipped = append(s.files.skipped, s.set.Skipped...)
	s.set.Problems, s.set.Skipped = nil, nil
	return streams
}

// openAPI reads the OpenAPI documents in the files of paths.
func (s *fileSet) openAPI(paths []path) []engine.OpenAPIDocument {
	s.addAll(paths)
	var documents []engine.OpenAPIDocument
	for _, f := range s.set.Files {
		documents = append(documents, engine.OpenAPIDocument{Name: f.Name, Data: f.Text})
	}
	return documents
}

// tellSkipped returns a note with the number of skipped files, or, if all is set, a note for
// each of them.
func (f *files) tellSkipped(all bool) []source.Diagnostic {
	var notes []source.Diagnostic
	note := func(message string) *source.Diagnostic {
		notes = append(notes, source.Diagnostic{Severity: source.Info, Code: "no-manifest", Message: message})
		return &notes[len(notes)-1]
	}
	if all {
		for _, p := range f.skipped {
			note("not a manifest: " + p.Kind.One).At.File = p.Name
		}
		return notes
	}
	for _, p := range f.skipped {
		if p.Kind == input.CommentedPart {
			note("not a manifest: " + p.Kind.One).At.File = p.Name
		}
	}
	var counts []string
	for _, what := range input.Kinds {
		n := 0
		for _, p := range f.skipped {
			if p.Kind == what {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, plural(n, what.One, what.Many))
		}
	}
	if n := len(f.skipped); n > 0 {
		note(fmt.Sprintf("%s (%s); -v lists them", plural(n, "file is not a manifest", "files are not manifests"), strings.Join(counts, ", ")))
	}
	return notes
}

// tellUnrendered returns a note that the charts and kustomizations among the manifests are not
// rendered.
func (f *files) tellUnrendered() []source.Diagnostic {
	var what []string
	if n, _ := f.unrendered.Kustomizations(); n > 0 {
		what = append(what, plural(n, "kustomization", "kustomizations"))
	}
	if n, _ := f.unrendered.Charts(); n > 0 {
		what = append(what, plural(n, "chart", "charts"))
	}
	if len(what) == 0 {
		return nil
	}
	return []source.Diagnostic{source.Diagnostic{
		Severity: source.Info, Code: "not-rendered", Message: strings.Join(what, " and ") + " not rendered; manifests are evaluated as they are written",
	}.With("to render them, use --build with diff, explain or check, or preadmit exec")}
}
