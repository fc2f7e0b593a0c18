package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// stream is the standard input and output of the server.
type stream struct {
	in  io.Reader
	out io.Writer
}

// Read implements io.Reader.
func (s stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// Write implements io.Writer.
func (s stream) Write(p []byte) (int, error) { return s.out.Write(p) }

// Close implements io.Closer. The process owns its input and output.
func (s stream) Close() error { return nil }

// lenient is a stream that answers what is no message, and reads on. Only a header without a length ends it: nobody
// knows where the next message begins.
type lenient struct{ jsonrpc2.Stream }

// noParams are params that no method of the protocol takes. Without any, the library would not find out whether it knows
// the method.
var noParams = jsonrpc2.RawMessage(`""`)

// Read implements jsonrpc2.Stream.
func (s lenient) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		message, size, err := s.Stream.Read(ctx)
		if !errors.Is(err, jsonrpc2.ErrParse) && !errors.Is(err, jsonrpc2.ErrInvalidRequest) {
			if call, isCall := message.(*jsonrpc2.Call); isCall && len(call.Params()) == 0 {
				message = jsonrpc2.NewCall(call.ID(), call.Method(), noParams)
			}
			return message, size, err
		}
		if _, err := s.Write(ctx, jsonrpc2.NewResponse(jsonrpc2.ID{}, nil, err)); err != nil {
			return nil, 0, err
		}
	}
}

// codec encodes the payloads of messages.
type codec struct{}

// Marshal implements jsonrpc2.Codec.
func (codec) Marshal(value any) ([]byte, error) {
	if raw, ok := value.(jsonrpc2.RawMessage); ok {
		return raw, nil
	}
	return protocol.Marshal(value)
}

// Unmarshal implements jsonrpc2.Codec.
func (codec) Unmarshal(data []byte, value any) error {
	if raw, ok := value.(*jsonrpc2.RawMessage); ok {
		*raw = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	}
	return protocol.Unmarshal(data, value)
}

// handle answers messages in the order in which they arrive. An error or a panic of one message must
// not end the connection: the library closes it if a notification has an error.
func handle(next jsonrpc2.Handler) jsonrpc2.Handler {
	return func(ctx context.Context, request *jsonrpc2.Request) (result any, err error) {
		defer func() {
			if problem := recover(); problem != nil {
				result, err = nil, jsonrpc2.NewError(jsonrpc2.ErrInternal.Code, fmt.Sprintf("internal error in %s: %v", request.Method(), problem))
			}
			switch {
			case !request.IsCall():
				err = nil
			case errors.Is(err, jsonrpc2.ErrParse): // the message is JSON: its params have other types
				err = jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
			}
		}()
		return next(ctx, request)
	}
}
