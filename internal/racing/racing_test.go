package racing

import "testing"

func TestSample(t *testing.T) {
	cases := make([]int, 100)
	for i := range cases {
		cases[i] = i
	}
	some := Sample(cases)
	if len(some) < Least(len(cases)) || some[0] != 0 || len(some) > 1 && some[1] != every {
		t.Errorf("every %d: %v", every, some)
	}
	if len(Sample(cases[:1])) != 1 || len(Sample(cases[:0])) != 0 {
		t.Error("a single case is lost, or one is made up")
	}
}
