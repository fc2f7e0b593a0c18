package redact

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
)

// Objects are sensitive objects that are looked up together. What they show and what they hide is
// found out once, when it is needed, so many admissions can share them.
type Objects struct {
	all, written []map[string]any
	open         func() map[string]bool
	hidden       func() *strings.Replacer
}

// NewObjects returns sensitive objects.
func NewObjects(objects ...map[string]any) *Objects {
	return NewChanged(objects, objects)
}

// NewChanged returns sensitive objects that policies have changed. Only what their authors have written in open fields
// is public: a policy may have copied a value there.
func NewChanged(objects, written []map[string]any) *Objects {
	o := &Objects{all: objects, written: written}
	o.open, o.hidden = sync.OnceValue(o.findOpen), sync.OnceValue(o.findHidden)
	return o
}

// Join returns the objects of several.
func Join(several []*Objects) *Objects {
	if len(several) == 1 {
		return several[0]
	}
	var all, written []map[string]any
	for _, o := range several {
		all, written = append(all, o.all...), append(written, o.written...)
	}
	return NewChanged(all, written)
}

// Open returns the scalars that authors have written in the open fields of the objects, as texts. The set must not be modified.
func (o *Objects) Open() map[string]bool { return o.open() }

func (o *Objects) findOpen() map[string]bool {
	open := map[string]bool{}
	for _, object := range o.written {
		for _, text := range openTexts(object) {
			open[text] = true
		}
	}
	return open
}

// holds reports whether a text contains a value of the objects, encoded or decoded.
func (o *Objects) holds(text string) bool { return o.hidden().Replace(text) != text }

func (o *Objects) findHidden() *strings.Replacer {
	var pairs []string
	for value := range o.values {
		pairs = append(pairs, value, "")
	}
	return strings.NewReplacer(pairs...)
}

// values yields the values of the objects, encoded and decoded.
func (o *Objects) values(yield func(string) bool) {
	for _, object := range o.all {
		for value := range scalars(object) {
			written := fmt.Sprint(value)
			if written != "" && !yield(written) {
				return
			}
			if decoded, err := base64.StdEncoding.DecodeString(written); err == nil && len(decoded) > 0 && !yield(string(decoded)) {
				return
			}
		}
	}
}
