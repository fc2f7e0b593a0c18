package krmfn

import "testing"

// TestSameRefusal has texts of kubectl 1.32 and kube-apiserver 1.36.3 for the same refusals, and others.
func TestSameRefusal(t *testing.T) {
	const predicted = `services "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no load balancers`
	for said, want := range map[string]bool{
		predicted: true,
		`services "a" is invalid: : ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no load balancers`:                true,
		`services "a" is invalid: : ValidatingAdmissionPolicy 'other' with binding 'b' denied request: no load balancers`:            false,
		`services "a" is forbidden: exceeded quota: objects, requested: services=1, used: services=1, limited: services=1`:           false,
		`Service "a" is invalid: spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`:                       false,
		`admission webhook "w" denied the request: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no load balancers`: true,
	} {
		if sameRefusal(predicted, said) != want {
			t.Errorf("%s: want %v", said, want)
		}
	}
}
