package report

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/policy"
)

// objection converts what validation says to what may be shown of it.
func (c converter) objection(from engine.Objection) engine.Objection {
	from.By, from.Cause = c.names(from.By), c.names(from.Cause)
	from.Said, from.Expression, from.Facts = c.redactor.Text(from.Said), c.redactor.Text(from.Expression), c.redactor.Facts(from.Facts)
	return from
}

// validator names the rule that has an objection.
func validator(o engine.Objection) string {
	if o.By == (policy.ID{}) {
		return "the validation of its kind"
	}
	return o.By.String()
}

// titleOf says what becomes of the object because of an objection.
func titleOf(o engine.Objection) string {
	if o.Effect == engine.Repaired {
		return "would be refused, without the policies, by " + validator(o)
	}
	return string(o.Effect) + " by " + validator(o)
}

// causeOf names the mutation that an objection is about; "" if it is about no mutation.
func causeOf(o engine.Objection) string {
	switch {
	case o.Cause == (policy.ID{}):
		return ""
	case o.Effect == engine.Repaired:
		return "repaired by " + o.Cause.String()
	}
	return "made by " + o.Cause.String()
}

// objection writes what validation says about an object.
func (x *explainer) objection(o engine.Objection) {
	fmt.Fprintf(x.w, "  %s%s\n", paint(titleOf(o), effectColors[o.Effect], x.colored), paint(at(o.At), dim, x.colored))
	line := func(format string, args ...any) { fmt.Fprintf(x.w, "      "+format+"\n", args...) }
	if o.Effect != engine.Annotated { // the annotations follow
		line("%s", o.Said)
	}
	if o.Expression != "" {
		line("expression: %s", strings.Join(strings.Fields(o.Expression), " "))
	}
	for _, f := range o.Facts {
		line("%s", f)
	}
	if cause := causeOf(o); cause != "" {
		line("%s%s", cause, paint(at(o.CauseAt), dim, x.colored))
	}
}

// effectColors are the colours of effects.
var effectColors = map[engine.Effect]string{engine.Refused: red, engine.Warns: yellow, engine.Annotated: dim, engine.Repaired: green}

// jsonObjection is what validation says about an object.
type jsonObjection struct {
	jsonName
	At         *jsonPlace `json:"at,omitempty"`
	Effect     string     `json:"effect"`
	Said       string     `json:"message"`
	Expression string     `json:"expression,omitempty"`
	Facts      []jsonFact `json:"facts,omitempty"`
	// Cause is the rule without whose change a server would not refuse the object, or would, if it is repaired.
	Cause *jsonNamedPlace `json:"cause,omitempty"`
}

func jsonObjections(all []engine.Objection) (out []jsonObjection) {
	for _, o := range all {
		one := jsonObjection{
			jsonName: jsonName{o.By.Policy, o.By.Binding, o.By.Param, o.By.Rule, o.By.Plugin, o.By.Kind}, At: place(o.At),
			Effect: string(o.Effect), Said: o.Said, Expression: o.Expression, Facts: jsonFacts(o.Facts),
		}
		if o.Cause != (policy.ID{}) {
			one.Cause = &jsonNamedPlace{o.Cause.String(), place(o.CauseAt)}
		}
		out = append(out, one)
	}
	return out
}

// objections writes what validation says about an object.
func (b *htmlWriter) objections(m Manifest) {
	for _, o := range m.Objections {
		b.write(`<div class="%s" data-policies="%s"><b>%s</b> <span class="soft">%s</span>: %s<ul>`, string(o.Effect), o.By.Policy, titleOf(o), o.At.String(), o.Said)
		if o.Expression != "" {
			b.write(`<li>expression <code>%s</code></li>`, o.Expression)
		}
		for _, f := range o.Facts {
			b.write(`<li>%s</li>`, f.String())
		}
		if cause := causeOf(o); cause != "" {
			b.write(`<li>%s <span class="soft">%s</span></li>`, cause, o.CauseAt.String())
		}
		b.WriteString(`</ul></div>`)
	}
}
