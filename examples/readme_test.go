package examples

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const readme = "../README.md"

// transcript is a command that the README shows in a block of the language "console",
// after "$ ", and what it prints there.
type transcript struct {
	// from and to are the lines of the output, counted from 0; to is excluded.
	from, to        int
	command, output string
}

// transcripts finds the commands of a Markdown text.
func transcripts(lines []string) []transcript {
	var found []transcript
	inside := false
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			s := transcript{command: line[len("$ "):], from: i + 1}
			for strings.HasSuffix(lines[s.from-1], "\\") {
				s.command += "\n" + lines[s.from]
				s.from++
			}
			s.to = s.from
			for lines[s.to] != "```" && !strings.HasPrefix(lines[s.to], "$ ") {
				s.output += lines[s.to] + "\n"
				s.to++
			}
			found = append(found, s)
			i = s.to - 1
		}
	}
	return found
}

func TestReadmeCommands(t *testing.T) {
	lines := strings.Split(read(t, readme), "\n")
	commands := transcripts(lines)
	if len(commands) == 0 {
		t.Fatal("README.md shows no command")
	}
	var rewritten []string
	done := 0
	for _, s := range commands {
		r := command(t, "..", "", "bash", "-c", "exec 2>&1\n"+s.command)
		if r.stdout != s.output && !*update {
			t.Errorf("$ %s\ngot:\n%s\nwant:\n%s", s.command, r.stdout, s.output)
		}
		rewritten = append(rewritten, lines[done:s.from]...)
		if r.stdout != "" {
			rewritten = append(rewritten, strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")...)
		}
		done = s.to
	}
	if *update {
		text := strings.Join(append(rewritten, lines[done:]...), "\n")
		if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadmeTests finds the README's command for the tests in the script of the CI.
func TestReadmeTests(t *testing.T) {
	const tests = "go test ./..."
	if !strings.Contains(read(t, readme), "```sh\n"+tests+"\n```\n") {
		t.Errorf("README.md does not show %q", tests)
	}
	if !strings.Contains(read(t, "../.ci/run"), "\n\t"+tests+" ") {
		t.Errorf(".ci/run does not run %q", tests)
	}
}

var (
	flagInHelp = regexp.MustCompile(`(?m)^ {2}(-\w), (--[\w-]+)|^ {6}(--[\w-]+)`)
	// An option of functions has a field, and then, unless it is for the Preadmit
	// kind only, a key and a flag.
	fieldInHelp = regexp.MustCompile(`(?m)^ {2}([\w.]+)(?: +([\w]+) +-.*)?$`)
	code        = regexp.MustCompile("`([^`]+)`")
)

// TestReadmeOptions compares the README's table of options with what the help says.
func TestReadmeOptions(t *testing.T) {
	var flags, fields, keys []string
	for line := range strings.Lines(read(t, readme)) {
		if columns := strings.Split(line, "|"); len(columns) == 7 && !strings.Contains(line, "---") {
			for i, names := range map[int]*[]string{2: &flags, 3: &fields, 4: &keys} {
				for _, match := range code.FindAllStringSubmatch(columns[i], -1) {
					*names = append(*names, match[1])
				}
			}
		}
	}
	// The head of the table names a command and a field, too.
	flags, fields = flags[1:], fields[1:]

	help := flagInHelp.FindAllStringSubmatch(output(t, ".", "preadmit", "render", "--help"), -1)
	_, functionHelp, _ := strings.Cut(output(t, ".", "preadmit", "fn", "--help"), "\nOptions")
	functionHelp, _, _ = strings.Cut(functionHelp, "\nEnvironment")
	helpFields := fieldInHelp.FindAllStringSubmatch(functionHelp, -1)
	for _, c := range []struct {
		what         string
		readme, help []string
	}{
		{"flags", append(flags, "-h", "--help"), groups(help, 1, 2, 3)},
		{"fields", fields, groups(helpFields, 1)},
		{"keys", keys, groups(helpFields, 2)},
	} {
		slices.Sort(c.readme)
		slices.Sort(c.help)
		if !slices.Equal(c.readme, c.help) {
			t.Errorf("%s\nin README.md: %q\nin the help:  %q", c.what, c.readme, c.help)
		}
	}
}

// groups are the texts of some groups of matches.
func groups(matches [][]string, groups ...int) []string {
	var found []string
	for _, match := range matches {
		for _, group := range groups {
			if match[group] != "" {
				found = append(found, match[group])
			}
		}
	}
	return found
}
