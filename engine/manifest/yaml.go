package manifest

// YAML returns a new YAML document, without a separator, for a value that was read or built from
// such values. It is in block style: apiVersion, kind, metadata and name first, the other keys
// sorted. Reading it returns an equal value, except that whole numbers become integers.
func YAML(object map[string]any) []byte {
	if len(object) == 0 {
		return []byte("{}\n")
	}
	e := emitter{style: style{lineBreak: "\n", step: 2, compact: true, colon: ": ", comma: ", "}}
	e.entries(object, sortedKeys(object), 0, noModel)
	return []byte(e.String())
}

// YAML returns the document as it was read, without edits, as a new YAML document in the form of
// the function YAML. Keys keep their order, and numbers and strings their text.
func (d *Document) YAML() []byte {
	object := d.Object()
	if len(object) == 0 {
		return []byte("{}\n")
	}
	e := emitter{style: style{lineBreak: "\n", step: 2, compact: true, colon: ": ", comma: ", "}, t: d.unit.tape()}
	root := e.t.real(d.root)
	e.fromJSON = e.t.nodes[root].marks&fromJSON != 0
	var implied []string // implied by the list; these come first
	for _, pair := range d.implied {
		if e.t.lookup(root, pair[0]) < 0 {
			implied = append(implied, pair[0])
		}
	}
	e.entries(object, implied, 0, noModel)
	own := d.withoutImplied(object)
	e.entries(own, e.keysLike(own, root), 0, root)
	return []byte(e.String())
}
