package settings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// Suggest returns advice for a name that no option has in a frontend: the nearest name, or else all
// names that are possible in its place. name returns the names of options in the frontend, and
// further are other names that are possible.
func Suggest(text string, name func(o *Option) string, further ...string) source.Advice {
	best, siblings := nearest(text, name, further)
	if best != "" {
		return source.Meant(text, best)
	}
	return source.Suggest(text, siblings)
}

// Nearest returns the name that a name in a frontend probably misspells, or "".
func Nearest(text string, name func(o *Option) string) string {
	best, _ := nearest(text, name, nil)
	return best
}

// nearest returns the nearest of the names that are possible in the same place, the name of the
// option that another frontend calls so, or the nearest name anywhere.
func nearest(text string, name func(o *Option) string, further []string) (best string, siblings []string) {
	parent := text[:strings.LastIndexByte(text, '.')+1]
	var known []string
	for i := range Table {
		known = append(known, name(&Table[i]))
	}
	known = slices.DeleteFunc(known, func(name string) bool { return name == "" })
	for _, name := range slices.Concat(known, further) {
		if sibling, ok := strings.CutPrefix(name, parent); ok {
			sibling, _, _ = strings.Cut(sibling, ".")
			if sibling = parent + sibling; !slices.Contains(siblings, sibling) {
				siblings = append(siblings, sibling)
			}
		}
	}
	return cmp.Or(source.Nearest(text, siblings), elsewhere(text, name), source.Nearest(text, known)), siblings
}

// elsewhere returns the name of the option that has a name in another frontend, or "".
func elsewhere(text string, name func(o *Option) string) string {
	text = plain(text)
	for i := range Table {
		o := &Table[i]
		if text != "" && name(o) != "" && slices.Contains([]string{plain(o.Flag), plain(o.Field), plain(o.Key), plain(o.Attribute)}, text) {
			return name(o)
		}
	}
	return ""
}

// plain returns a name without what differs between the frontends.
func plain(name string) string {
	name = strings.TrimLeft(name[strings.LastIndexByte(name, '.')+1:], "-")
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}
