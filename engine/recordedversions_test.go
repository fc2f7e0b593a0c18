package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/internal/archive"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestRecordedVersions runs the recorded cases for other versions of Kubernetes. They were sent to
// servers of these versions, except those about Go values, which were sent to 1.37.1 only, and those
// of newestOnly.
// testdata/versions has the answers that differ from 1.36.3; all other answers are the same. Before
// 1.36 the policies are of v1beta1.
func TestRecordedVersions(t *testing.T) {
	exceptions := readExceptions(t, "testdata/exceptions.txt")
	cases := racing.Sample(recordedCases(t))
	for version, differ := range map[string]int{"1.34": 5, "1.35": 1, "1.37": 17} {
		answers := archive.Unpack(t, filepath.Join("testdata", "versions", version), differ)
		options := recordedRequest
		options.KubernetesVersion = version
		for _, dir := range cases {
			name := filepath.Base(dir)
			unrecorded := version < "1.36" && aboutGoValues.MatchString(name) || newestOnly.MatchString(name)
			if _, excepted := exceptions[name]; excepted || unrecorded || strings.Contains(dir, "shared") {
				continue
			}
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				if problems := runRecorded(t, atVersion(t, dir, filepath.Join(answers, name), version), options); len(problems) > 0 {
					t.Error(strings.Join(problems, "\n"))
				}
			})
		}
	}
}

// aboutGoValues matches the names of the cases about Go values in 1.37.
var aboutGoValues = regexp.MustCompile(`^25[a-p]-`)

// newestOnly matches the names of the cases that were sent to 1.36.3 only.
var newestOnly = regexp.MustCompile(`^26-`)

// newestPolicies are the places where a policy has version v1.
var newestPolicies = regexp.MustCompile(`admissionregistration\.k8s\.io/v1\b`)

// atVersion copies a case, with policies that the version serves and with the answers of that
// version.
func atVersion(t *testing.T, dir, answers, version string) string {
	target := t.TempDir()
	copyTree(t, dir, target, func(path, text string) string {
		if version < "1.36" && strings.HasPrefix(path, "policies") {
			text = olderPolicies(text)
		}
		if version < "1.36" && strings.HasSuffix(path, "summary.json") { // messages contain the version
			text = strings.ReplaceAll(text, `in version \"v1\" cannot be handled as a MutatingAdmission`, `in version \"v1beta1\" cannot be handled as a MutatingAdmission`)
		}
		return text
	})
	if _, err := os.Stat(answers); err == nil {
		copyTree(t, answers, target, func(_, text string) string { return text })
	}
	return target
}

// olderPolicies changes v1 policies and bindings to v1beta1.
func olderPolicies(text string) string {
	documents := strings.Split(text, "\n---")
	for i, document := range documents {
		if strings.Contains(document, "MutatingAdmissionPolicy") {
			documents[i] = newestPolicies.ReplaceAllString(document, "admissionregistration.k8s.io/v1beta1")
		}
	}
	return strings.Join(documents, "\n---")
}

func copyTree(t *testing.T, from, to string, rewrite func(path, text string) string) {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		return os.WriteFile(target, []byte(rewrite(filepath.ToSlash(relative), string(text))), 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}
