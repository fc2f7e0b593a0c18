package report

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// Case is one test of a JUnit report. It has failed if Failure is not empty.
type Case struct{ Suite, Name, Failure string }

// Cases returns a test for every manifest of a report, in the suite of its file. The test fails if
// the manifest has findings. Every finding that is about no manifest is a test as well.
func Cases(r *Report) []Case {
	findings := make([][]source.Diagnostic, len(r.Manifests))
	for i, m := range r.Manifests {
		findings[i] = m.findings(r.Full)
	}
	var others []source.Diagnostic
	for _, d := range r.Diagnostics {
		if d.Severity == source.Info { // JUnit has no notes
			continue
		}
		about := r.about(d)
		for _, i := range about {
			findings[i] = append(findings[i], d)
		}
		if len(about) == 0 {
			others = append(others, d)
		}
	}
	var cases []Case
	for i, m := range r.Manifests {
		source.Sort(findings[i])
		var failures []string
		for _, d := range findings[i] {
			failures = append(failures, d.String())
		}
		cases = append(cases, Case{source.Printable(m.At.File), m.ID, strings.Join(failures, "\n")})
	}
	source.Sort(others)
	for _, d := range r.fold(others) {
		cases = append(cases, FindingCase(d))
	}
	return cases
}

// FindingCase returns a finding as a failed test.
func FindingCase(d source.Diagnostic) Case {
	suite := source.Printable(d.At.File)
	if suite == "" {
		suite = "preadmit"
	}
	return Case{suite, strings.TrimSpace(d.Code + " " + d.Subject), d.String()}
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Failure   *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes tests as a JUnit report, grouped by suite.
func JUnit(w io.Writer, cases []Case) {
	out := junitSuites{Name: "preadmit", Tests: len(cases)}
	index := map[string]int{}
	for _, c := range cases {
		i, ok := index[c.Suite]
		if !ok {
			i = len(out.Suites)
			index[c.Suite] = i
			out.Suites = append(out.Suites, junitSuite{Name: c.Suite})
		}
		suite := &out.Suites[i]
		entry := junitCase{Name: c.Name, ClassName: c.Suite}
		suite.Tests++
		if c.Failure != "" {
			suite.Failures++
			out.Failures++
			first, _, _ := strings.Cut(c.Failure, "\n")
			entry.Failure = &junitFailure{first, c.Failure}
		}
		suite.Cases = append(suite.Cases, entry)
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil { // never: these types always encode
		return
	}
	io.WriteString(w, xml.Header+string(text)+"\n")
}
