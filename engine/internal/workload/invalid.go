package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// Invalid returns the reason why a server refuses an object whose controller could then make
// nothing: the first invalid field, and the server's error. It is not a complete validation: it
// finds only errors that prevent Pods.
func Invalid(kind gvk.Kind, owner map[string]any) (change.Path, error) {
	v := &validation{}
	switch kind {
	case CronJobKind:
		v.cronJob(owner)
	case JobKind:
		v.job(owner)
	default:
		v.replicated(kind, owner)
	}
	if len(v.problems) == 0 {
		return nil, nil
	}
	name := kind.Kind
	if kind.Group != "" {
		name += "." + kind.Group
	}
	text := v.problems[0].String()
	if len(v.problems) > 1 {
		var all []string
		for _, p := range v.problems {
			all = append(all, p.String())
		}
		text = "[" + strings.Join(all, ", ") + "]"
	}
	return v.problems[0].path, fmt.Errorf("%s %q is invalid: %s", name, Name(owner), text)
}

// validation collects problems.
type validation struct{ problems []problem }

// problem is an error about a field.
type problem struct {
	path change.Path
	text string
}

// String prints the problem as a server does.
func (p problem) String() string { return p.path.String() + ": " + p.text }

func (v *validation) add(path change.Path, format string, args ...any) {
	v.problems = append(v.problems, problem{path, fmt.Sprintf(format, args...)})
}

// emptySelectors are the kinds as server messages about an empty selector name them.
var emptySelectors = map[gvk.Kind]string{
	DeploymentKind: "deployment", ReplicaSetKind: "deployment", StatefulSetKind: "statefulset", DaemonSetKind: "daemonset",
}

// replicated checks an object whose Pods run forever.
func (v *validation) replicated(kind gvk.Kind, owner map[string]any) {
	spec := podspec.Map(owner, "spec")
	template := podspec.Map(spec, "template")
	if kind == ReplicationControllerKind && template == nil {
		v.add(templatePath, "Required value")
		return
	}
	selector := podspec.Map(spec, "selector")
	empty := emptySelectors[kind]
	switch {
	case selector == nil && kind != DaemonSetKind && empty != "":
		v.add(change.Keys("spec", "selector"), "Required value")
	case selector != nil && len(selector) == 0 && empty != "":
		v.add(change.Keys("spec", "selector"), "Invalid value: {}: empty selector is invalid for %s", empty)
	}
	v.selected(owner, template, selector == nil && empty != "")
	v.containers(templatePath, template)
	if policy := podspec.Text(template, "spec", "restartPolicy"); policy != "Always" && policy != "" {
		v.add(slices.Concat(templatePath, change.Keys("spec", "restartPolicy")), `Unsupported value: %q: supported values: "Always"`, policy)
	}
}

// selected checks that the selector of an owner selects the Pods of its template; none says that
// the selector selects nothing.
func (v *validation) selected(owner, template map[string]any, none bool) {
	if _, why := unselected(owner, map[string]any{"metadata": podspec.Map(template, "metadata")}, ""); why == "" && !none {
		return
	}
	v.add(slices.Concat(templatePath, change.Keys("metadata", "labels")), "Invalid value: %s: `selector` does not match template `labels`", inJSON(podspec.Map(template, "metadata", "labels")))
}

func (v *validation) containers(path change.Path, template map[string]any) {
	path = slices.Concat(path, change.Keys("spec", "containers"))
	containers := podspec.Maps(podspec.Map(template, "spec"), "containers")
	if len(containers) == 0 {
		v.add(path, "Required value")
	}
	for i, c := range containers {
		if podspec.Text(c, "name") == "" {
			v.add(path.Index(i).Key("name"), "Required value")
		}
	}
}

// ends checks that the restart policy allows the containers of a Job to end.
func (v *validation) ends(path change.Path, template map[string]any) {
	if policy := podspec.Text(template, "spec", "restartPolicy"); policy == "Always" || policy == "" {
		v.add(slices.Concat(path, change.Keys("spec", "restartPolicy")), `Required value: valid values: "OnFailure", "Never"`)
	}
}

func (v *validation) job(owner map[string]any) {
	selector, template := podspec.Map(owner, "spec", "selector"), podspec.Map(owner, "spec", "template")
	generated := map[string]any{"matchLabels": map[string]any{"batch.kubernetes.io/controller-uid": UID}}
	if manual, _ := podspec.Bool(owner, "spec", "manualSelector"); !manual && !change.Equal(selector, generated) {
		v.add(change.Keys("spec", "selector"), "Invalid value: %s: `selector` not auto-generated", inJSON(selector))
	}
	v.containers(templatePath, template)
	v.ends(templatePath, template)
	v.selected(owner, template, false)
}

func (v *validation) cronJob(owner map[string]any) {
	path := change.Keys("spec", "jobTemplate", "spec")
	spec := podspec.Map(owner, "spec", "jobTemplate", "spec")
	template := podspec.Map(spec, "template")
	v.containers(path.Key("template"), template)
	v.ends(path.Key("template"), template)
	if selector := podspec.Map(spec, "selector"); selector != nil {
		v.add(path.Key("selector"), "Invalid value: %s: `selector` will be auto-generated", inJSON(selector))
	}
}

// inJSON prints a map as a server does; a missing map is null.
func inJSON(value map[string]any) string {
	if value == nil {
		return "null"
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic("workload: a value that was read cannot be written: " + err.Error())
	}
	return string(text)
}
