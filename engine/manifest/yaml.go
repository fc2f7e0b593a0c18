package manifest

// YAML is a new YAML document, without a separator, for a value that was read or made
// of such values: in block style, apiVersion, kind, metadata and name first, the other
// keys sorted. Reading it gives the value back, but that a whole number is an integer.
func YAML(object map[string]any) []byte {
	if len(object) == 0 {
		return []byte("{}\n")
	}
	e := emitter{style: style{lineBreak: "\n", step: 2, compact: true, colon: ": ", comma: ", "}}
	e.entries(object, sortedKeys(object), 0, noModel)
	return []byte(e.String())
}
