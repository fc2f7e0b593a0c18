package source

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"two\n\tlines, ünïcødé 𝒳 ": "two\n\tlines, ünïcødé 𝒳 ",
		"\x1b[2J\a\r\x7f\u009b":    `\x1b[2J\x07\x0d\x7f\x9b`,
	} {
		if got := PrintableLines(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
