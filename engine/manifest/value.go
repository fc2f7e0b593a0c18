package manifest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// Value reads a single YAML or JSON value of any type, as Read reads values in documents. The error
// contains no part of the text.
func Value(text string) (any, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for strings.HasPrefix(text, "---\n") {
		text = text[len("---\n"):]
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	// Indent the text, so that it is the value of the key.
	wrapped := "value:\n " + strings.ReplaceAll(text, "\n", "\n ")
	stream, diagnostics := Read("", []byte(wrapped))
	for _, d := range diagnostics {
		if d.Severity == source.Error {
			return nil, fmt.Errorf("line %d: %s", d.At.Line-1, d.Message)
		}
	}
	documents := stream.Documents()
	if len(documents) != 1 {
		return nil, errors.New("expected one YAML value")
	}
	return documents[0].Object()["value"], nil
}
