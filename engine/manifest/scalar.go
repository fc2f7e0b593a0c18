package manifest

import (
	"math"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/number"
)

// resolve returns the value of a plain scalar: nil, bool, int64, uint64 or float64, or its text
// (isString). It follows resolve of go.yaml.in/yaml/v2 v2.4.4, where timestamps and numbers in base
// 60 are strings as well.
func resolve(text string) (value any, isString bool) {
	if text == "" {
		return nil, false
	}
	switch c := text[0]; c {
	case '~', 'n', 'N', 'y', 'Y', 't', 'T', 'f', 'F', 'o', 'O':
		return resolveWord(text)
	case '.':
		if v, ok := notFiniteValue(text); ok {
			return v, false
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, false
		}
	case '+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return resolveNumber(text)
	}
	return nil, true
}

// isString reports whether a plain scalar is a string.
func isString(text string) bool {
	_, isString := resolve(text)
	return isString
}

func resolveWord(text string) (value any, isString bool) {
	switch text {
	case "~", "null", "Null", "NULL":
		return nil, false
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, false
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, false
	}
	return nil, true
}

func resolveNumber(text string) (value any, isString bool) {
	if v, ok := notFiniteValue(text); ok {
		return v, false
	}
	if last := text[len(text)-1]; last > 'f' || 'F' < last && last < '_' {
		return nil, true // such as 100m: errors of strconv allocate
	}
	if strings.IndexByte(text, '_') >= 0 {
		text = strings.ReplaceAll(text, "_", "")
	}
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return i, false
	}
	if u, err := strconv.ParseUint(text, 0, 64); err == nil {
		return u, false
	}
	if looksLikeFloat(text) {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, false
		}
	}
	return nil, true
}

// looksLikeFloat matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func looksLikeFloat(text string) bool {
	i := skipSign(text, 0)
	whole := skipDigits(text, i)
	fraction := whole
	if whole < len(text) && text[whole] == '.' {
		fraction = skipDigits(text, whole+1)
		if whole == i && fraction == whole+1 {
			return false
		}
	} else if whole == i {
		return false
	}
	i = fraction
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		start := skipSign(text, i+1)
		if i = skipDigits(text, start); i == start {
			return false
		}
	}
	return i == len(text)
}

func skipSign(text string, i int) int {
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	return i
}

func skipDigits(text string, i int) int {
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return i
}

// isNotFinite reports whether a plain scalar is an infinity or NaN, which JSON does not have.
func isNotFinite(text string) bool {
	_, ok := notFiniteValue(text)
	return ok
}

func notFiniteValue(text string) (float64, bool) {
	if len(text) < 4 || len(text) > 5 {
		return 0, false
	}
	switch text {
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1), true
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1), true
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), true
	}
	return 0, false
}

// plainValue returns the value of a plain scalar as an API server gets it. sigs.k8s.io/yaml v1.6.0
// converts YAML to JSON. sigs.k8s.io/json then reads numbers as integers if they are written as
// integers and fit into 64 bits, and as floating-point numbers otherwise.
func plainValue(text string) any {
	value, isString := resolve(text)
	if isString {
		return text
	}
	switch v := value.(type) {
	case uint64:
		return float64(v)
	case float64:
		return number.Whole(v)
	}
	return value
}

// keyText returns the key that sigs.k8s.io/yaml v1.6.0 makes from a resolved plain scalar. Null and
// integers beyond int64 have no key.
func keyText(value any) (string, bool) {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		switch s := strconv.FormatFloat(v, 'g', -1, 32); s {
		case "NaN":
			return ".nan", true
		case "+Inf":
			return ".inf", true
		case "-Inf":
			return "-.inf", true
		default:
			return s, true
		}
	}
	return "", false
}

// keyProblem returns the problem of a plain key that reads as value.
func keyProblem(text string, value any) reason {
	name, ok := keyText(value)
	_, isBool := value.(bool)
	switch {
	case value == nil:
		return nullKey
	case !ok:
		return badKey
	case isBool && name != text:
		return booleanKey
	}
	return none
}

// blockHeader parses the header of a block scalar ("|", ">-", "|2+"). It returns the size of the
// header, 0 if it is malformed, and its indicators, 0 if they are missing.
func blockHeader(text string) (size int, chomp byte, indent int) {
	for size = 1; size < len(text) && size < 3; size++ {
		switch c := text[size]; {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
		case '1' <= c && c <= '9' && indent == 0:
			indent = int(c - '0')
		case c == '+', c == '-', '0' <= c && c <= '9':
			return 0, 0, 0
		default:
			return size, chomp, indent
		}
	}
	return size, chomp, indent
}

// escapeSize returns the size in bytes of the escape of a double-quoted scalar at the start of
// text, or 0 if text does not start with an escape. Surrogates are left to JSON.
func escapeSize(text string) int {
	if len(text) < 2 {
		return 0
	}
	digits := 0
	switch text[1] {
	case '0', 'a', 'b', 't', '\t', 'n', 'v', 'f', 'r', 'e', ' ', '"', '\'', '\\', 'N', '_', 'L', 'P', '\n':
		return 2
	case '\r':
		return 3
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0
	}
	if r, ok := hexRune(text, 2, digits); !ok || 0xD800 <= r && r <= 0xDFFF || r > 0x10FFFF {
		return 0
	}
	return 2 + digits
}

func hexRune(text string, i, digits int) (uint64, bool) {
	if len(text) < i+digits {
		return 0, false
	}
	r, err := strconv.ParseUint(text[i:i+digits], 16, 64)
	return r, err == nil
}
