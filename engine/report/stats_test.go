package report

import (
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine"
)

func TestPrometheus(t *testing.T) {
	var b strings.Builder
	Prometheus(&b, []engine.Stat{{Policy: `a"b`, Binding: "c", Rule: "mutations[0]", Evaluations: 3, Applied: 1, Skipped: 1, Errors: 1, Variables: 2, Time: 1500 * time.Millisecond}})
	labels := `{policy="a\"b",binding="c",rule="mutations[0]"} `
	for _, want := range []string{
		"# TYPE preadmit_policy_evaluations_total counter\n",
		"preadmit_policy_evaluations_total" + labels + "3\n",
		"preadmit_policy_applied_total" + labels + "1\n",
		"preadmit_policy_skipped_total" + labels + "1\n",
		"preadmit_policy_errors_total" + labels + "1\n",
		"preadmit_policy_variable_evaluations_total" + labels + "2\n",
		"preadmit_policy_duration_seconds_total" + labels + "1.5\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
