package growth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/krmfn"
)

// dimension is a way in which input can grow.
type dimension struct {
	name string
	// n is the smaller size. The larger one is four times as much.
	n int
	// files returns the input of a size, by the names of the files.
	files func(n int) map[string]string
	// commands are the commands to measure; by default those of all manifests.
	commands []string
	// flags are added to the command line.
	flags []string
	// refusal is what commands say if they refuse the input, with status 2; "" if they must not.
	refusal string
	// cluster answers the requests of verify; nil if the command asks no cluster.
	cluster func(n int) *cluster
	// program is the program that the command starts, if it asks no cluster; nil if it starts none.
	program func(context.Context, *krmfn.Program) ([]byte, error)
	// session is what an editor sends to the server; nil for other commands.
	session func(n int) []message
}

// Names of files that are not manifests to run on: policies, context, the standard input, the manifests of the
// base, the configuration file, the baseline and the recorded answers of webhooks. Other files in directories are
// not on the command line, either.
const (
	policiesFile, contextFile, stdinFile, baseFile = "policies.yaml", "context.yaml", "stdin.yaml", "base/manifests.yaml"
	configurationFile, baselineFile, answersFile   = ".preadmit.yaml", "baseline.yaml", "answers.yaml"
)

// input returns the files of an input without context.
func input(policies, manifests string) map[string]string {
	return map[string]string{policiesFile: policies, "manifests.yaml": manifests}
}

// withContext is an input with context.
func withContext(policies, context, manifests string) map[string]string {
	files := input(policies, manifests)
	files[contextFile] = context
	return files
}

// repeat joins n texts, each with its number.
func repeat(n int, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text(i))
	}
	return b.String()
}

// lines is repeat for a text with its number in place of each "#".
func lines(n int, text string) string {
	return repeat(n, func(i int) string { return strings.ReplaceAll(text, "#", fmt.Sprint(i)) })
}

// dimensions are all dimensions.
func dimensions() []dimension {
	all := slices.Concat(ofLanguages(), ofObjects(), ofText, ofPolicies(), ofMutators(), ofRules(), ofTargets(), ofParams(), ofSecrets(), ofContext(), ofFindings(), ofMistakes(), ofRefusals(), ofGenerated(), ofCommands(), ofReports(), ofComparisons(), ofVerify(), ofConversions(), ofTests(), ofTerraform(), ofDecisions(), ofWebhooks(), ofTrees(), ofEditors())
	for i := range all {
		if all[i].commands == nil {
			all[i].commands = []string{"render", "diff", "explain", "check"}
		}
	}
	return all
}
