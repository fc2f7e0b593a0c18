// Package lazyregexp compiles regular expressions when they are first used. Compiling them at
// program start would slow down every run, also the many runs that do not use them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled regular expression of a text. The text must
// be valid.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
