package krmfn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// parameter is a parameter of an Argo CD application.
type parameter struct {
	name, title string
	// layout is the name of the layout that has the parameter; empty means all layouts.
	layout string
	help   string
	// target returns a pointer to the value: *string, *bool, *[]path or *map[string]string.
	target func(c *config) any
	// preset returns the value if none is given.
	preset func(p *Process) string
}

// parameters is the table of all parameters.
var parameters = []parameter{
	{
		name: "policies", title: "Policies",
		help:   "files and directories with policies and their bindings, in addition to those of the plugin",
		target: func(c *config) any { return &c.documents[settings.Policies].paths },
	},
	{
		name: "context", title: "Context",
		help:   "files and directories with other objects of the cluster: params, Namespaces, CustomResourceDefinitions",
		target: func(c *config) any { return &c.documents[settings.Context].paths },
	},
	{
		name: "release-name", title: "Release name", layout: chart, preset: (*Process).releaseName,
		help:   "name of the release (default: name of the application)",
		target: func(c *config) any { return &c.releaseName },
	},
	{
		name: "value-files", title: "Value files", layout: chart,
		help:   "files with values for the chart; later files win over earlier ones",
		target: func(c *config) any { return &c.valueFiles },
	},
	{
		name: "helm-parameters", title: "Helm parameters", layout: chart,
		help:   "values of the chart by path, as for helm --set; they win over value files",
		target: func(c *config) any { return &c.chartParameters },
	},
	{
		name: "helm-values", title: "Helm values", layout: chart,
		help:   "values of the chart as YAML; they win over value files",
		target: func(c *config) any { return &c.chartValues },
	},
	{
		name: "recurse", title: "Recurse", layout: plainManifests, preset: func(*Process) string { return "false" },
		help:   "also read the manifests in subdirectories",
		target: func(c *config) any { return &c.recurse },
	},
}

// givenParameter is a parameter as Argo CD gives it.
type givenParameter struct {
	Name   string
	String *string
	Array  []string
	Map    map[string]string
}

// readParameters sets the values of parameters, given as JSON, in the config. A parameter may
// have a string, an array or a map; null means that it is not given.
func (a *application) readParameters(text string) []source.Diagnostic {
	var given []givenParameter
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return []source.Diagnostic{source.Errorf(source.Position{}, "parameter-value", "ARGOCD_APP_PARAMETERS is not a list of parameters in Argo CD's format").
			With("expected JSON like " + `[{"name": "policies", "array": ["policies/"]}]`)}
	}
	var problems []source.Diagnostic
	for _, g := range given {
		fail := func(code, message, advice string) {
			d := source.Errorf(source.Position{}, code, "%s", message).With(advice)
			d.Field = "parameter " + g.Name
			problems = append(problems, d)
		}
		switch p := parameterNamed(g.Name); {
		case p == nil:
			fail("parameter-unknown", "unknown parameter", source.Suggest(g.Name, a.parameterNames()).Text)
		case (g.String == nil || *g.String == "") && g.Array == nil && g.Map == nil: // the user cleared it
		case p.layout != "" && p.layout != a.layout.name:
			fail("parameter-unused", "the parameter is for "+p.layout+", but the directory of the application holds "+a.layout.name, "remove the parameter")
		default:
			if problem := a.setParameter(p, g); problem != "" {
				fail("parameter-value", problem, "")
			}
		}
	}
	return problems
}

// setParameter sets a parameter. It returns what is wrong with the value, or "".
func (a *application) setParameter(p *parameter, g givenParameter) (problem string) {
	switch target := p.target(a.config).(type) {
	case *map[string]string:
		if *target = g.Map; g.Map == nil {
			return "expected a map"
		}
	case *[]path:
		for _, name := range g.Array {
			*target = append(*target, a.path(name, "parameter "+g.Name))
		}
		if g.Array == nil {
			return "expected an array"
		}
	case *string:
		if g.String == nil {
			return "expected a string"
		}
		*target = *g.String
	case *bool:
		if g.String == nil {
			return "expected a string"
		}
		if *target = *g.String == "true"; !*target && *g.String != "false" {
			return fmt.Sprintf("%q is not a valid value; expected true or false", *g.String)
		}
	}
	return ""
}

func parameterNamed(name string) *parameter {
	for i := range parameters {
		if parameters[i].name == name {
			return &parameters[i]
		}
	}
	return nil
}

// parameterNames returns the names of the parameters that the application can have.
func (a *application) parameterNames() []string {
	var names []string
	for _, p := range a.announced() {
		names = append(names, p.name)
	}
	return names
}

// announced returns the parameters that the application can have.
func (a *application) announced() []parameter {
	var found []parameter
	for _, p := range parameters {
		if p.layout == "" || p.layout == a.layout.name {
			found = append(found, p)
		}
	}
	return found
}

// announcement describes a parameter in the format of Argo CD v3.
type announcement struct {
	Name           string   `json:"name"`
	Title          string   `json:"title"`
	Tooltip        string   `json:"tooltip"`
	ItemType       string   `json:"itemType,omitempty"`
	CollectionType string   `json:"collectionType,omitempty"`
	String         string   `json:"string,omitempty"`
	Array          []string `json:"array,omitempty"`
}

// announce prints the parameters that the application can have.
func (p *Process) announce(_ context.Context, _ arguments) int {
	app := p.newApplication(new(config))
	var list []announcement
	for _, parameter := range app.announced() {
		a := announcement{Name: parameter.name, Title: parameter.title, Tooltip: parameter.help}
		switch parameter.target(new(config)).(type) {
		case *[]path:
			a.CollectionType = "array"
		case *map[string]string:
			a.CollectionType = "map"
		case *bool:
			a.ItemType = "boolean"
		}
		if parameter.preset != nil {
			a.String = parameter.preset(p)
		}
		list = append(list, a)
	}
	return p.write(func(w io.Writer) {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(list) // strings can always be encoded
	})
}

// parametersHelp returns the help of the parameters.
func parametersHelp() string {
	var b strings.Builder
	for _, p := range parameters {
		text := p.help
		if p.layout != "" {
			text = fmt.Sprintf("for %s: %s", p.layout, text)
		}
		entry(&b, p.name, 14, text)
	}
	return b.String()
}
