package input

import "path/filepath"

// Holds says which of the paths that are given for policies hold any. The zero value is ready for use.
type Holds struct {
	// read are the paths with files, in order.
	read []int
	// isFile says that a path is one file that is named itself.
	isFile, hasPolicy map[int]bool
}

// Read notes a file of the path with an index.
func (h *Holds) Read(index int, path string, f File) {
	if len(h.read) == 0 || h.read[len(h.read)-1] != index {
		h.read = append(h.read, index)
	}
	if filepath.Base(path) == filepath.Base(f.Real) {
		if h.isFile == nil {
			h.isFile = map[int]bool{}
		}
		h.isFile[index] = true
	}
}

// Policy notes that the path with an index holds a policy, or a file that may be one.
func (h *Holds) Policy(index int) {
	if h.hasPolicy == nil {
		h.hasPolicy = map[int]bool{}
	}
	h.hasPolicy[index] = true
}

// Vacant returns the indexes of the paths that hold no policy although they should. A file that is named among
// others may hold what the policies need, such as params; a directory or a pattern should hold policies.
func (h *Holds) Vacant() (indexes []int) {
	for _, i := range h.read {
		if !h.hasPolicy[i] && (len(h.hasPolicy) == 0 || !h.isFile[i]) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}
