package report

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/preadmit/preadmit/engine"
)

// TestPrometheus reads the output with the parser of Prometheus.
func TestPrometheus(t *testing.T) {
	var b strings.Builder
	const hostile = "a\"b\\n\nü{},\x01"
	Prometheus(&b, []engine.Stat{
		{Policy: hostile, Binding: "c", Rule: "mutations[0]", Evaluations: 3, Applied: 1, Skipped: 1, Errors: 1, Variables: 2, Time: 1500 * time.Millisecond},
		{Policy: "other", Evaluations: 1, Skipped: 1},
	})
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	want := map[string]float64{"evaluations_total": 3, "applied_total": 1, "skipped_total": 1, "errors_total": 1, "variable_evaluations_total": 2, "duration_seconds_total": 1.5}
	if len(families) != len(want) {
		t.Errorf("%d metrics, want %d", len(families), len(want))
	}
	for name, value := range want {
		family := families["preadmit_policy_"+name]
		if family.GetType().String() != "COUNTER" || family.GetHelp() == "" || len(family.GetMetric()) != 2 {
			t.Fatalf("%s: %v", name, family)
		}
		metric := family.GetMetric()[0]
		labels := map[string]string{}
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		if got := metric.GetCounter().GetValue(); got != value || !maps.Equal(labels, map[string]string{"policy": hostile, "binding": "c", "rule": "mutations[0]"}) {
			t.Errorf("%s: %v of %q, want %v", name, got, labels, value)
		}
	}
}
