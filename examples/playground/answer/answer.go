package answer

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine"
)

// Session answers requests, one after the other. It keeps the compiled policies of the last
// requests, because most requests have the same policies, with or without admission plug-ins.
type Session struct {
	// Progress, if it is not nil, is called while policies run, with the number of manifests that are
	// done. It is called at most once for each percent.
	Progress func(done, total int)

	kept [2]kept
	// checked is that of the last hover.
	checked checked
}

// progress observes a run for Progress.
func (s *Session) progress() engine.Observer {
	percent := -1
	return engine.Progress(func(done, total int) {
		if now := 100 * done / total; s.Progress != nil && now > percent {
			percent = now
			s.Progress(done, total)
		}
	})
}

// kept are compiled rules with the key of their request.
type kept struct {
	key   string
	rules *rules
}

// rules returns the rules of a request, and moves them to the front of the kept rules.
func (s *Session) rules(r *Request) *rules {
	key := r.key()
	if i := slices.IndexFunc(s.kept[:], func(k kept) bool { return k.key == key }); i >= 0 {
		s.kept[0], s.kept[i] = s.kept[i], s.kept[0]
	} else {
		s.kept[1] = s.kept[0]
		s.kept[0] = kept{key, r.rules()}
	}
	return s.kept[0].rules
}

// questions is the table of questions.
var questions = map[string]func(*Session, *Request) (any, error){
	"explain":  sure((*Session).explain),
	"check":    sure((*Session).check),
	"view":     sure((*Session).view),
	"pods":     sure((*Session).pods),
	"complete": sure((*Session).complete),
	"hover":    sure((*Session).hover),
	"command":  sure((*Session).command),
	"test":     (*Session).test,
	"page":     (*Session).page,
}

// sure adapts a function without an error to the table of questions.
func sure[T any](answer func(*Session, *Request) T) func(*Session, *Request) (any, error) {
	return func(s *Session, r *Request) (any, error) { return answer(s, r), nil }
}

// JSON answers a request in JSON. If that fails, the answer is an object with the key "error" only.
func (s *Session) JSON(request string) string {
	answer, err := s.answer(request)
	var data []byte
	if err == nil {
		data, err = json.Marshal(answer)
	}
	if err != nil {
		data, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return string(data)
}

func (s *Session) answer(request string) (any, error) {
	r, err := read(request)
	if err != nil {
		return nil, err
	}
	question := questions[r.Ask]
	if question == nil {
		return nil, fmt.Errorf("there is no question %q", r.Ask)
	}
	return question(s, r)
}
