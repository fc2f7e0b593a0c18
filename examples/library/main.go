// Library runs a policy on the object, in JSON, on standard input, and prints the result.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"log"
	"os"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

//go:embed policies/owner.yaml
var policy []byte

func main() {
	log.SetFlags(0)
	policies, problems := manifest.Read("owner.yaml", policy)
	set, diagnostics := engine.Compile([]*manifest.Stream{policies}, nil, engine.Options{})
	if err := source.Join(append(problems, diagnostics...)); err != nil {
		log.Fatal(err)
	}
	var object map[string]any // the content of an Unstructured is one, too
	if err := json.NewDecoder(os.Stdin).Decode(&object); err != nil {
		log.Fatal(err)
	}
	result, changes, err := set.Admit(context.Background(), object)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range changes {
		log.Printf("%s: %s", c.By, c.Change)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
