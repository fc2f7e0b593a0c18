package release

import (
	"testing"
	"testing/fstest"
)

const (
	table36 = "a 1\nb 2\nc 3\n"
	table35 = "a 1\nb 9\nbb 4\n"
)

func TestDifferences(t *testing.T) {
	differences := Differences(table36, table35, " ")
	if want := "-c\n+b 9\n+bb 4\n"; differences != want {
		t.Errorf("got %q, want %q", differences, want)
	}
	if got := Apply(table36, differences, " "); got != table35 {
		t.Errorf("got %q, want %q", got, table35)
	}
	if got := Apply(table36, Differences(table36, table36, " "), " "); got != table36 {
		t.Errorf("no difference: got %q", got)
	}
}

func TestTable(t *testing.T) {
	table := NewTable(table36, " ", fstest.MapFS{"t-1.35.txt": {Data: []byte(Differences(table36, table35, " "))}}, "t-1.%d.txt")
	for minor, want := range map[int]string{35: table35, Default: table36, Oldest - 1: table36, Newest + 1: table36, 0: table36} {
		if got := table.For(minor); got != want {
			t.Errorf("1.%d: got %q, want %q", minor, got, want)
		}
	}
}
