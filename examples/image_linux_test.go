package examples

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// nobody is the user of the image.
const nobody = 65534

// TestImage builds preadmit as in the Dockerfile, from the sources that .dockerignore includes, and
// runs it as in the image: as nobody, with an empty environment, in an empty directory. It needs no
// container engine, so it does not test layers.
func TestImage(t *testing.T) {
	var sums [2][sha256.Size]byte
	var binary string
	for i := range sums {
		// The directories differ, but the binaries must be the same.
		binary = buildLine(t, buildContext(t))
		sums[i] = sha256.Sum256([]byte(read(t, binary)))
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds differ: %x, %x", sums[0], sums[1])
	}
	static(t, binary)

	if got := inImage(t, binary, "", "version"); !strings.HasPrefix(got, "preadmit v1.2.3, go") {
		t.Errorf("version is %q", got)
	}
	directory := filepath.Join(cases, "policies-in-the-stream")
	list := resourceList(inputs(t, directory), false)
	want := command(t, ".", list, "preadmit", "fn")
	if want.status != 0 || want.stdout == list {
		t.Fatalf("preadmit fn changes nothing, or fails: %s", want.stderr)
	}
	if got := inImage(t, binary, list, instruction(t, "CMD")...); got != want.stdout {
		t.Errorf("the image answers\n%s\nwant\n%s", got, want.stdout)
	}
}

// instruction returns the arguments of the Dockerfile's last instruction of a name,
// which are JSON strings without escapes.
func instruction(t *testing.T, name string) []string {
	t.Helper()
	var arguments []string
	for line := range strings.Lines(read(t, "../Dockerfile")) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			arguments = nil
			for argument := range strings.SplitSeq(strings.Trim(text, "[]\n"), ",") {
				arguments = append(arguments, strings.Trim(argument, `" `))
			}
		}
	}
	if arguments == nil {
		t.Fatalf("the Dockerfile has no %s", name)
	}
	return arguments
}

// buildLine runs the line of the Dockerfile that builds preadmit.
func buildLine(t *testing.T, directory string) (binary string) {
	t.Helper()
	text := read(t, "../Dockerfile")
	for line := range strings.Lines(text) {
		line, ok := strings.CutPrefix(line, "RUN go build ")
		if !ok {
			continue
		}
		binary = filepath.Join(directory, "out", "preadmit")
		build := exec.Command("sh", "-c", "go build "+strings.ReplaceAll(line, "/out/preadmit", binary))
		build.Dir = directory
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "VERSION=v1.2.3")
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", build, err, output)
		}
		return binary
	}
	t.Fatal("the Dockerfile does not build preadmit")
	return ""
}

// buildContext copies the files that .dockerignore includes and that the Dockerfile copies into the
// stage that builds preadmit.
func buildContext(t *testing.T) string {
	t.Helper()
	ignored := dockerIgnore(t)
	_, stage, _ := strings.Cut(read(t, "../Dockerfile"), " AS build\n")
	stage, _, _ = strings.Cut(stage, "\nFROM ")
	directory := t.TempDir()
	for line := range strings.Lines(stage) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "COPY" {
			continue
		}
		for _, name := range fields[1 : len(fields)-1] {
			copyTree(t, name, directory, ignored)
		}
	}
	return directory
}

// copyTree copies a file or directory of the repository, except ignored files.
func copyTree(t *testing.T, name, to string, ignored func(name string) bool) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", name), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel("..", file)
		if err != nil || ignored(filepath.ToSlash(rel)) {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(rel)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), []byte(read(t, file)), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dockerIgnore reads the patterns in .dockerignore. The last pattern that matches a file, or one of
// its directories, decides. It supports "**/" only at the start.
func dockerIgnore(t *testing.T) func(name string) bool {
	t.Helper()
	var patterns []string
	for scanner := bufio.NewScanner(strings.NewReader(read(t, "../.dockerignore"))); scanner.Scan(); {
		if line := scanner.Text(); line != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
		}
	}
	return func(name string) (ignored bool) {
		for _, pattern := range patterns {
			pattern, exception := strings.CutPrefix(pattern, "!")
			anywhere := strings.HasPrefix(pattern, "**/")
			pattern = strings.TrimPrefix(pattern, "**/")
			for at := name; at != "."; at = path.Dir(at) {
				candidate := at
				if anywhere {
					candidate = path.Base(at)
				}
				if ok, err := path.Match(pattern, candidate); err != nil {
					t.Fatal(err)
				} else if ok {
					ignored = !exception
				}
			}
		}
		return ignored
	}
}

// static checks that a binary needs no other file to run.
func static(t *testing.T, binary string) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the binary is not static")
	}
}

// inImage runs a binary as in the image, which must succeed.
func inImage(t *testing.T, binary, stdin string, arguments ...string) string {
	t.Helper()
	empty := t.TempDir()
	if os.Getuid() == 0 { // the directories are root's
		for _, directory := range []string{filepath.Dir(filepath.Dir(binary)), filepath.Dir(binary), empty} {
			for ; directory != os.TempDir() && directory != "/"; directory = filepath.Dir(directory) {
				if err := os.Chmod(directory, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var stdout, stderr bytes.Buffer
	c := exec.Command(binary, arguments...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = empty, []string{}, strings.NewReader(stdin), &stdout, &stderr
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", c, err, &stderr)
	}
	return stdout.String()
}
