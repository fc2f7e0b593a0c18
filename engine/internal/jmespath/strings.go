package jmespath

import (
	"encoding/base64"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
)

// stringFunctions are functions on strings. join and to_string are the library's functions with
// bounds.
var stringFunctions = []function{
	// In Kyverno, the result is no number for JMESPath: comparing it gives null.
	{"compare", "ss>n", "-1, 0 or 1, as the first text is before, equal to or after the second one", func(a []any) (any, error) {
		return int64(strings.Compare(a[0].(string), a[1].(string))), nil
	}},
	{"equal_fold", "ss>b", "whether two texts are equal, regardless of case", func(a []any) (any, error) {
		return strings.EqualFold(a[0].(string), a[1].(string)), nil
	}},
	{"replace", "sssn>s", "a text with the first matches of another one replaced, as many as the number says; -1 for all", func(a []any) (any, error) {
		n, err := whole(a[3])
		if err != nil {
			return nil, err
		}
		return replaceText(a[0].(string), a[1].(string), a[2].(string), n)
	}},
	{"replace_all", "sss>s", "a text with all matches of another one replaced", func(a []any) (any, error) {
		return replaceText(a[0].(string), a[1].(string), a[2].(string), -1)
	}},
	{"to_upper", "s>s", "the text in upper case", func(a []any) (any, error) {
		return strings.ToUpper(a[0].(string)), nil
	}},
	{"to_lower", "s>s", "the text in lower case", func(a []any) (any, error) {
		return strings.ToLower(a[0].(string)), nil
	}},
	{"trim", "ss>s", "a text without the characters at its ends that are in another one", func(a []any) (any, error) {
		return strings.Trim(a[0].(string), a[1].(string)), nil
	}},
	{"trim_prefix", "ss>s", "a text without a prefix", func(a []any) (any, error) {
		return strings.TrimPrefix(a[0].(string), a[1].(string)), nil
	}},
	{"split", "ss>a", "the parts of a text between separators", func(a []any) (any, error) {
		return change.List(strings.Split(a[0].(string), a[1].(string))), nil
	}},
	{"join", "sa>s", "the texts of a list with a separator between them", func(a []any) (any, error) {
		var texts []string
		size := 0
		for _, item := range a[1].([]any) {
			text, ok := item.(string)
			if !ok {
				return nil, errors.New("argument 2 must be a list of strings")
			}
			if size += len(text) + len(a[0].(string)); size > maxSize {
				return nil, errSize
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, a[0].(string)), nil
	}},
	{"to_string", "v>s", "the text of a value, in JSON unless it is a text", func(a []any) (any, error) {
		value, err := Output(a[0])
		if err != nil {
			return nil, err
		}
		return Text(value), nil
	}},
	{"truncate", "sn>s", "the first characters of a text", func(a []any) (any, error) {
		text, n := a[0].(string), int(max(0, min(a[1].(float64), maxSize)))
		if utf8.RuneCountInString(text) > n {
			text = string([]rune(text)[:n])
		}
		return text, nil
	}},
	{"path_canonicalize", "s>s", `a path of a file without "." and ".."`, func(a []any) (any, error) {
		if a[0] == "" {
			return "", nil
		}
		return filepath.ToSlash(filepath.Clean(a[0].(string))), nil
	}},
	{"pattern_match", "st>b", "whether a text matches a pattern with * and ?", func(a []any) (any, error) {
		return wildcard.Match(a[0].(string), textOf(a[1])), nil
	}},
	{"regex_match", "st>b", "whether a text matches a regular expression", func(a []any) (any, error) {
		re, err := compileRegexp(a[0].(string))
		if err != nil {
			return nil, err
		}
		return re.MatchString(textOf(a[1])), nil
	}},
	{"regex_replace_all", "stt>s", "a text with all matches of a regular expression replaced; $1 is the first group", func(a []any) (any, error) {
		return replaceRegexp(a, func(re *regexp.Regexp, out []byte, src string, m []int) []byte {
			return re.ExpandString(out, textOf(a[2]), src, m)
		})
	}},
	{"regex_replace_all_literal", "stt>s", "a text with all matches of a regular expression replaced by a text as it is", func(a []any) (any, error) {
		return replaceRegexp(a, func(_ *regexp.Regexp, out []byte, _ string, _ []int) []byte {
			return append(out, textOf(a[2])...)
		})
	}},
	{"to_boolean", "s>b", "true or false, from a text", func(a []any) (any, error) {
		switch strings.ToLower(a[0].(string)) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, errors.New("the string must be 'true' or 'false'")
	}},
	{"base64_decode", "s>s", "the text that a Base64 text encodes", func(a []any) (any, error) {
		text, err := base64.StdEncoding.DecodeString(a[0].(string))
		if err != nil {
			return nil, errors.New("the string is not base64")
		}
		return string(text), nil
	}},
	{"base64_encode", "s>s", "the Base64 encoding of a text", func(a []any) (any, error) {
		return base64.StdEncoding.EncodeToString([]byte(a[0].(string))), nil
	}},
}

func replaceText(text, old, replacement string, n int) (any, error) {
	count := strings.Count(text, old)
	if n >= 0 {
		count = min(count, n)
	}
	if len(text)+count*len(replacement) > maxSize {
		return nil, errSize
	}
	return strings.Replace(text, old, replacement, n), nil
}

func compileRegexp(text string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, errors.New("the first argument is not a regular expression of RE2")
	}
	return re, nil
}

// replaceRegexp replaces all matches of the first argument in the second one.
func replaceRegexp(args []any, expand func(re *regexp.Regexp, out []byte, src string, match []int) []byte) (any, error) {
	re, err := compileRegexp(args[0].(string))
	if err != nil {
		return nil, err
	}
	src := textOf(args[1])
	var out []byte
	end := 0
	for _, match := range re.FindAllStringSubmatchIndex(src, -1) {
		out = expand(re, append(out, src[end:match[0]]...), src, match)
		end = match[1]
		if len(out) > maxSize {
			return nil, errSize
		}
	}
	return string(append(out, src[end:]...)), nil
}
