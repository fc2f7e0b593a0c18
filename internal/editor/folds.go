package editor

import "strings"

// Fold is a block of lines, from 0. The first one stays visible.
type Fold struct{ First, Last int }

// Folds returns the blocks of a text by their indentation: documents, mappings, lists, and expressions and
// other texts with several lines. A list may begin at the column of its key.
func Folds(text string) []Fold {
	var folds []Fold
	var open []Fold // Last is the indentation of the first line
	last := 0       // the last line with text
	end := func(indent int) {
		for len(open) > 0 && open[len(open)-1].Last >= indent {
			if first := open[len(open)-1].First; last > first {
				folds = append(folds, Fold{first, last})
			}
			open = open[:len(open)-1]
		}
	}
	for i, line := range strings.Split(text, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "---"):
			end(-1)
			open = append(open, Fold{i, -1})
		case trimmed == "":
			continue
		default:
			indent := 2 * indentOf(line)
			if trimmed == "-" || strings.HasPrefix(trimmed, "- ") {
				indent++ // below a key at its column
			}
			end(indent)
			open = append(open, Fold{i, indent})
		}
		last = i
	}
	end(-1)
	return folds
}
