package krmfn

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"testing"
)

// outputsOf returns the expected standard output of the stories whose names match pattern.
func outputsOf(t *testing.T, pattern string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/stories/" + pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal("no stories", err)
	}
	outputs := map[string]string{}
	for _, path := range paths {
		outputs[filepath.Base(path)], _ = readStory(t, path).take("stdout")
	}
	return outputs
}

// TestSARIF checks that the rule of every result is listed with an explanation, which the schema of
// SARIF does not require.
func TestSARIF(t *testing.T) {
	for name, output := range outputsOf(t, "*-sarif.txt") {
		var log struct {
			Runs []struct {
				Tool struct {
					Driver struct {
						Rules []struct {
							ID              string
							FullDescription struct{ Text string }
						}
					}
				}
				Results []struct{ RuleID string }
			}
		}
		if err := json.Unmarshal([]byte(output), &log); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		explained := map[string]bool{}
		for _, rule := range log.Runs[0].Tool.Driver.Rules {
			explained[rule.ID] = rule.FullDescription.Text != ""
		}
		if len(log.Runs[0].Results) == 0 {
			t.Errorf("%s: there are no results", name)
		}
		for _, result := range log.Runs[0].Results {
			if !explained[result.RuleID] {
				t.Errorf("%s: %s is not explained", name, result.RuleID)
			}
		}
	}
}

// TestJUnit checks requirements of readers of JUnit reports: names, and correct counts.
func TestJUnit(t *testing.T) {
	for name, output := range outputsOf(t, "*-junit.txt") {
		var report struct {
			XMLName  xml.Name `xml:"testsuites"`
			Tests    int      `xml:"tests,attr"`
			Failures int      `xml:"failures,attr"`
			Suites   []struct {
				Name     string `xml:"name,attr"`
				Tests    int    `xml:"tests,attr"`
				Failures int    `xml:"failures,attr"`
				Cases    []struct {
					Name      string `xml:"name,attr"`
					ClassName string `xml:"classname,attr"`
					Failure   *struct {
						Message string `xml:"message,attr"`
					} `xml:"failure"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(output), &report); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tests, failures := 0, 0
		for _, suite := range report.Suites {
			failed := 0
			for _, c := range suite.Cases {
				if c.Name == "" || c.ClassName == "" {
					t.Errorf("%s: a test without a name", name)
				}
				if c.Failure != nil {
					failed++
				}
			}
			if suite.Name == "" || suite.Tests != len(suite.Cases) || suite.Failures != failed {
				t.Errorf("%s: suite %q counts wrongly", name, suite.Name)
			}
			tests, failures = tests+len(suite.Cases), failures+failed
		}
		if report.Tests != tests || report.Failures != failures || tests == 0 {
			t.Errorf("%s: counts wrongly", name)
		}
	}
}
