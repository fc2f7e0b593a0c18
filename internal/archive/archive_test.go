package archive

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	text := "what the archive is about\n-- one/a.txt --\nfirst\n-- no file\n-- one/deep/b.txt --\n-- two/a.txt --\nlast\n"
	if err := os.WriteFile(filepath.Join(dir, "cases.txtar"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	unpacked := Unpack(t, dir, 2)
	for path, want := range map[string]string{"one/a.txt": "first\n-- no file\n", "one/deep/b.txt": "", "two/a.txt": "last\n"} {
		got, err := os.ReadFile(filepath.Join(unpacked, path))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q (%v), want %q", path, got, err, want)
		}
	}
}
