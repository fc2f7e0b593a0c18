package celenv

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestReads compares what expressions read, and shows that they have the results of expressions whose
// reads nobody notes.
func TestReads(t *testing.T) {
	for _, c := range []struct{ expression, want string }{
		{`object.spec.replicas <= 2`, "object.spec.replicas=3"},
		{`has(object.metadata.annotations)`, "object.metadata.annotations absent"},
		{`has(object.metadata.labels) && object.metadata.labels.app == 'web'`, "object.metadata.labels.app=web"},
		{`object.metadata.?labels[?'tier'].orValue('none') == 'web'`, "object.metadata.labels.tier absent"},
		{`'team' in object.metadata.labels`, "object.metadata.labels.team absent"},
		{`object.spec.template.spec.containers.all(c, c.image.contains(':'))`, "object.spec.template.spec.containers[0].image=nginx:1.25 object.spec.template.spec.containers[1].image=busybox"},
		{`object.spec.template.spec.containers.exists(c, c.name == 'x')`, "object.spec.template.spec.containers[0].name=app object.spec.template.spec.containers[1].name=side"},
		{`object.spec.template.spec.containers.all(c, has(c.resources))`, "object.spec.template.spec.containers[0].resources absent"},
		{`size(object.metadata.labels) == 2`, "object.metadata.labels=map[app:web]"},
		{`object.metadata.labels.all(k, k == 'x')`, "object.metadata.labels=map[app:web]"},
		{`object.metadata.labels == {'app': 'web'}`, "object.metadata.labels=map[app:web]"},
		{`object.spec.replicas > 5 && object.metadata.name == 'web'`, "object.spec.replicas=3"},
		{`variables.most > 5`, "object.spec.replicas=3 variables.most=4"},
		{`variables.containers.all(c, c.name != 'side')`, "object.spec.template.spec.containers[0].name=app object.spec.template.spec.containers[1].name=side"},
		{`variables.named.all(c, c.image == 'busybox')`, "object.spec.template.spec.containers[0].name=app object.spec.template.spec.containers[1].name=side object.spec.template.spec.containers[1].image=busybox"},
		{`(object.spec.template.spec.containers + object.spec.template.spec.?initContainers.orValue([])).all(c, c.name == 'app')`, "object.spec.template.spec.initContainers absent object.spec.template.spec.containers[0].name=app object.spec.template.spec.containers[1].name=side"},
		{`object.spec.template.spec.containers.map(c, c.name) == ['a']`, "object.spec.template.spec.containers[0].name=app object.spec.template.spec.containers[1].name=side"},
		{`object.spec.nothing == 1`, "object.spec.nothing absent"},
		{`namespaceObject.metadata.labels['team'] == request.operation`, "namespaceObject.metadata.labels.team=blue request.operation=CREATE"},
		{`params == null || oldObject == null`, "params=<nil>"},
		{`quantity(object.metadata.name + '1').isGreaterThan(quantity('1'))`, "object.metadata.name=web"},
		{`1 == 2`, ""},
	} {
		scope := New(36).Scope(true)
		for _, v := range [][2]string{
			{"most", "object.spec.replicas + 1"}, {"containers", "object.spec.template.spec.containers"}, {"named", "variables.containers.filter(c, c.name == 'side')"},
		} {
			if err := scope.Variable(v[0], v[1]); err != nil {
				t.Fatal(err)
			}
		}
		program, err := scope.Validation(c.expression)
		if err != nil {
			t.Fatal(err)
		}
		plain, plainErr := scope.Activate(context.Background(), input()).Bool(program, nil)
		watched := input()
		watched.Reads = &Reads{}
		got, gotErr := scope.Activate(context.Background(), watched).Bool(program, nil)
		if got != plain || fmt.Sprint(gotErr) != fmt.Sprint(plainErr) {
			t.Errorf("%s: %v, %v although it is %v, %v without notes", c.expression, got, gotErr, plain, plainErr)
		}
		var values []string
		for _, r := range watched.Reads.Values() {
			if r.Absent {
				values = append(values, r.Path.String()+" absent")
			} else {
				values = append(values, fmt.Sprintf("%s=%v", r.Path, r.Value))
			}
		}
		if got := strings.Join(values, " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.expression, got, c.want)
		}
	}
}
