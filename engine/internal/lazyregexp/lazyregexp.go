// Package lazyregexp compiles regular expressions when they are first used. Compiling
// those of a package when the program starts takes longer than most packages do, also in
// the many runs that have no use for them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the regular expression of a text, which must be
// valid.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
