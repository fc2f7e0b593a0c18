package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

var (
	githubData       = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperties = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHub writes findings as workflow commands of GitHub Actions. GitHub shows them at the lines of
// a pull request.
func GitHub(w io.Writer, findings []source.Diagnostic) {
	for _, d := range findings {
		level := map[source.Severity]string{source.Info: "notice", source.Warning: "warning", source.Error: "error"}[d.Severity]
		properties := "title=" + githubProperties.Replace("preadmit "+d.Code)
		if at := inFile(d); at.IsKnown() {
			properties += ",file=" + githubProperties.Replace(source.Printable(at.File))
			if at.Line > 0 {
				properties += fmt.Sprintf(",line=%d", at.Line)
			}
			if at.Column > 0 {
				properties += fmt.Sprintf(",col=%d", at.Column)
			}
		}
		fmt.Fprintf(w, "::%s %s::%s\n", level, properties, githubData.Replace(d.Text()))
	}
}
