package match

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apilabels "k8s.io/apimachinery/pkg/labels"

	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/manifest"
)

// TestNewSelector compares selectors that were not validated with those of apimachinery: what
// they select, and their errors.
func TestNewSelector(t *testing.T) {
	for _, text := range []string{
		"{}",
		"{matchLabels: {team: web}}",
		"{matchLabels: {team: web, tier: front}}",
		"{matchExpressions: [{key: team, operator: In, values: [web, shop]}, {key: tier, operator: NotIn, values: [back]}]}",
		"{matchExpressions: [{key: team, operator: Exists}, {key: none, operator: DoesNotExist}]}",
		"{matchLabels: {team: not a label}}",
		"{matchLabels: {not a key: web}}",
		"{matchExpressions: [{key: team, operator: In}]}",
		"{matchExpressions: [{key: team, operator: NotIn, values: []}]}",
		"{matchExpressions: [{key: team, operator: Exists, values: [web]}]}",
		"{matchExpressions: [{key: team, operator: DoesNotExist, values: [web]}]}",
		"{matchExpressions: [{key: '', operator: Like}]}",
		"{matchExpressions: [{key: team, operator: =, values: [web]}]}",
		"{matchExpressions: [{key: '', operator: In, values: [not a label, web]}]}",
		"{matchLabels: {team: web}, matchExpressions: [{key: team, operator: Gt, values: ['1']}]}",
	} {
		value, err := manifest.Value(text)
		if err != nil {
			t.Fatal(err)
		}
		var library metav1.LabelSelector
		if err := json.Unmarshal(manifest.JSON(value), &library); err != nil {
			t.Fatal(err)
		}
		want, wanted := metav1.LabelSelectorAsSelector(&library)
		got, err := NewSelector(value)
		if (err == nil) != (wanted == nil) || err != nil && err.Error() != wanted.Error() {
			t.Errorf("%s: got error %v, want %v", text, err, wanted)
		}
		if err != nil {
			continue
		}
		for _, set := range []map[string]string{nil, {"team": "web"}, {"team": "shop", "tier": "back"}, {"tier": "front", "team": "web"}, {"none": ""}} {
			lack := got.Lack(set, unknown.Observer{})
			if selected := want.Matches(apilabels.Set(set)); got.Matches(set) != selected || (lack == "") != selected {
				t.Errorf("%s, %v: want %v, lacks %q", text, set, selected, lack)
			}
		}
	}
}
