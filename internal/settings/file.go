package settings

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/triage"
)

// FileName is the name of the configuration file of a repository.
const FileName = ".preadmit.yaml"

// File is a configuration file: what a team has decided for a repository.
type File struct {
	// Name is its path for messages. Dir is the directory that contains it, an absolute path without
	// symbolic links; paths in the file are relative to it.
	Name, Dir string
	// Directories are the directories with options of their own.
	Directories []Directory
	// Rules are the decisions about findings.
	Rules    triage.Rules
	options  []Value
	commands map[string][]Value
	// at are the indexes of Directories by their paths.
	at map[string]int
}

// Directory is a directory with options of its own.
type Directory struct {
	// Path is its path relative to the file, At its place in the file.
	Path string
	At   source.Position
	// Releases are the releases of the chart in the directory, if the file names any.
	Releases []Release
	values   []Value
}

// Release is a release of the chart in a directory.
type Release struct {
	// Name is its name; the name of the directory if it is empty. Namespace is its namespace; the option
	// namespace if it is empty.
	Name, Namespace string
	// Values are files with values, relative to the configuration file.
	Values []Value
}

// Value is a value of an option in a configuration file. A list has one Value for each item.
type Value struct {
	// Name is the name of the option in the file.
	Name, Text string
	// At and Field are the place of the value in the file.
	At    source.Position
	Field string
}

// Entry returns the name of the option in a configuration file; "" if a file cannot set it.
func (o *Option) Entry() string {
	if o.Once != "" {
		return ""
	}
	return o.Flag
}

// IsOfCluster reports whether the option describes the cluster or the request, so that it may be
// different for each directory. Others hold for a whole run.
func (o *Option) IsOfCluster() bool {
	_, isSize := o.target(new(Config)).(*Size)
	return o.Entry() != "" && o.Field != "" && !isSize
}

// IsPath reports whether the values of the option are paths of files.
func (o *Option) IsPath() bool {
	return o.Files != 0 || slices.Contains([]string{"PATH", "DIR", "FILE"}, o.Arg)
}

// Values returns the values of the file for a command, sorted by name. Those of the command replace
// those of all commands.
func (f *File) Values(command string) []Value {
	of := map[string][]Value{}
	for _, level := range [][]Value{f.options, f.commands[command]} {
		maps.Copy(of, byName(level))
	}
	var values []Value
	for _, name := range slices.Sorted(maps.Keys(of)) {
		values = append(values, of[name]...)
	}
	return values
}

// Move sets the directory that the paths of the file are relative to.
func (f *File) Move(dir string) {
	f.Dir, f.Rules.Dir, f.at = dir, dir, map[string]int{}
	for i, d := range f.Directories {
		f.at[filepath.Join(dir, filepath.FromSlash(d.Path))] = i
	}
}

// In returns the index of the innermost directory of the file that contains a path, and -1 if none
// does. The path is absolute and without symbolic links.
func (f *File) In(real string) int {
	for dir := real; ; dir = filepath.Dir(dir) {
		if i, ok := f.at[dir]; ok {
			return i
		}
		if dir == f.Dir || dir == filepath.Dir(dir) {
			return -1
		}
	}
}

// Releases returns the releases of the chart in a directory, whose path is absolute and without symbolic
// links.
func (f *File) Releases(real string) []Release {
	if i, ok := f.at[real]; ok {
		return f.Directories[i].Releases
	}
	return nil
}

// ChartValues returns the absolute paths of the files with values of charts.
func (f *File) ChartValues() (paths []string) {
	for _, d := range f.Directories {
		for _, release := range d.Releases {
			for _, v := range release.Values {
				paths = append(paths, filepath.Join(f.Dir, filepath.FromSlash(v.Text)))
			}
		}
	}
	return paths
}

// Values returns the values of the directory. They replace those of the file.
func (d *Directory) Values() []Value { return d.values }

func byName(values []Value) map[string][]Value {
	of := map[string][]Value{}
	for _, v := range values {
		of[v.Name] = append(of[v.Name], v)
	}
	return of
}

// ReadFile reads a configuration file. commands are the commands that read such files. The
// diagnostics are all errors of the file.
func ReadFile(name, dir string, text []byte, commands []string) (*File, []source.Diagnostic) {
	stream, problems := manifest.ReadPlain(name, text)
	r := &fileReader{file: &File{Name: name, commands: map[string][]Value{}, Rules: triage.Rules{Severities: map[string]triage.Severity{}}}, known: commands, problems: problems}
	for i, d := range stream.Documents() {
		if r.document = d; i > 0 {
			r.fail(nil, "option-value", "a configuration file has one document", "")
			continue
		}
		r.fields(d.Object(), nil, map[string]valueReader{
			"options":  func(value any, at change.Path) { r.file.options = r.values(value, at, r.refuseAnywhere) },
			"commands": r.commands, "directories": r.directories, "severities": r.severities, "accepted": r.accepted,
		})
	}
	source.Sort(r.problems)
	r.file.Move(dir)
	return r.file, r.problems
}

// valueReader reads the value at a path.
type valueReader func(value any, at change.Path)

// fileReader reads a configuration file.
type fileReader struct {
	file     *File
	document *manifest.Document
	known    []string
	problems []source.Diagnostic
}

func (r *fileReader) fail(at change.Path, code, message, advice string) {
	r.report(at, source.Errorf(r.document.At(at), code, "%s", message).With(advice))
}

func (r *fileReader) report(at change.Path, d source.Diagnostic) {
	d.Field = at.String()
	r.problems = append(r.problems, d)
}

// unlike reports a value that is not known. The advice names the known value that was probably meant, or says
// that the value fits with quotes or without them.
func (r *fileReader) unlike(at change.Path, message string, value any, known []string, fits func(value any) bool) {
	d := source.Errorf(r.document.At(at), "option-value", "%s", message)
	text, _ := value.(string)
	if near := source.Nearest(text, known); near != "" && text != "" {
		r.report(at, r.document.Mended(d, at, source.Meant(text, near).In(text, 0)))
	} else {
		r.report(at, r.document.Retyped(d, at, fits))
	}
}

// unknown reports an unknown name: a key, or the value of an item.
func (r *fileReader) unknown(at change.Path, message string, advice source.Advice) {
	r.report(at, source.Errorf(r.document.At(at), "option-unknown", "%s", message).AdvisedAt(r.document.Key(at), advice))
}

// fields reads a map with known keys.
func (r *fileReader) fields(value any, at change.Path, known map[string]valueReader) {
	object, ok := value.(map[string]any)
	if !ok {
		r.fail(at, "option-value", "expected a map, not "+Describe(value), "")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch read := known[key]; {
		case read == nil:
			advice := source.Suggest(key, slices.Sorted(maps.Keys(known)))
			if len(at) == 0 && Find(key, (*Option).Entry) != nil {
				advice = source.Advice{Text: "it is an option: write it below the key options"}
			}
			r.unknown(at.Key(key), "unknown key", advice)
		case object[key] != nil:
			read(object[key], at.Key(key))
		}
	}
}

// list reads the items of a list.
func (r *fileReader) list(value any, at change.Path, read valueReader) {
	items, ok := value.([]any)
	if !ok {
		r.fail(at, "option-value", "expected a list, not "+Describe(value), "")
	}
	for i, item := range items {
		read(item, at.Index(i))
	}
}

// text returns a reader of a text.
func (r *fileReader) text(target *string) valueReader {
	return func(value any, at change.Path) {
		text, ok := value.(string)
		switch {
		case !ok:
			r.report(at, r.document.Quoted(source.Errorf(r.document.At(at), "option-value", "expected a string, not %s", Describe(value)), at).With("quote the value"))
		case strings.TrimSpace(text) == "":
			r.fail(at, "option-value", "the text is empty", "")
		}
		*target = text
	}
}

// values reads a map of options. refuse returns why an option cannot be there, or "".
func (r *fileReader) values(value any, at change.Path, refuse func(o *Option) string) []Value {
	object, ok := value.(map[string]any)
	if !ok {
		r.fail(at, "option-value", "expected a map, not "+Describe(value), "")
	}
	possible := func(o *Option) string {
		if o.Entry() == "" || refuse(o) != "" {
			return ""
		}
		return o.Entry()
	}
	var values []Value
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := at.Key(key)
		o := Find(key, possible)
		if o != nil {
			values = append(values, r.option(o, object[key], at)...)
			continue
		}
		if o = Find(key, func(o *Option) string { return o.Flag }); o == nil {
			r.unknown(at, "unknown option", Suggest(key, possible))
		} else if o.Once != "" {
			r.fail(at, "option-value", "a file cannot set the option: "+o.Once, "give the flag --"+o.Flag)
		} else {
			r.fail(at, "option-value", refuse(o), "")
		}
	}
	return values
}

// option reads the values of an option.
func (r *fileReader) option(o *Option, value any, at change.Path) (values []Value) {
	add := func(item any, at change.Path) {
		text, problem := o.read(item)
		if problem != "" {
			r.unlike(at, problem, item, o.Values, func(value any) bool { _, problem := o.read(value); return problem == "" })
			return
		}
		values = append(values, Value{o.Entry(), text, r.document.At(at), at.String()})
	}
	switch {
	case value == nil:
	case o.IsList():
		r.list(value, at, add)
	default:
		add(value, at)
	}
	return values
}

// read returns the text of a value of the option, or why the option cannot have it.
func (o *Option) read(value any) (text, problem string) {
	text, problem = o.Scalar(value)
	if problem == "" {
		if err := o.Set(new(Config), text); err != nil {
			problem = err.Error()
		}
	}
	return text, problem
}

// refuseAnywhere refuses options that are different for each command.
func (r *fileReader) refuseAnywhere(o *Option) string {
	if len(where(func(other *Option) bool { return other.Flag == o.Flag && other.Once == "" })) > 1 {
		return "the values are different for each command; expected it in commands, as in commands: {check: {" + o.Flag + ": …}}"
	}
	return ""
}

// commands reads the options of single commands.
func (r *fileReader) commands(value any, at change.Path) {
	known := map[string]valueReader{}
	for _, name := range r.known {
		known[name] = func(value any, at change.Path) {
			r.file.commands[name] = r.values(value, at, func(o *Option) string {
				if !slices.Contains(o.Commands, name) {
					return fmt.Sprintf("the command %s does not have the option", name)
				}
				return ""
			})
		}
	}
	r.fields(value, at, known)
}

// directories reads the directories with options of their own.
func (r *fileReader) directories(value any, at change.Path) {
	first := map[string]change.Path{}
	r.list(value, at, func(value any, at change.Path) {
		var d Directory
		r.fields(value, at, map[string]valueReader{
			"path":    r.text(&d.Path),
			"options": func(value any, at change.Path) { d.values = r.values(value, at, refuseForDirectory) },
			"chart":   func(value any, at change.Path) { d.Releases = r.releases(value, at) },
		})
		if !isMap(value) {
			return
		}
		d.Path, d.At = filepath.ToSlash(filepath.Clean(filepath.FromSlash(d.Path))), r.document.At(at.Key("path"))
		other, twice := first[d.Path]
		switch {
		case d.Path == "." && !hasKey(value, "path"):
			r.fail(at, "option-value", "the path is missing", "expected a directory, relative to the file")
		case !filepath.IsLocal(d.Path):
			r.fail(at.Key("path"), "option-value", "the path leads out of the directory of the file", "expected a directory below it")
		case twice:
			r.fail(at.Key("path"), "option-value", "the directory has options already at "+r.document.At(other).String(), "write its options there")
		}
		first[d.Path] = at
		r.file.Directories = append(r.file.Directories, d)
	})
}

// releases reads how a chart is rendered: a release, or a list of releases.
func (r *fileReader) releases(value any, at change.Path) (all []Release) {
	first := map[string]change.Path{}
	read := func(value any, at change.Path) {
		var one Release
		r.fields(value, at, map[string]valueReader{
			"release": r.text(&one.Name), "namespace": r.text(&one.Namespace),
			"values": func(value any, at change.Path) {
				r.list(value, at, func(value any, at change.Path) {
					var name string
					r.text(&name)(value, at)
					one.Values = append(one.Values, Value{"values", name, r.document.At(at), at.String()})
				})
			},
		})
		label := cmp.Or(one.Label(), "without a name")
		if other, twice := first[label]; twice && isMap(value) {
			r.fail(at, "option-value", "the release "+label+" is already at "+r.document.At(other).String(), "give each a name or a namespace of its own")
		}
		first[label] = at
		all = append(all, one)
	}
	items, isList := value.([]any)
	switch {
	case !isList:
		read(value, at)
	case len(items) == 0:
		r.fail(at, "option-value", "the list has no releases", "to leave a chart out, exclude its directory with the option ignore")
	default:
		r.list(value, at, read)
	}
	return all
}

// Label names the release among those of a chart.
func (one *Release) Label() string { return path.Join(one.Namespace, one.Name) }

func isMap(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

func hasKey(value any, key string) bool {
	object, _ := value.(map[string]any)
	return object[key] != nil
}

func refuseForDirectory(o *Option) string {
	if !o.IsOfCluster() {
		return "the option holds for a whole run, not for a directory; expected it in options or commands"
	}
	return ""
}

// code reports whether the catalogue has a code.
func (r *fileReader) code(code string, at change.Path) bool {
	if _, ok := source.Lookup(code); ok {
		return true
	}
	advice := source.Advice{Text: "the page of errors lists all codes"}
	if best := source.Nearest(code, codes()); best != "" {
		advice = source.Meant(code, best)
	}
	r.unknown(at, fmt.Sprintf("no message has the code %q", code), advice)
	return false
}

// codes returns all codes of the catalogue.
func codes() (all []string) {
	for _, section := range source.Catalogue {
		for _, entry := range section.Entries {
			all = append(all, entry.Code)
		}
	}
	return all
}

// severities reads the severities of codes. Without quotes, YAML reads off as false.
func (r *fileReader) severities(value any, at change.Path) {
	object, ok := value.(map[string]any)
	if !ok {
		r.fail(at, "option-value", "expected a map, not "+Describe(value), "")
	}
	for _, code := range slices.Sorted(maps.Keys(object)) {
		at := at.Key(code)
		severity, isText := object[code].(string)
		if object[code] == false {
			severity, isText = string(triage.Off), true
		}
		switch {
		case object[code] == nil || !r.code(code, at):
		case !isText || !slices.Contains(triage.Severities, severity):
			r.unlike(at, "expected "+source.Alternatives(triage.Severities), object[code], triage.Severities, func(any) bool { return false })
		case triage.Fixed(code) != "":
			r.fail(at, "option-value", "the severity cannot be set: "+triage.Fixed(code), "")
		default:
			r.file.Rules.Severities[code] = triage.Severity(severity)
		}
	}
}

// needed are the keys that every accepted finding has, with what to write.
var needed = []struct{ key, advice string }{
	{"code", "expected the code of a message, such as " + source.CodeDenied},
	{"reason", "say why the finding is accepted"},
}

// complete reports the keys that an accepted finding lacks, and those without a value: without its object, it
// would be accepted everywhere.
func (r *fileReader) complete(object map[string]any, at change.Path) {
	for _, n := range needed {
		if value, given := object[n.key]; !given {
			r.fail(at, "option-value", "the "+n.key+" is missing", n.advice)
		} else if value == nil {
			r.fail(at.Key(n.key), "option-value", "the "+n.key+" is missing", n.advice)
		}
	}
	for _, key := range []string{"object", "path", "policy"} {
		if value, given := object[key]; given && value == nil {
			r.fail(at.Key(key), "option-value", "the "+key+" is missing", "write one, or remove the key")
		}
	}
}

// accepted reads the accepted findings.
func (r *fileReader) accepted(value any, at change.Path) {
	r.list(value, at, func(value any, at change.Path) {
		a := triage.Acceptance{At: r.document.At(at)}
		a.Removal, _ = r.document.Without(at)
		r.fields(value, at, map[string]valueReader{
			"code": r.text(&a.Code), "policy": r.text(&a.Policy), "object": r.text(&a.Object), "path": r.text(&a.Path), "reason": r.text(&a.Reason),
		})
		if !isMap(value) {
			return
		}
		r.complete(value.(map[string]any), at)
		if hasKey(value, "code") && r.code(a.Code, at.Key("code")) && triage.Unacceptable(a.Code) != "" {
			r.fail(at.Key("code"), "option-value", "such a message cannot be accepted: "+triage.Unacceptable(a.Code), "")
		}
		if a.Object != "" && !strings.Contains(a.Object, "/") {
			r.fail(at.Key("object"), "option-value", fmt.Sprintf("%q is not an object", a.Object), fmt.Sprintf("expected a kind and a name, as in '%s/*' or '*/%s'", a.Object, a.Object))
		}
		if !filepath.IsLocal(filepath.FromSlash(cmp.Or(a.Path, "."))) {
			r.fail(at.Key("path"), "option-value", "the path leads out of the directory of the file", "expected a path relative to the file")
		}
		r.file.Rules.Accepted = append(r.file.Rules.Accepted, a)
	})
}
