// Library runs a policy on the object, in JSON, on standard input, and prints the result.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/preadmit/preadmit/engine"
)

func main() {
	policy, err := os.ReadFile("policies/owner.yaml")
	check(err)
	set, err := engine.CompileYAML(engine.Options{}, policy)
	check(err)
	var object map[string]any // or the content of an Unstructured
	check(json.NewDecoder(os.Stdin).Decode(&object))
	answer, err := set.Admit(context.Background(), object)
	check(err)
	log.New(os.Stderr, "", 0).Println(answer.Changes)
	check(json.NewEncoder(os.Stdout).Encode(answer.Object))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
