package krmfn

import "testing"

// FuzzConstant checks that what is constant in a name does not depend on the random characters in it.
func FuzzConstant(f *testing.F) {
	f.Add("web-", "a1", "a2", "-job")
	f.Add("", "x", "xx", "")
	f.Add("a.b-c-", "0", "", ".d")
	f.Add("job-", "1", "2", "-1-2")
	f.Fuzz(func(t *testing.T, first, one, other, last string) {
		if len(separated(one)) != 1 || len(separated(other)) != 1 || one == other {
			return
		}
		if n := len(first); n > 0 && len(separated(first[n-1:])) == 1 || last != "" && len(separated(last[:1])) == 1 {
			return // no separator
		}
		if got := constant(first+one+last, first+other+last); got != first+"*"+last {
			t.Errorf("%q %q %q %q: %q", first, one, other, last, got)
		}
	})
}
