package input

import (
	"bytes"
	"testing"
)

// TestDecode compares with what kubectl 1.32.4 reads: kubectl label --local -f FILE a=b -o yaml.
func TestDecode(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"UTF-8":                 {"kind: Gr\u00fcn", "kind: Gr\u00fcn"},
		"UTF-8 with a mark":     {"\ufeffa: b", "\ufeffa: b"},
		"not UTF-8":             {"a: \xff", "a: \xff"},
		"little endian":         {"\xff\xfea\x00:\x00 \x00\xfc\x00\x3d\xd8\x00\xde", "a: \u00fc\U0001F600"},
		"big endian":            {"\xfe\xff\x00a\x00:\x00 \x00\xfc\xd8\x3d\xde\x00", "a: \u00fc\U0001F600"},
		"half a character":      {"\xff\xfea\x00b", "a\ufffd"},
		"half a surrogate pair": {"\xff\xfea\x00\x3d\xd8b\x00", "a\ufffdb"},
		"UTF-16 without a mark": {"a\x00:\x00", "a\x00:\x00"},
		"UTF-32":                {"\xff\xfe\x00\x00a\x00\x00\x00", "\xff\xfe\x00\x00a\x00\x00\x00"},
		"UTF-32, big endian":    {"\x00\x00\xfe\xff\x00\x00\x00a", "\x00\x00\xfe\xff\x00\x00\x00a"},
		"nothing":               {"", ""},
		"nothing but a mark":    {"\xff\xfe", ""},
		"one byte":              {"\xff", "\xff"},
		"a part of a mark":      {"\xef\xbb", "\xef\xbb"},
	} {
		text, encoding := Decode([]byte(c.data))
		if string(text) != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
		again, err := encoding.Encode(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if round, _ := Decode(again); !bytes.Equal(round, text) {
			t.Errorf("%s: %q becomes %q when it is written and read", name, text, round)
		}
		if !bytes.Contains(text, []byte("\ufffd")) && string(again) != c.data {
			t.Errorf("%s: %q is written as %q", name, c.data, again)
		}
	}
}
