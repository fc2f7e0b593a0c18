package manifest

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/limit"
)

// A reason is a reason to refuse a document, or to warn.
type reason uint8

const (
	none reason = iota
	// outside is YAML that the scanner leaves to the library. It is not a mistake.
	outside
	// notJSON is text that is not JSON. It may still be YAML.
	notJSON

	// The following reasons mean that the text is malformed.
	tabIndentation
	badIndentation
	trailingText
	nestedValue
	missingColon
	missingComma
	itemInMap
	itemNotAllowed
	reservedCharacter
	openQuote
	openFlow
	badEscape
	badBlockHeader
	malformed
	template
	mergeConflict
	lfsPointer

	// The following reasons refuse well-formed text.
	tooDeep
	tooLarge
	tooMany
	tooWrong
	tooOdd
	notUTF8
	utf16Text
	controlCharacter
	directive
	separatorContent
	afterEnd
	afterJSON
	notObject
	duplicateKey
	nullKey
	badKey
	notFinite
	unknownAnchor
	aliasCycle
	aliasBomb
	badMerge
	badTag
	badItems
	badItem
	unwritable

	// The following reasons are only warnings.
	booleanKey
)

// isFinal reports whether the library need not be tried.
func (r reason) isFinal() bool {
	switch r {
	case tooDeep, unknownAnchor, aliasCycle, aliasBomb:
		return true
	}
	return false
}

// explanations has the code, the message and the advice of each reason.
var explanations = [...]struct{ code, message, advice string }{
	notJSON:           {"malformed-yaml", "the text after the end of a JSON object is not valid JSON", "correct it, or put --- before the next document"},
	tabIndentation:    {"tab-indentation", "a tab is used as indentation", "indent with spaces"},
	badIndentation:    {"malformed-yaml", "this line is indented differently from the entries around it", "align it with the entries of its map or list"},
	trailingText:      {"malformed-yaml", "there is text after the end of a value", "quote the whole value, or start a new line"},
	nestedValue:       {"malformed-yaml", "a value must not contain \": \" unless it is quoted", "quote the value, or put a nested map on a line of its own"},
	missingColon:      {"malformed-yaml", "this key has no colon", "write \"key: value\", with a space after the colon"},
	missingComma:      {"malformed-yaml", "expected a comma or the closing bracket", "separate the entries between brackets with commas"},
	itemInMap:         {"malformed-yaml", "there is a list item where a key is expected", "indent it like the items before it, or give the list a key"},
	itemNotAllowed:    {"malformed-yaml", "a list must not start on the line of its key", "start the list on the next line"},
	reservedCharacter: {"malformed-yaml", "this character cannot start a value", "quote the value"},
	openQuote:         {"malformed-yaml", "the quote that starts here is never closed", "add the closing quote"},
	openFlow:          {"malformed-yaml", "the bracket that opens here is never closed", "add the closing bracket"},
	badEscape:         {"malformed-yaml", "unknown escape in a double-quoted string", "write \\\\ for a backslash, or use single quotes"},
	badBlockHeader:    {"malformed-yaml", "the header of this block scalar is malformed", "write |, |- or |+, with a digit from 1 to 9 if the indentation must be given"},
	malformed:         {"malformed-yaml", "the document is not valid YAML", "correct the document near this line"},
	template:          {"template", "this is a template of Helm or another program, not a manifest", "render it first and pass the output to preadmit, as in: preadmit exec -- helm template CHART"},
	mergeConflict:     {"merge-conflict", "git has left a merge conflict here", "keep one of the two sides, and remove the lines with <<<<<<<, ======= and >>>>>>>"},
	lfsPointer:        {"lfs-pointer", "this is a pointer of Git LFS in place of the file", "fetch the file: git lfs pull"},

	tooDeep:          {"too-deep", "maps and lists nest more than 200 levels deep", "flatten the object; no object of Kubernetes nests this deeply"},
	tooLarge:         {"too-large", "the input is larger than 2 GiB", "split it into several files"},
	tooMany:          {limit.DocumentCount, "", "run preadmit on parts of the input, or raise the limit with the option input-limit"},
	tooWrong:         {limit.MessageCount, fmt.Sprintf("there are more than %d mistakes; the rest of the file is not read", limit.Mistakes), "check whether the file is what it should be"},
	tooOdd:           {limit.YAMLSize, fmt.Sprintf("a document with rare YAML is larger than %d MiB", limit.YAMLBytes>>20), "write maps, lists and scalars in their usual forms, or split it"},
	notUTF8:          {"not-utf8", "the text is not valid UTF-8", "convert the file to UTF-8"},
	utf16Text:        {"utf-16", "the text is encoded as UTF-16 or UTF-32", "convert the file to UTF-8"},
	controlCharacter: {"control-character", "the text contains a control character", "remove it, or write it as an escape in a double-quoted string"},
	directive:        {"yaml-directive", "the document has a YAML directive, which kubectl does not accept", "remove the line that starts with %"},
	separatorContent: {"separator-content", "content follows --- on the same line, where kubectl accepts only a comment", "put the content on the next line"},
	afterEnd:         {"after-document-end", "text follows the end of the document (...); other YAML parsers would drop it", "put --- before the next document, or remove the ..."},
	afterJSON:        {"malformed-yaml", "there is text after the end of the JSON object", "put --- before the next document"},
	notObject:        {"not-an-object", "the document is not an object", "a manifest is a map with apiVersion and kind"},
	duplicateKey:     {"duplicate-key", "the key is repeated", "remove one of the two; YAML parsers differ in which one they keep"},
	nullKey:          {"null-key", "the key is null", "quote the key if it is meant as text"},
	badKey:           {"bad-key", "the key is neither text, nor a boolean, nor a number that Kubernetes can read", "quote the key"},
	notFinite:        {"not-finite", "the value is a number that JSON cannot represent", "quote it if it is meant as text"},
	unknownAnchor:    {"unknown-anchor", "an alias refers to an anchor that the document does not have", "define the anchor earlier in the same document; an alias cannot refer to another document"},
	aliasCycle:       {"alias-cycle", "an alias refers to a value that contains it", "remove the alias"},
	aliasBomb:        {"alias-bomb", "aliases expand to more than 100,000 values", "write the values out, or use fewer aliases"},
	badMerge:         {"bad-merge", "the value of a merge key (<<) is not a map", "merge a map, or a list of maps"},
	badTag:           {"bad-tag", "the value does not fit its tag", "correct the value or remove the tag"},
	badItems:         {"bad-items", "the items of a list are not a list", "write the items as a list of objects"},
	badItem:          {"not-an-object", "an item of the list is not an object", "a manifest is a map with apiVersion and kind"},
	booleanKey:       {"boolean-key", "kubectl reads this key as a boolean, so it becomes \"true\" or \"false\"", "quote the key if it is meant as text"},

	unwritable: {"unsupported-yaml", "the document uses YAML that preadmit cannot rewrite", "write maps, lists and scalars in their usual forms"},
}
