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

// answersSize is how many bytes of function results one generation keeps. There are two
// generations.
const answersSize = 64 << 20

// NewServer returns the protocol server of a provider with the given version. Terraform evaluates
// the functions in for_each once for every instance, so the server caches results: the same call
// again costs only its transport.
func NewServer(version string) tfprotov6.ProviderServer {
	return newRemembering(providerserver.NewProtocol6(New(version)())(), answersSize)
}

// newRemembering returns a server that caches answers of a server, up to a size in bytes.
func newRemembering(of tfprotov6.ProviderServer, size int) *remembering {
	s := &remembering{ProviderServer: of, answers: newAnswers(size)}
	s.life, s.stop = context.WithCancel(context.Background())
	return s
}

// remembering is a provider server that caches the answers of functions, and remembers that it was
// stopped: Terraform still calls the functions of the other instances after Ctrl-C.
type remembering struct {
	tfprotov6.ProviderServer
	answers *answers
	// life ends with stop.
	life context.Context
	stop context.CancelFunc
}

// StopProvider implements tfprotov6.ProviderServer.
func (s *remembering) StopProvider(ctx context.Context, request *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	s.stop()
	return s.ProviderServer.StopProvider(ctx, request)
}

// ReadDataSource implements tfprotov6.DataSourceServer.
func (s *remembering) ReadDataSource(ctx context.Context, request *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	ctx, cancel := s.alive(ctx)
	defer cancel()
	return s.ProviderServer.ReadDataSource(ctx, request)
}

// alive returns a context that ends when the server is stopped.
func (s *remembering) alive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(s.life, cancel)
	return ctx, cancel
}

// CallFunction implements tfprotov6.FunctionServer.
func (s *remembering) CallFunction(ctx context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	ctx, cancel := s.alive(ctx)
	defer cancel()
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

// interrupted reports whether an answer is the error of an interrupted call.
func interrupted(response *tfprotov6.CallFunctionResponse) bool {
	return response.Error != nil && isInterruption(response.Error.Text)
}

// question returns a hash of a call: the function and its arguments.
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

// part adds a text with its length to a hash, so that other divisions into texts have other
// hashes.
func part(h hash.Hash, text []byte) {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
	h.Write(length[:])
	h.Write(text)
}

// answer is a cached answer. It is valid after given is closed; nil means that the answer is not
// cached.
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

// answers is a cache with two generations. When the recent generation is too large, it replaces
// the former one. It is safe for concurrent use.
type answers struct {
	bound int

	mu             sync.Mutex
	recent, former map[question]*answer
	size           int
}

func newAnswers(bound int) *answers {
	return &answers{bound: bound, recent: map[question]*answer{}}
}

// find returns the answer to a question, and whether another call has asked it before. The first
// caller must then call keep or drop.
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

// keep stores an answer for all callers that wait for it.
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

// drop removes a question, so that the next call computes the answer again.
func (a *answers) drop(key question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.recent, key)
	delete(a.former, key)
}
