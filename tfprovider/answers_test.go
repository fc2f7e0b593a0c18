package tfprovider

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// counting is a server that returns its arguments and counts calls.
type counting struct {
	tfprotov6.ProviderServer
	calls atomic.Int32
	fail  bool
}

func (c *counting) CallFunction(_ context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	c.calls.Add(1)
	if c.fail {
		return &tfprotov6.CallFunctionResponse{Error: &tfprotov6.FunctionError{Text: "Interrupted: the run did not finish [interrupted]"}}, nil
	}
	return &tfprotov6.CallFunctionResponse{Result: request.Arguments[0]}, nil
}

func question1(t *testing.T, name string, arguments ...string) *tfprotov6.CallFunctionRequest {
	t.Helper()
	request := &tfprotov6.CallFunctionRequest{Name: name}
	for _, a := range arguments {
		request.Arguments = append(request.Arguments, encode(t, tftypes.String, tftypes.NewValue(tftypes.String, a)))
	}
	return request
}

// TestAnswers repeats questions: the answer is the same, without another call. A question with one
// different part is a new question.
func TestAnswers(t *testing.T) {
	c := &counting{}
	s := newRemembering(c, 1<<20)
	questions := [][]string{{"mutate", "ab", "c"}, {"mutate", "a", "bc"}, {"mutate", "ab", "d"}, {"explain", "ab", "c"}, {"mutate", "ab"}}
	for range 3 {
		for _, q := range questions {
			response, err := s.CallFunction(t.Context(), question1(t, q[0], q[1:]...))
			if err != nil || string(response.Result.MsgPack) != string(question1(t, "", q[1]).Arguments[0].MsgPack) {
				t.Errorf("%q: %v %v", q, response, err)
			}
		}
	}
	if got := int(c.calls.Load()); got != len(questions) {
		t.Errorf("%d calls, want %d", got, len(questions))
	}
}

// Interruptions are not cached.
func TestAnswersInterrupted(t *testing.T) {
	c := &counting{fail: true}
	s := newRemembering(c, 1<<20)
	for range 2 {
		if _, err := s.CallFunction(t.Context(), question1(t, "mutate", "a")); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.calls.Load(); got != 2 || len(s.answers.recent) != 0 {
		t.Errorf("%d calls, %d answers", got, len(s.answers.recent))
	}
}

// The size of the cache is limited.
func TestAnswersBound(t *testing.T) {
	s := newRemembering(&counting{}, 1000)
	for i := range 1000 {
		if _, err := s.CallFunction(t.Context(), question1(t, "mutate", strings.Repeat("x", 90)+fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.answers.recent) + len(s.answers.former); n > 20 {
		t.Errorf("%d answers are kept", n)
	}
}

// TestStop stops a running call, like Ctrl-C.
func TestStop(t *testing.T) {
	s := newServer(t)
	manifests := map[string]any{}
	for i := range 5000 {
		manifests[fmt.Sprint(i)] = configMap(fmt.Sprintf("c%d", i))
	}
	result := make(chan error)
	go func() {
		_, err := s.call(t, "mutate_all", manifests, []string{labelPolicy})
		result <- err
	}()
	for {
		select {
		case err := <-result:
			if err == nil || !strings.Contains(err.Error(), "[interrupted]") {
				t.Fatalf("the call went on: %v", err)
			}
			return
		default:
			if _, err := s.StopProvider(t.Context(), &tfprotov6.StopProviderRequest{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestStopped calls a provider that was stopped: Terraform still asks it about the other instances.
func TestStopped(t *testing.T) {
	s := newServer(t)
	if _, err := s.StopProvider(t.Context(), &tfprotov6.StopProviderRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.call(t, "mutate", configMap("a"), []string{labelPolicy}); err == nil || !strings.Contains(err.Error(), "[interrupted]") {
		t.Errorf("mutate: %v", err)
	}
	_, problems := s.read(t, map[string]any{"manifests": []string{configMap("a")}, "policies": []string{labelPolicy}})
	if strings.Count(problems, "ERROR") != 1 || !strings.Contains(problems, "[interrupted]") {
		t.Errorf("data source: %s", problems)
	}
}
