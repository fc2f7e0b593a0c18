package library_test

import (
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/enginetest"
)

// TestPolicies is how authors of policies test them in Go.
func TestPolicies(t *testing.T) {
	policies := enginetest.Load(t, engine.Options{}, "policies")
	policies.Becomes(t, "testdata/shop.yaml", "testdata/shop.expected.yaml")
	policies.Denies(t, "testdata/no-owner.yaml", "no such key: data")
	policies.LeavesAlone(t, "testdata/other.yaml")
}
