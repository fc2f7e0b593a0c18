package source_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
)

// TestCodes checks that the catalogue explains the codes that have constants.
func TestCodes(t *testing.T) {
	for _, code := range []string{
		source.CodeCallFails, source.CodeDenied, source.CodeInternal, source.CodeKyvernoDiffers,
		source.CodeManifestInvalid, source.CodeNoPolicies, source.CodeOptionValue, source.CodePluginConfigInvalid,
		source.CodePolicyConvertedAlmost, source.CodePolicyWarning, source.CodeTemplate, source.CodeWouldBeDenied,
	} {
		if _, ok := source.Lookup(code); !ok {
			t.Errorf("the catalogue does not have %s", code)
		}
	}
}

func TestErrors(t *testing.T) {
	if err := source.Join([]source.Diagnostic{source.Warningf(source.Position{}, "b", "harmless")}); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	first := source.Errorf(source.Position{File: "f", Line: 1, Column: 2}, "denied", "no")
	err := fmt.Errorf("wrapped: %w", source.Join([]source.Diagnostic{first, source.Warningf(source.Position{}, "b", "harmless"), source.Errorf(source.Position{}, "internal", "oops")}))
	if want := "wrapped: f:1:2: error[denied]: no\nerror[internal]: oops"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	var d source.Diagnostic
	if !errors.As(err, &d) || !reflect.DeepEqual(d, first) {
		t.Errorf("errors.As found %v", d)
	}
	for code, want := range map[string]bool{"denied": true, "internal": true, "b": false} {
		if source.HasCode(err, code) != want {
			t.Errorf("HasCode(%s) is %v", code, !want)
		}
	}
	if !source.HasCode(first, source.CodeDenied) || source.HasCode(nil, source.CodeDenied) {
		t.Error("HasCode of a Diagnostic, or of nil")
	}
}
