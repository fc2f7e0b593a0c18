package manifest

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// doubleQuote quotes s with the escapes that YAML and JSON share.
func doubleQuote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case !isPrintable(c):
			b.WriteString(`\u`)
			hex := strconv.FormatInt(int64(c), 16)
			b.WriteString("0000"[len(hex):] + hex)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isPrintable reports whether a scalar may contain a character without an escape, and no reader
// takes the character for a line break.
func isPrintable(c rune) bool {
	switch {
	case c < ' ', 0x7f <= c && c < 0xa0, c == 0x2028, c == 0x2029, c == 0xfeff, c == 0xfffe, c == 0xffff:
		return false
	}
	return true
}

// singleQuote returns s in single quotes, if that is possible.
func singleQuote(s string) (string, bool) {
	for _, c := range s {
		if !isPrintable(c) {
			return "", false
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'", true
}

// isPlain reports whether every reader of YAML 1.1 or 1.2 reads s without quotes as the string s.
// With flow, this must hold in flow collections, too.
func isPlain(s string, flow bool) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	switch s[0] {
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '-', '?', ':', '=':
		// A dash may start a plain scalar, but not where it looks like an item.
		if s[0] != '-' || len(s) < 2 || s[1] == ' ' || strings.HasPrefix(s, "---") || flow {
			return false
		}
	}
	for i, c := range s {
		switch {
		case !isPrintable(c):
			return false
		case c == ':' && s[i+1] == ' ', c == '#' && s[i-1] == ' ':
			return false
		case flow && strings.ContainsRune(",[]{}?", c), flow && c == ':' && strings.IndexByte(",[]{}", s[i+1]) >= 0:
			return false
		}
	}
	return utf8.ValidString(s) && !isWord(s) && !isNumber(s) && !strings.HasPrefix(s, "...") && s != "<<"
}

// isWord reports whether some reader reads s as a boolean or null.
func isWord(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "+.inf", "-.inf", ".nan":
		return true
	}
	return false
}

// isNumber reports whether some reader reads s as a number or a timestamp. YAML 1.1 has octal,
// binary, hexadecimal and sexagesimal integers, all with underscores. YAML 1.2 has 0o17.
func isNumber(s string) bool {
	if _, isString := resolve(s); !isString {
		return true
	}
	digits := strings.ReplaceAll(s[skipSign(s, 0):], "_", "")
	if digits == "" || digits[0] != '.' && (digits[0] < '0' || '9' < digits[0]) {
		return false
	}
	if looksLikeFloat(digits) {
		return true
	}
	if strings.ContainsRune(digits, ':') {
		return isSexagesimal(digits)
	}
	return isDate(s)
}

// isSexagesimal matches [0-9]+(:[0-9]+)+(\.[0-9]*)?
func isSexagesimal(s string) bool {
	for {
		i := skipDigits(s, 0)
		switch {
		case i == 0:
			return false
		case i == len(s):
			return true
		case s[i] == '.':
			return skipDigits(s, i+1) == len(s)
		case s[i] != ':':
			return isDate(s)
		}
		s = s[i+1:]
	}
}

// isDate reports whether s starts like a timestamp: four digits, one or two digits, one or two
// digits, and then a time or the end.
func isDate(s string) bool {
	year := skipDigits(s, 0)
	if year != 4 || year == len(s) || s[year] != '-' {
		return false
	}
	month := skipDigits(s, year+1)
	if month == year+1 || month > year+3 || month == len(s) || s[month] != '-' {
		return false
	}
	day := skipDigits(s, month+1)
	if day == month+1 || day > month+3 {
		return false
	}
	return day == len(s) || strings.IndexByte("Tt \t", s[day]) >= 0
}
