// Package dns checks names in Kubernetes against the rules of DNS, with the error texts of
// k8s.io/apimachinery v0.36.3, pkg/util/validation. It does not import that package, which
// imports all of Go's network packages and a logger; the tests compare with it.
package dns

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

const maxLabel = 63

// Label returns why a text is not a label as of RFC 1123; nil if it is one.
func Label(text string) []string { return inCharacters(content.IsDNS1123Label(text)) }

// Subdomain returns why a text is not a subdomain as of RFC 1123; nil if it is one.
func Subdomain(text string) []string { return inCharacters(content.IsDNS1123Subdomain(text)) }

// inCharacters says "characters" where the newer rules, which are the same, say "bytes".
func inCharacters(problems []string) []string {
	for i, problem := range problems {
		if count, ok := strings.CutSuffix(problem, " bytes"); ok {
			problems[i] = count + " characters"
		}
	}
	return problems
}

// Label1035 returns why a text is not a label as of RFC 1035, which must begin with a letter;
// nil if it is one.
func Label1035(text string) []string {
	var problems []string
	if len(text) > maxLabel {
		problems = append(problems, fmt.Sprintf("must be no more than %d characters", maxLabel))
	}
	if !isLabel1035(text) {
		problems = append(problems, content.RegexError("a DNS-1035 label must consist of lower case alphanumeric characters or '-', "+
			"start with an alphabetic character, and end with an alphanumeric character", "[a-z]([-a-z0-9]*[a-z0-9])?", "my-name", "abc-123"))
	}
	return problems
}

func isLabel1035(text string) bool {
	for i := range len(text) {
		isLetter, isDigit := 'a' <= text[i] && text[i] <= 'z', '0' <= text[i] && text[i] <= '9'
		if !isLetter && (i == 0 || !isDigit && text[i] != '-') {
			return false
		}
	}
	return text != "" && text[len(text)-1] != '-'
}
