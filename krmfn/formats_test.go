package krmfn

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outputsOf are what stories with a name like pattern expect on standard output.
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

// TestSARIF holds the outputs to what the schema of SARIF 2.1.0 requires of the parts
// that are used; a field that is not known fails.
func TestSARIF(t *testing.T) {
	type text struct {
		Text string `json:"text"`
	}
	type location struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *struct {
				StartLine   int `json:"startLine"`
				StartColumn int `json:"startColumn"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
	for name, output := range outputsOf(t, "*-sarif.txt") {
		var log struct {
			Schema  string `json:"$schema"`
			Version string `json:"version"`
			Runs    []struct {
				ColumnKind string `json:"columnKind"`
				Tool       struct {
					Driver struct {
						Name           string `json:"name"`
						InformationURI string `json:"informationUri"`
						Rules          []struct {
							ID               string `json:"id"`
							HelpURI          string `json:"helpUri"`
							ShortDescription text   `json:"shortDescription"`
							FullDescription  text   `json:"fullDescription"`
							Help             text   `json:"help"`
						} `json:"rules"`
					} `json:"driver"`
				} `json:"tool"`
				Results []struct {
					RuleID    string     `json:"ruleId"`
					Level     string     `json:"level"`
					Message   text       `json:"message"`
					Locations []location `json:"locations"`
				} `json:"results"`
			} `json:"runs"`
		}
		decoder := json.NewDecoder(strings.NewReader(output))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&log); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		run := log.Runs[0]
		if log.Version != "2.1.0" || run.Tool.Driver.Name == "" || run.ColumnKind != "unicodeCodePoints" || len(run.Results) == 0 {
			t.Errorf("%s: a required field is missing", name)
		}
		for _, result := range run.Results {
			known := false
			for _, rule := range run.Tool.Driver.Rules {
				known = known || rule.ID == result.RuleID
			}
			if !known || result.Message.Text == "" || !slices.Contains([]string{"note", "warning", "error"}, result.Level) {
				t.Errorf("%s: %+v", name, result)
			}
			for _, l := range result.Locations {
				if r := l.PhysicalLocation.Region; l.PhysicalLocation.ArtifactLocation.URI == "" || r != nil && r.StartLine < 1 {
					t.Errorf("%s: %+v", name, l)
				}
			}
		}
	}
}

// TestJUnit holds the outputs to what readers of JUnit reports require: names, and
// counts that agree with what is there.
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
