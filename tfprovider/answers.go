package tfprovider

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// answersSize bounds the answers to functions that are kept, in bytes; twice as much may
// be in memory.
const answersSize = 64 << 20

// NewServer returns a provider of a version as Terraform talks to it. Terraform evaluates
// the functions in for_each once for every instance, so answers are kept by all that was
// asked: the same call again costs no more than its transport.
func NewServer(version string) tfprotov6.ProviderServer {
	return &remembering{ProviderServer: providerserver.NewProtocol6(New(version)())(), answers: newAnswers(answersSize)}
}

// remembering is the provider with the answers that it gave.
type remembering struct {
	tfprotov6.ProviderServer
	answers *answers
}

// CallFunction implements tfprotov6.FunctionServer.
func (s *remembering) CallFunction(ctx context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	key := questionOf(request)
	a, asked := s.answers.find(key)
	if !asked {
		defer close(a.given)
		response, err := s.ProviderServer.CallFunction(ctx, request)
		if err == nil && ctx.Err() == nil && !interrupted(response) {
			s.answers.keep(key, a, response)
		} else {
			s.answers.drop(key)
		}
		return response, err
	}
	select {
	case <-a.given:
		if a.response != nil {
			return a.response, nil
		}
	case <-ctx.Done():
	}
	return s.ProviderServer.CallFunction(ctx, request)
}

// interrupted reports whether an answer says that there was no time for one.
func interrupted(response *tfprotov6.CallFunctionResponse) bool {
	return response.Error != nil && isInterruption(response.Error.Text)
}

// question is the hash of all that a call asks.
type question [sha256.Size]byte

func questionOf(request *tfprotov6.CallFunctionRequest) (q question) {
	h := sha256.New()
	part(h, []byte(request.Name))
	for _, argument := range request.Arguments {
		part(h, argument.MsgPack)
		part(h, argument.JSON)
	}
	h.Sum(q[:0])
	return q
}

// part adds a text to a hash so that no other division into texts has the same one.
func part(h hash.Hash, text []byte) {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
	h.Write(length[:])
	h.Write(text)
}

// answer is what a question was answered, once given is closed; nil if it is not kept.
type answer struct {
	given    chan struct{}
	response *tfprotov6.CallFunctionResponse
}

func (a *answer) size() int {
	size := sha256.Size
	if a.response.Result != nil {
		size += len(a.response.Result.MsgPack) + len(a.response.Result.JSON)
	}
	if a.response.Error != nil {
		size += len(a.response.Error.Text)
	}
	return size
}

// answers are kept in two generations. When the recent ones are too large they become the
// former ones, and those before are let go. They are safe for concurrent use.
type answers struct {
	bound int

	mu             sync.Mutex
	recent, former map[question]*answer
	size           int
}

func newAnswers(bound int) *answers {
	return &answers{bound: bound, recent: map[question]*answer{}}
}

// find returns the answer to a question, and whether somebody has asked it before. The
// first one to ask must keep it or drop it.
func (a *answers) find(key question) (found *answer, asked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found := a.recent[key]; found != nil {
		return found, true
	}
	if found := a.former[key]; found != nil {
		delete(a.former, key)
		a.add(key, found)
		return found, true
	}
	found = &answer{given: make(chan struct{})}
	a.recent[key] = found
	return found, false
}

// keep gives an answer.
func (a *answers) keep(key question, to *answer, response *tfprotov6.CallFunctionResponse) {
	a.mu.Lock()
	defer a.mu.Unlock()
	to.response = response
	a.add(key, to)
}

func (a *answers) add(key question, given *answer) {
	if a.size > a.bound {
		a.former, a.recent, a.size = a.recent, map[question]*answer{}, 0
	}
	a.recent[key] = given
	if given.response != nil {
		a.size += given.size()
	}
}

// drop forgets a question, to be answered again.
func (a *answers) drop(key question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.recent, key)
	delete(a.former, key)
}
