package source

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"unicode"
)

// Words are words that may be in the text of an error although values are hidden: those of a public
// document, such as a policy.
type Words map[string]bool

// WordsOf returns the words in the keys and values of an object.
func WordsOf(object map[string]any) Words {
	words := Words{}
	for word := range splitWords(fmt.Sprint(object)) {
		words[word] = true
	}
	return words
}

// With returns these words and those of texts.
func (w Words) With(texts ...string) Words {
	words := maps.Clone(w)
	for _, text := range texts {
		for word := range splitWords(text) {
			words[word] = true
		}
	}
	return words
}

// Derive returns an error whose text counts as Computed if it has other words than these and those of
// errors. The value in the text is then from the input, perhaps in another form: "no such key: APP" is
// what remains of an expression that turns a value to upper case.
func (w Words) Derive(err error) error {
	parts := append([]Span(nil), Spans(err)...)
	derived := false
	for i, part := range parts {
		if part.Origin == Input && w.Origin(part.Text) == Computed {
			parts[i].Origin, derived = Computed, true
		}
	}
	if !derived {
		return err
	}
	return &judged{err, parts}
}

// Origin returns Computed for a text with other words than these and those of errors, else Input.
func (w Words) Origin(text string) Origin {
	for word := range splitWords(text) {
		if !w[word] && !errorWords()[word] {
			return Computed
		}
	}
	return Input
}

// splitWords yields the runs of letters, digits and underscores in a text.
func splitWords(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// errorWords are the words in errors of CEL, of merging, of JSON patches and of decoding, as in
// the recorded answers of kube-apiserver 1.36.3 and 1.37.1.
var errorWords = sync.OnceValue(func() Words {
	words := Words{}
	for word := range strings.FieldsSeq(errorText) {
		words[word] = true
	}
	return words
})

const errorText = `
	CEL ConfigMap ERROR Err Go Int Internal JSON JSONPatch JSONPath Kind MarshalJSON NULL_VALUE Null NullValue Object ObjectMeta ObjectVal
	Patch Secret Unable Unexpected Val Value a access actual add added an any apply applying array arrays associative at atomic attribute
	authenticated be binding bool boolean bounds budget by bytes calling cancelled cannot changed cluster composited configure conversion
	convert converting copy cost could couldn custom data declared decoding denied divide does double dup due duplicate duration dynamic dyn e element
	elements empty encoding entries error errors evaluate evaluated evaluates evaluating evaluation exceeded expected expression fail failed fails field fields
	find float for forbidden found from further get google got has have in index input int interface into intstr invalid is items iterable json
	key keys limit limits list lists map maps marshal masters match matches may merge metadata mismatch missing modulus move must mutate mutations namespaced no non none
	nonexistent not null number number_value numeric object occurred of on only operation operations optional or out overflow overload owner params parse parsing patch
	path policy proto protobuf provided read ref referenced registered remove removed replace request required resource result resulted return root rules run running
	scalar schema scoped selector sent strategy strict string struct structpb structs such supported syntax system t test than that the them this time timestamp to type
	typed types uid uint unable undeclared undefined unexpected unknown unmarshal unstructured unsupported use v1 validation value valueExpression values variable
	version was which will with without wrong yield zero`
