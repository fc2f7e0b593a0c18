package answer

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/internal/settings"
)

// Download is a file to save.
type Download struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Command is text for a shell.
type Command struct {
	Text string `json:"text"`
}

// command returns a shell script that writes the files and runs preadmit on them.
func (s *Session) command(r *Request) Command {
	var b strings.Builder
	var directories []string
	for _, f := range r.Files {
		if dir := path.Dir(f.Name); dir != "." && !slices.Contains(directories, dir) {
			directories = append(directories, dir)
		}
	}
	if len(directories) > 0 {
		b.WriteString("mkdir -p")
		for _, dir := range directories {
			b.WriteString(" " + quoted(dir))
		}
		b.WriteByte('\n')
	}
	for _, f := range r.Files {
		b.WriteString(writing(f))
	}
	b.WriteString("preadmit render")
	for _, o := range settings.Table {
		for _, value := range r.Options[o.Flag] {
			b.WriteString(" --" + o.Flag)
			if !o.IsSwitch() {
				b.WriteString(" " + quoted(value))
			} else if value != "true" {
				b.WriteString("=" + value)
			}
		}
	}
	for _, role := range roles {
		for _, name := range r.paths(role.name) {
			if flag := role.option().Flag; flag != "" {
				b.WriteString(" --" + flag)
			}
			b.WriteString(" " + quoted(name))
		}
	}
	b.WriteByte('\n')
	return Command{b.String()}
}

// writing returns a command that writes a file.
func writing(f File) string {
	if !strings.HasSuffix(f.Text, "\n") || strings.Contains(f.Text, "\r") {
		return fmt.Sprintf("printf %%s %s > %s\n", quoted(f.Text), quoted(f.Name))
	}
	end := "END"
	for strings.Contains("\n"+f.Text, "\n"+end+"\n") {
		end += "_"
	}
	return fmt.Sprintf("cat > %s <<'%s'\n%s%s\n", quoted(f.Name), end, f.Text, end)
}

// quoted quotes a text for a shell.
func quoted(text string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:@", c)
	}
	if text != "" && !strings.HasPrefix(text, "-") && !strings.ContainsFunc(text, func(c rune) bool { return !plain(c) }) {
		return text
	}
	if strings.HasPrefix(text, "-") && !strings.ContainsFunc(text, func(c rune) bool { return !plain(c) }) {
		text = "./" + text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// paths returns arguments for the files of a role: their directory, if it has no other files and
// gives the same order, or the names of the files.
func (r *Request) paths(role string) []string {
	var names []string
	dir := ""
	for i, f := range r.of(role) {
		names = append(names, f.Name)
		if top, _, found := strings.Cut(f.Name, "/"); !found || i > 0 && top != dir || !isManifest(f.Name) {
			dir = "."
		} else {
			dir = top
		}
	}
	alone := !slices.ContainsFunc(r.Files, func(f File) bool {
		return f.Role != role && (strings.HasPrefix(f.Name, dir+"/") || f.Name == dir)
	})
	if dir != "" && dir != "." && alone && slices.IsSorted(names) {
		return []string{dir}
	}
	return names
}

// isManifest reports whether a file in a directory is read.
func isManifest(name string) bool {
	hidden := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
	return !hidden && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// test returns an archive with a test for `preadmit test`: the files, the expected output, and the
// test.
func (s *Session) test(r *Request) (any, error) {
	spec := map[string]any{}
	for i := range settings.Table {
		o := &settings.Table[i]
		values := r.Options[o.Flag]
		switch {
		case values == nil:
		case o.Field == "":
			return nil, fmt.Errorf("a test has no option %s: copy the command line", o.Flag)
		default:
			put(spec, o, values)
		}
	}
	for _, role := range roles {
		if paths := r.paths(role.name); len(paths) > 0 {
			spec[role.option().Field] = items(paths)
		}
	}
	files, err := s.expect(r, spec)
	if err != nil {
		return nil, err
	}
	document := manifest.YAML(map[string]any{
		"apiVersion": "preadmit.dev/v1alpha1", "kind": "PreadmitTest",
		"metadata": map[string]any{"name": "from the playground"}, "spec": spec,
	})
	files = append(files, File{Name: "preadmit-test.yaml", Text: string(document)})
	return archive(files)
}

// expect adds the expected result to the spec of a test, and returns the files of the test.
func (s *Session) expect(r *Request, spec map[string]any) ([]File, error) {
	result := s.explain(r)
	files := slices.Clone(r.Files)
	switch result.Status {
	case done:
		name := "expected.yaml"
		for slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			name = "really-" + name
		}
		spec["expected"] = name
		return append(files, File{Name: name, Text: result.Output}), nil
	case denied:
		in := s.input(r)
		outcome := in.run((*engine.Set).Run, s.progress())
		for _, d := range outcome.Diagnostics {
			if d.Code == denied {
				spec["denied"] = d.Message
				return files, nil
			}
		}
	}
	return nil, errors.New("a test needs policies that do something: mend the mistakes first")
}

// put adds the values of an option to the spec of a test.
func put(spec map[string]any, o *settings.Option, values []string) {
	keys := strings.Split(o.Field, ".")
	for _, key := range keys[:len(keys)-1] {
		below, ok := spec[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			spec[key] = below
		}
		spec = below
	}
	var c settings.Config
	key := keys[len(keys)-1]
	for _, value := range values {
		_ = o.Set(&c, value) // read has checked it
	}
	switch target := o.Target(&c).(type) {
	case *bool:
		spec[key] = *target
	case *[]string:
		spec[key] = items(*target)
	default:
		spec[key] = values[0]
	}
}

func items(texts []string) []any {
	var items []any
	for _, text := range texts {
		items = append(items, text)
	}
	return items
}

// archive returns an archive of files.
func archive(files []File) (any, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		to, err := w.Create(f.Name)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write([]byte(f.Text)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return Download{"preadmit-test.zip", b.Bytes()}, nil
}

// page returns the HTML page of `preadmit explain -o html`.
func (s *Session) page(r *Request) (any, error) {
	in := s.input(r)
	outcome := in.run((*engine.Set).Run, s.progress())
	var b bytes.Buffer
	if err := report.HTML(&b, in.report(outcome)); err != nil {
		return nil, err
	}
	return Download{"preadmit.html", b.Bytes()}, nil
}
