package krmfn

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// trapInput is a text in the golden file of traps of YAML.
	trapInput = regexp.MustCompile(`(?m)^in: +(".*")$`)
	// isInput matches the files of a story that an editor opens. bin/ has scripts, and after/ what a command writes.
	isInput = regexp.MustCompile(`^[^/].*\.(ya?ml|json)$`)
)

// recordedInputs returns the inputs of the golden files with errors, by folder and name of the file.
func recordedInputs(t *testing.T) map[string]map[string]string {
	all := map[string]map[string]string{}
	add := func(folder, name, text string) {
		if all[folder] == nil {
			all[folder] = map[string]string{}
		}
		all[folder][name] = text
	}
	glob := func(pattern string, each func(path, name string)) {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, path := range paths {
			each(path, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		}
	}
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	glob("testdata/stories/*.txt", func(path, name string) {
		for _, f := range readStory(t, path).files {
			if isInput.MatchString(f.name) && !strings.HasPrefix(f.name, "after/") && !strings.HasPrefix(f.text, "-> ") {
				add("story-"+name, f.name, f.text)
			}
		}
	})
	glob("../testdata/cases/*", func(path, name string) {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && isInput.MatchString(entry.Name()) && !strings.HasPrefix(entry.Name(), "expected") {
				inside, _ := filepath.Rel(path, file)
				add("case-"+name, inside, read(file))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	glob("../engine/testdata/recorded/refused-*/policies/p.yaml", func(path, _ string) {
		add(filepath.Base(filepath.Dir(filepath.Dir(path))), "p.yaml", read(path))
	})
	glob("../engine/internal/mutationtree/testdata/cases/error-*.txt", func(path, name string) {
		_, text, _ := strings.Cut(read(path), "-- mutation --\n")
		text, _, _ = strings.Cut(text, "\n-- ")
		add("tree-"+name, "p.yaml", text+"\n")
	})
	glob("../engine/manifest/testdata/traps.txt", func(path, _ string) {
		for i, m := range trapInput.FindAllStringSubmatch(read(path), -1) {
			text, err := strconv.Unquote(m[1])
			if err != nil {
				t.Fatal(err)
			}
			add(fmt.Sprint("trap-", i), "in.yaml", text)
		}
	})
	return all
}

// TestFixesOfMessages goes over the messages about the inputs of all golden files, message by message. Each has a fix,
// or withoutFix has its code, or withoutFixOf says why it has none.
func TestFixesOfMessages(t *testing.T) {
	known := map[string]bool{}
	for _, codes := range withoutFix {
		for _, code := range strings.Fields(codes) {
			known[code] = true
		}
	}
	unfixed := map[string]string{}
	inputs := recordedInputs(t)
	const together = 100 // folders of a server
	for folders := range slices.Chunk(slices.Sorted(maps.Keys(inputs)), together) {
		dir := t.TempDir()
		c := startClient(t, dir, "", capable, folders...)
		for _, folder := range folders {
			for _, name := range slices.Sorted(maps.Keys(inputs[folder])) {
				makeFile(t, dir, folder+"/"+name, inputs[folder][name])
				c.open(folder + "/" + name)
			}
		}
		c.check()
		for _, name := range slices.Sorted(maps.Keys(c.texts)) {
			fixed := c.fixedIn(name)
			for _, d := range c.diagnostics[name] {
				d := d.(map[string]any)
				if code, message := d["code"].(string), d["message"].(string); !known[code] && !fixed[message] {
					unfixed[code+": "+message] = name
				}
			}
		}
		c.stop()
	}
	used := map[string]bool{}
	for _, message := range slices.Sorted(maps.Keys(unfixed)) {
		if pattern := reasonFor(message); pattern != "" {
			used[pattern] = true
		} else {
			t.Errorf("%s: neither a fix, nor a reason why there is none: %s", unfixed[message], message)
		}
	}
	for reason, patterns := range withoutFixOf {
		for _, pattern := range patterns {
			if !used[pattern] {
				t.Errorf("%s: no message without a fix matches %s", reason, pattern)
			}
		}
	}
}

// reasonFor returns the first pattern of withoutFixOf that a message matches; "" if none does.
func reasonFor(message string) string {
	for _, reason := range slices.Sorted(maps.Keys(withoutFixOf)) {
		for _, pattern := range withoutFixOf[reason] {
			if regexp.MustCompile("(?s)^" + pattern).MatchString(message) {
				return pattern
			}
		}
	}
	return ""
}

// withoutFixOf has patterns of the messages whose code has fixes, but not for them, by the reason.
var withoutFixOf = map[string][]string{
	"the name is like none that is known": {
		`expression-invalid: .*undeclared reference to '(nope|upper)'`,
		`expression-invalid: .*(undefined field 'b'|type of field 'where')`,
		`field-undefined: .*(kubectl explain|expected clusterRoles|correct the name of the field)`,
		`name-unknown: .*(no cluster serves that|no definition can have)`,
		`policy-field-unknown: .*expected `,
		`policy-invalid: .*(Unsupported value|the operator is not known|op must be one of|not a valid selector operator)`,
		`policy-invalid: .*(unknown expression language|must have a valid)`,
		`exception-without-policy: .*(there is no|has no rule)`,
	},
	"only the user knows the value": {
		`option-value: .*(is missing|is empty|quote the value|cannot set the option)`,
		`manifest-invalid: .*(the document has no|expected a|metadata.name is)`,
		`policy-invalid: .*(Required value|is required|needs a name|must set one of|required for|has no value)`,
		`policy-invalid: .*(is empty|empty match block|does nothing|selects no kind)`,
		`policy-invalid: .*(must be of type|should match|cannot unmarshal|expected a mutation tree|must be a map|belong in keys)`,
		`policy-invalid: .*(name part must|a valid label must|RFC 1123|DNS-1035|CEL identifier|may not (be|contain)|must be no more than)`,
		`policy-invalid: .*(GroupVersion|version must be specified|must not be empty|line breaks|invalid location|domain name|docker image)`,
		`type-mismatch: .*(is no list|is not the index|single value|never equals|followed by neither|does not fit|is of another type)`,
		`type-mismatch: .*(the patch writes|the tree writes|provided type is)`,
		`call-fails: .*(must be a|has \d arguments?)`,
	},
	"either of the parts that contradict each other may be wrong": {
		`policy-invalid: .*(must not specify|mutually exclusive|must not be specified when|both Deny and Warn|Duplicate value|Too many)`,
		`policy-invalid: .*(disabling admission|in CEL are not evaluated)`,
		`kyverno-differs: .*write (a policy|a rule|a foreach|the condition|them with)`,
		`condition-unreachable: .*(contradicts|is never true|never holds|false for every object)`,
		`never-applies: `,
	},
	"what the policy should do with such objects is for the user to say": {
		`always-fails: `,
		`field-missing: .*ask (with|for)`,
		`field-undefined: .*kinds that the policy is about`,
		`denied: `,
	},
	"another part of the policy is missing, or another expression is meant": {
		`expression-invalid: .*undeclared reference to '(params|variables|authorizer|Object)'`,
		`expression-invalid: .*(must evaluate to|no matching overload|Syntax error|not a JMESPath expression)`,
		`policy-field-unknown: .*servers want it in`,
		`policy-draft: .*where there is one`,
		`version-deprecated: .*use .* EndpointSlice`,
	},
	"the text has several mistakes, or its form is rare": {
		`malformed-yaml: the bracket`,
		`duplicate-key: b\.c: `,
	},
}

// fixedIn returns the messages in a file that have a fix.
func (c *lspClient) fixedIn(name string) map[string]bool {
	fixed := map[string]bool{}
	for _, action := range c.actions(name, 0, len(c.texts[name])) {
		action := action.(map[string]any)
		if of, _ := action["diagnostics"].([]any); isFix(action) {
			for _, d := range of {
				fixed[d.(map[string]any)["message"].(string)] = true
			}
		}
	}
	return fixed
}
