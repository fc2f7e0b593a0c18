package limit

import (
	"errors"
	"strings"
	"testing"
)

func TestParseInput(t *testing.T) {
	for text, want := range map[string]int{"1Mi": 1 << 20, "256Mi": 256 << 20, "1Gi": 1 << 30, "2047Mi": MaxInputBytes} {
		if got, err := ParseInput(text); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Mi", "0Mi", "-1Mi", "1", "1M", "1.5Gi", "2048Mi", "2Gi", "9999999999999999999Mi", " 1Mi"} {
		if got, err := ParseInput(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestInputBytes(t *testing.T) {
	input := Input{Bytes: 10}
	for i, c := range []struct {
		text string
		fits bool
	}{{"12345", true}, {"67890", true}, {"", true}, {"1", false}} {
		data, err := input.Read(strings.NewReader(c.text))
		if exceeded := new(Error); c.fits != (err == nil) || !c.fits && !errors.As(err, &exceeded) || c.fits && string(data) != c.text {
			t.Errorf("%d: %q, %v", i, data, err)
		}
	}
}

func TestBuffer(t *testing.T) {
	buffer := Buffer{Most: 10}
	if _, err := buffer.Write([]byte("0123456789")); err != nil {
		t.Error(err)
	}
	if _, err := buffer.Write([]byte("0")); err == nil || buffer.Err() == nil || string(buffer.Bytes()) != "0123456789" {
		t.Errorf("%v, %q", err, buffer.Bytes())
	}
}

func TestDocumentsIn(t *testing.T) {
	for bytes, want := range map[int]int{0: Documents, 1 << 20: Documents, InputBytes: Documents, 2 * InputBytes: 2 * Documents, MaxInputBytes: 3_198_437} {
		if got := DocumentsIn(bytes); got != want {
			t.Errorf("%d: %d, want %d", bytes, got, want)
		}
	}
}
