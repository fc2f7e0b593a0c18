package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// policiesOf returns the names of the policies of statistics for a table.
func policiesOf(stats []engine.Stat) func(engine.Stat) string {
	id := func(s engine.Stat) policy.ID { return policy.ID{Kind: s.Kind, Policy: s.Policy} }
	names := policy.Names(func(yield func(policy.ID) bool) {
		for _, s := range stats {
			if !yield(id(s)) {
				return
			}
		}
	})
	return func(s engine.Stat) string { return names[id(s)] }
}

// Stats writes the statistics of policies as a table.
func Stats(w io.Writer, stats []engine.Stat) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\tBINDING\tRULE\tEVALUATED\tAPPLIED\tSKIPPED\tERRORS\tVARIABLES\tTIME")
	name := policiesOf(stats)
	for _, s := range stats {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", source.Printable(name(s)), dash(s.Binding), dash(s.Rule),
			s.Evaluations, s.Applied, s.Skipped, s.Errors, s.Variables, s.Time.Round(time.Microsecond))
	}
	t.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return source.Printable(text)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Prometheus writes the statistics of policies in the text format of Prometheus, for its textfile
// collector.
func Prometheus(w io.Writer, stats []engine.Stat) {
	policyName := policiesOf(stats)
	for _, m := range []struct {
		name, help string
		value      func(s engine.Stat) string
	}{
		{"evaluations_total", "How often a policy, binding or rule was tried on a manifest.", func(s engine.Stat) string { return fmt.Sprint(s.Evaluations) }},
		{"applied_total", "How often it gave a result.", func(s engine.Stat) string { return fmt.Sprint(s.Applied) }},
		{"skipped_total", "How often it did not apply.", func(s engine.Stat) string { return fmt.Sprint(s.Skipped) }},
		{"errors_total", "How often it failed.", func(s engine.Stat) string { return fmt.Sprint(s.Errors) }},
		{"variable_evaluations_total", "How often its variables were evaluated.", func(s engine.Stat) string { return fmt.Sprint(s.Variables) }},
		{"duration_seconds_total", "How many seconds its rules took.", func(s engine.Stat) string { return fmt.Sprint(s.Time.Seconds()) }},
	} {
		name := "preadmit_policy_" + m.name
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s counter\n", name, m.help, name)
		for _, s := range stats {
			fmt.Fprintf(w, "%s{policy=\"%s\",binding=\"%s\",rule=\"%s\"} %s\n", name,
				labelEscapes.Replace(policyName(s)), labelEscapes.Replace(s.Binding), labelEscapes.Replace(s.Rule), m.value(s))
		}
	}
}
