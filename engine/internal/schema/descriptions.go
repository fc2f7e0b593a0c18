package schema

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the descriptions
	"encoding/json"
	"fmt"
	"sync"
)

// descriptionsJSON has the descriptions of the fields of the built-in kinds in the default version of Kubernetes;
// generate/descriptions.go writes them. Only editors ask for them.
//
//go:embed descriptions.json.gz
var descriptionsJSON []byte

var descriptions = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	text, err := gzip.NewReader(bytes.NewReader(descriptionsJSON))
	if err == nil {
		err = json.NewDecoder(text).Decode(&all)
	}
	if err != nil {
		panic(fmt.Sprintf("schema: the embedded descriptions cannot be read: %v", err))
	}
	return all
})

// Description says what a field of the type is; "" if that is not known. It is what Kubernetes says in its documents.
func (t *Type) Description(field string) string {
	if t == nil || t.Name == "" {
		return ""
	}
	return descriptions()[t.Name+"."+field]
}
