package source

import (
	stderrors "errors"
	"fmt"
	"slices"
	"testing"
)

func TestMessage(t *testing.T) {
	cause := stderrors.New("no such key: a\nb")
	message := Messagef("policy %-3s failed %d times for %v: %v%s", Name("p\n"), 3, "x\x1b", cause, Literal("\n  help"))
	if got, want := message.Error(), "policy p\n  failed 3 times for x\x1b: no such key: a\nb\n  help"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := message.Printable(), "policy p\\n  failed 3 times for x\\x1b: no such key: a\\nb\n  help"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if !stderrors.Is(message, cause) {
		t.Error("the cause is lost")
	}
	wrapped := fmt.Errorf("above: %w", Messagef("%s: %v", Name("n"), Derive(cause)))
	want := []Span{{"above: ", Input}, {"n", Identity}, {": ", Ours}, {cause.Error(), Computed}}
	if got := Spans(wrapped); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	d := Errorf(Position{}, "c", "%v", message)
	if !slices.Equal(d.Spans(), message.Spans()) {
		t.Errorf("the diagnostic has %q", d.Spans())
	}
	if d.Message += "x"; !slices.Equal(d.Spans(), []Span{{d.Message, Input}}) {
		t.Errorf("a changed message has %q", d.Spans())
	}
}

// TestPrintableMessage checks which line breaks of the input remain.
func TestPrintableMessage(t *testing.T) {
	for text, want := range map[string]string{
		"a\n::error::b": `a\n::error::b`, "a\r\nb\u202e\tc": `a\x0d\nb\u202e\tc`,
		"ERROR: <input>:1:1: no\n | x\n | ^\nERROR: <input>:1:2: no": "ERROR: <input>:1:1: no\n | x\n | ^\nERROR: <input>:1:2: no",
	} {
		if got := (Diagnostic{Message: text}).Printed(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
