package webhook

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const (
	// mostCompared is how many recorded requests are compared, and mostShown how many changes are
	// shown.
	mostCompared = 50
	mostShown    = 5
)

// missing returns the error about a request without an answer. It says what has changed since the
// nearest recorded request: the one of the same object if there is one.
func (all *Recorded) missing(w policy.WebhookName, request map[string]any) error {
	err := &policy.MissingAnswerError{Advice: "record the answers again with --record-webhooks, and a program or a URL that answers"}
	what := fmt.Sprintf("%s of %s", request["operation"], nameIn(request))
	changes, nearest := all.nearest(w, request)
	if nearest == nil {
		err.Err = source.Messagef("webhook %s of %s has no recorded answer to the %s, nor to any similar request", source.Name(w.Name), source.Name(w.Configuration), source.Name(what))
		return err
	}
	var texts []string
	for i, c := range changes {
		if i == mostShown {
			texts = append(texts, fmt.Sprintf("and %d more", len(changes)-i))
			break
		}
		texts = append(texts, "request."+c.Path.String()+" "+told(c))
	}
	err.Err = source.Messagef("webhook %s of %s has no recorded answer to the %s; since the nearest recorded request (%s): %s",
		source.Name(w.Name), source.Name(w.Configuration), source.Name(what), nearest.at, strings.Join(texts, ", "))
	return err
}

// told says what a change does.
func told(c change.Change) string {
	switch c.Op {
	case change.Add:
		return fmt.Sprintf("is new: %s", manifest.JSON(c.New))
	case change.Remove:
		return fmt.Sprintf("is gone: it was %s", manifest.JSON(c.Old))
	case change.Move:
		return "has another place in the list"
	}
	return fmt.Sprintf("was %s, and is %s now", manifest.JSON(c.Old), manifest.JSON(c.New))
}

// likenesses returns what a request has in common with similar ones, the most telling first.
func likenesses(of name, request map[string]any) []likeness {
	kind := string(manifest.JSON(request["kind"]))
	return []likeness{{of, nameIn(request), kind}, {webhook: of, kind: kind}}
}

// nearest returns the recorded request with the fewest changes, and these.
func (all *Recorded) nearest(w policy.WebhookName, request map[string]any) (changes []change.Change, nearest *record) {
	for _, l := range likenesses(nameOf(w), request) {
		records := all.similar[l]
		for _, a := range records[:min(len(records), mostCompared)] {
			if found := change.Diff(a.request, request, nil); nearest == nil || len(found) < len(changes) {
				changes, nearest = found, a
			}
		}
		if nearest != nil {
			break
		}
	}
	return changes, nearest
}

// nameIn names the object of a request.
func nameIn(request map[string]any) string {
	kind, _ := change.Keys("kind", "kind").Get(request)
	name, _ := change.Keys("object", "metadata", "name").Get(request)
	if name == nil {
		name, _ = change.Keys("object", "metadata", "generateName").Get(request)
	}
	text := fmt.Sprint(name)
	if namespace, _ := request["namespace"].(string); namespace != "" {
		text = namespace + "/" + text
	}
	return fmt.Sprintf("%s %s", kind, text)
}
