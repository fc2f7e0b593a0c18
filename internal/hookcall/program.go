package hookcall

import (
	"context"
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/policy"
)

// program is a program that reads an AdmissionReview from standard input and writes its answer to
// standard output. It runs once for each request. It implements sender.
type program struct {
	args []string
	run  Run
}

// send implements sender.
func (p program) send(ctx context.Context, w policy.WebhookName, review []byte) (policy.Answer, error) {
	if p.run == nil {
		return policy.Answer{}, errors.New("no programs can be run here")
	}
	body, err := p.run(ctx, p.args, review)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return policy.Answer{}, fmt.Errorf("%s took longer than %v: %w", p.args[0], w.Timeout, err)
	case err != nil:
		return policy.Answer{}, fmt.Errorf("%s: %w", p.args[0], err)
	}
	return policy.Answer{Body: body}, nil
}
