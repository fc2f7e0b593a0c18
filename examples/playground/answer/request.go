// Package answer is the interface between the page of the playground and the engine. It answers
// requests about policies and manifests in JSON. The results are the same as on the command line.
//
// The files in order: request.go (requests and options), run.go (results, findings of a check, and
// the view of policies), complete.go (completion and hover), export.go (downloads: a command line, a test, a
// page), answer.go (the table of questions).
package answer

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// Request is a question about files.
type Request struct {
	Ask   string `json:"ask"`
	Files []File `json:"files"`
	// Options are the values of flags by their names, "true" for a switch.
	Options map[string][]string `json:"options"`
	// At is the position of the cursor, for "complete" and "hover".
	At Place `json:"at"`
}

// File is a text with its role.
type File struct {
	Role string `json:"role"`
	Name string `json:"name"`
	Text string `json:"text"`
}

// role is the purpose of a file.
type role struct {
	name string
	settings.Role
}

// roles are those that files can have.
var roles = []role{
	{"policies", settings.Policies},
	{"trees", settings.Trees},
	{"context", settings.Context},
	{"values", settings.Values},
	{"user-info", settings.UserInfo},
	{"webhook-answers", settings.WebhookAnswers},
	{"old", settings.Old},
	{manifests, settings.Manifests},
}

const manifests = "manifests"

// option returns the option that names files with the role: a flag on the command line, and a field
// of a test. The manifests have no flag.
func (r role) option() *settings.Option {
	if i := slices.IndexFunc(settings.Table, func(o settings.Option) bool { return o.Files == r.Role && o.Field != "" }); i >= 0 {
		return &settings.Table[i]
	}
	return &settings.Option{Field: manifests}
}

// name returns the name of an option on the page: its flag.
func name(o *settings.Option) string {
	if !o.Playground {
		return ""
	}
	return o.Flag
}

// read reads a request. It refuses requests that the page never sends, because the page takes its
// files from an address that anyone can write.
func read(text string) (*Request, error) {
	r := &Request{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range r.Files {
		switch {
		case !slices.ContainsFunc(roles, func(r role) bool { return r.name == f.Role }):
			return nil, fmt.Errorf("%s: a file cannot be for %q", f.Name, f.Role)
		case !fs.ValidPath(f.Name) || f.Name == "." || strings.ContainsAny(f.Name, "\x00\n\r\\"):
			return nil, fmt.Errorf("%q is not the name of a file", f.Name)
		case names[f.Name]:
			return nil, fmt.Errorf("there are two files with the name %s", f.Name)
		}
		names[f.Name] = true
	}
	for option, values := range r.Options {
		o := settings.Find(option, name)
		if o == nil {
			return nil, fmt.Errorf("unknown option %s; %s", option, settings.Suggest(option, name).Text)
		}
		if len(values) == 0 {
			return nil, fmt.Errorf("the option %s has no values", option)
		}
		for _, value := range values {
			if err := o.Check(value); err != nil {
				return nil, fmt.Errorf("option %s: %w", option, err)
			}
		}
	}
	return r, nil
}

// input is the input of the engine for a request.
type input struct {
	*rules
	manifests   []*manifest.Stream
	diagnostics []source.Diagnostic
}

// rules are the compiled policies with their context and options, which the session keeps for the
// next request.
type rules struct {
	policies, context []*manifest.Stream
	options           engine.Options
	// set is nil if there are errors in the diagnostics.
	set         *engine.Set
	diagnostics []source.Diagnostic
}

// input reads the documents of the files, and compiles the policies if the session has not kept
// them.
func (s *Session) input(r *Request) *input {
	in := &input{rules: s.rules(r)}
	reader := manifest.Read
	if in.options.Plain {
		reader = manifest.ReadPlain
	}
	in.manifests = readAll(r.of(manifests), reader, &in.diagnostics)
	in.diagnostics = append(in.diagnostics, in.rules.diagnostics...)
	return in
}

// key returns a key for the rules of a request.
func (r *Request) key() string {
	files := slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return f.Role == manifests })
	return (&Request{Files: files, Options: r.Options}).whole()
}

// whole returns a key for the files and options of a request.
func (r *Request) whole() string {
	data, _ := json.Marshal(Request{Files: r.Files, Options: r.Options}) // strings can always be encoded
	return string(data)
}

func (r *Request) rules() *rules {
	c := &rules{options: r.options()}
	c.policies = readAll(r.of("policies"), manifest.Read, &c.diagnostics)
	c.context = readAll(r.of("context"), manifest.Read, &c.diagnostics)
	c.options.Trees = readAll(r.of("trees"), manifest.ReadTrees, &c.diagnostics)
	c.options.Values = readAll(r.of("values"), manifest.Read, &c.diagnostics)
	c.options.UserInfo = readAll(r.of("user-info"), manifest.Read, &c.diagnostics)
	c.options.WebhookAnswers = readAll(r.of("webhook-answers"), manifest.Read, &c.diagnostics)
	c.options.Old = readAll(r.of("old"), manifest.Read, &c.diagnostics)
	if source.HasErrors(c.diagnostics) {
		return c
	}
	set, diagnostics := engine.Compile(c.policies, c.context, c.options)
	if c.set = set; set == nil { // every run says again what is no error
		c.diagnostics = append(c.diagnostics, diagnostics...)
	}
	return c
}

// options returns the options of the engine that do not come from files.
func (r *Request) options() engine.Options {
	var c settings.Config
	for option, values := range r.Options {
		for _, value := range values {
			_ = settings.Find(option, name).Set(&c, value) // read has checked it
		}
	}
	return c.Engine
}

// of returns the files with a role.
func (r *Request) of(role string) []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return f.Role != role })
}

func readAll(files []File, read func(string, []byte) (*manifest.Stream, []source.Diagnostic), found *[]source.Diagnostic) []*manifest.Stream {
	var streams []*manifest.Stream
	for _, f := range files {
		stream, diagnostics := read(f.Name, []byte(f.Text))
		*found = append(*found, diagnostics...)
		streams = append(streams, stream)
	}
	return streams
}
