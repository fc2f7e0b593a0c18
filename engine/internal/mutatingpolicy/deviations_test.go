package mutatingpolicy

import (
	"os"
	"strings"
	"testing"
)

// TestRecordings requires three recorded cases of every deviation, or the source of what only a
// cluster does.
func TestRecordings(t *testing.T) {
	for _, d := range deviations {
		cases := 0
		for _, name := range d.Recordings {
			text, err := os.ReadFile("../../testdata/kyverno/recorded/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			cases += strings.Count(string(text), "/printed.txt --\n")
		}
		if cases < 3 && d.Source == "" || !d.In("1.19") {
			t.Errorf("%s: %d recorded cases", d, cases)
		}
	}
}
