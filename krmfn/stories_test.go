package krmfn

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/manifest"
)

var update = flag.Bool("update", false, "rewrite what the stories in testdata expect")

// A story is a file in testdata/stories: a description, the command after "$", and its files and
// standard input, each after a line "-- name --". The sections stdout, stderr and status have the
// output and the exit status, if it is not 0. The sections after/NAME have files that the command
// changes or creates. Every story has the files of testdata/shared in the directory "shared". Files
// in "bin" are scripts, which the command finds as in PATH. A text "-> NAME" is a symbolic link.
// Environment variables are before the command; IN is its working directory.
type story struct {
	text    string // up to the command
	command string
	files   []section
	dir     string
	// interrupted says that the context of the run is cancelled.
	interrupted bool
}

type section struct{ name, text string }

var sectionLine = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

func readStory(t testing.TB, path string) *story {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s story
	marks := sectionLine.FindAllSubmatchIndex(data, -1)
	head := data
	for i, m := range marks {
		end := len(data)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		s.files = append(s.files, section{string(data[m[2]:m[3]]), string(data[m[1]:end])})
		head = data[:marks[0][0]]
	}
	text, command, ok := strings.Cut(string(head), "$ ")
	if !ok {
		t.Fatalf("%s: there is no command", path)
	}
	s.text, s.command = text, strings.TrimSpace(command)
	return &s
}

// take removes a section and returns its text.
func (s *story) take(name string) (text string, ok bool) {
	for i, f := range s.files {
		if f.name == name {
			s.files = append(s.files[:i:i], s.files[i+1:]...)
			return f.text, true
		}
	}
	return "", false
}

// process returns the process of the story in a directory with its files.
func (s *story) process(t *testing.T, stdin string) (*Process, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	s.dir = dir
	if err := os.CopyFS(filepath.Join(dir, "shared"), os.DirFS("testdata/shared")); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.files {
		makeFile(t, dir, f.name, f.text)
	}
	var stdout, stderr bytes.Buffer
	p := &Process{
		Dir: dir, Stdin: strings.NewReader(strings.ReplaceAll(stdin, "$DIR", dir)), Stdout: &stdout, Stderr: &stderr,
		Now:   fakeClock(),
		Build: &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}},
	}
	environment := map[string]string{}
	p.Getenv = func(name string) string { return environment[name] }
	p.Run = func(ctx context.Context, program *Program) ([]byte, error) {
		if !slices.Contains([]string{"exec", "cmp", "snapshot", "verify"}, p.Args[0]) && !slices.Contains(p.Args, "--build") && !slices.Contains(p.Args, "--webhook") {
			t.Errorf("%s starts a program", p.Args[0])
		}
		found := *program
		if script := filepath.Join(dir, "bin", program.Args[0]); isFile(script) {
			found.Args = append([]string{"sh", script}, program.Args[1:]...)
		}
		return RunProgram(ctx, &found)
	}
	words := strings.Fields(s.command)
	for len(words) > 0 && words[0] != "preadmit" {
		switch name, value, _ := strings.Cut(words[0], "="); name {
		case "PREADMIT_POLICIES":
			p.Policies = strings.Split(value, ":")
		case "COLOR":
			p.StdoutIsTerminal = true
		case "NO_COLOR":
			p.NoColor = true
		case "IN":
			p.Dir = filepath.Join(dir, value)
		case "TERMINAL":
			p.StdinIsTerminal = true
		case "CLOSED":
			p.Stdout, _ = os.Open(os.DevNull) // opened for reading, so that writing fails
		case "INTERRUPTED":
			s.interrupted = true
		default:
			environment[name] = strings.ReplaceAll(value, "$DIR", dir)
		}
		words = words[1:]
	}
	for _, word := range words[1:] {
		p.Args = append(p.Args, strings.ReplaceAll(strings.ReplaceAll(word, "$DIR", dir), "''", ""))
	}
	return p, &stdout, &stderr
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fakeClock returns a clock that advances by a millisecond with every call.
func fakeClock() func() time.Time {
	var passed atomic.Int64
	return func() time.Time { return time.Time{}.Add(time.Duration(passed.Add(1)) * time.Millisecond) }
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestStories(t *testing.T) {
	// Manifests are admitted one after the other, because they use the same clock.
	processors := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	paths, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no stories", err)
	}
	var changed summary
	t.Cleanup(func() { // after the stories, which run in parallel
		if text := changed.String(); text != "" {
			fmt.Print("What changed, for the message of the commit:\n", text)
		}
	})
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			s := readStory(t, path)
			want := map[string]string{}
			for _, name := range []string{"stdout", "stderr", "status"} {
				want[name], _ = s.take(name)
			}
			s.files = slices.DeleteFunc(s.files, func(f section) bool {
				isAfter := strings.HasPrefix(f.name, afterPrefix)
				if isAfter {
					want[f.name] = f.text
				}
				return isAfter
			})
			files := s.files
			stdin, _ := s.take("stdin")
			p, stdout, stderr := s.process(t, stdin)
			before := filesIn(t, p.Dir)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if s.interrupted {
				cancel()
			}
			status := Main(ctx, p)

			replaceDir := strings.NewReplacer(s.dir, "$DIR")
			got := map[string]string{"stdout": replaceDir.Replace(stdout.String()), "stderr": replaceDir.Replace(stderr.String())}
			for name, text := range filesIn(t, p.Dir) {
				if old, ok := before[name]; !ok || old != text {
					got[afterPrefix+name] = replaceDir.Replace(text)
					if _, ok := want[afterPrefix+name]; !ok {
						want[afterPrefix+name] = ""
					}
				}
			}
			if status != 0 {
				got["status"] = fmt.Sprintf("%d\n", status)
			}
			answers := len(p.Args) > 0 && (slices.Contains([]string{"explain", "report", "diff", "check", "test", "verify"}, p.Args[0]) || p.Args[0] == "convert" && status == 1)
			if !answers { // status 1 is an answer of these commands, not an error
				checkOutput(t, status, stdin, got["stdout"], got["stderr"])
			}
			if *update {
				changed.add(filepath.Base(path), want, got)
				s.files = files
				s.write(t, path, got)
				return
			}
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s (run with -update to accept it):\n%s\nwant:\n%s", name, got[name], want[name])
				}
			}
		})
	}
}

// afterPrefix is the prefix of sections with files after the command.
const afterPrefix = "after/"

// filesIn returns the texts of the files in a directory.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		full := filepath.Join(dir, name)
		if info, err := os.Stat(full); err == nil && info.IsDir() {
			return nil // a link to a directory
		}
		text, err := os.ReadFile(full)
		texts[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// checkOutput checks the laws of the package for a story.
func checkOutput(t *testing.T, status int, stdin, stdout, stderr string) {
	t.Helper()
	if status == 0 {
		return
	}
	if stderr == "" {
		t.Error("it failed without a word on standard error")
	}
	if stdout == "" {
		return
	}
	// After a failure, only a ResourceList may be printed, with unchanged items. Unusual YAML is
	// rewritten because of the results.
	some := []map[string]any{{"message": "some"}}
	got, want := withResults(t, stdout, nil), withResults(t, withResults(t, stdin, some), nil)
	if got != want && got != withResults(t, stdin, nil) {
		t.Errorf("it failed and changed the ResourceList:\n%s\nwas:\n%s", got, want)
	}
}

// withResults returns a ResourceList with other results.
func withResults(t *testing.T, text string, results []map[string]any) string {
	t.Helper()
	stream, _ := manifest.Read("-", []byte(text))
	if stream.ResourceList() == nil {
		t.Fatalf("it failed and printed something else than a ResourceList:\n%s", text)
	}
	if err := stream.ResourceList().SetResults(results); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(stream.Bytes()))
}

// write rewrites the story with its results.
func (s *story) write(t *testing.T, path string, got map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(s.text + "$ " + s.command + "\n")
	for _, f := range s.files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.name, f.text)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(got)), func(name string) bool { return !strings.HasPrefix(name, afterPrefix) })
	for _, name := range append([]string{"stdout", "stderr", "status"}, names...) {
		if text := got[name]; text != "" {
			fmt.Fprintf(&b, "-- %s --\n%s", name, text)
			if !strings.HasSuffix(text, "\n") {
				t.Errorf("%s does not end in a line break", name)
			}
		}
	}
	writeFile(t, path, b.String())
}
