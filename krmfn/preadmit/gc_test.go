package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestDelayGC shows that the first collection enables normal collections.
func TestDelayGC(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	limit := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(limit)
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)

	delayGC()
	if got := debug.SetMemoryLimit(-1); got != quietMemory {
		t.Fatalf("the limit is %d", got)
	}
	runtime.GC()
	for deadline := time.Now().Add(10 * time.Second); debug.SetMemoryLimit(-1) != math.MaxInt64; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("collection stays off")
		}
	}
	if got := debug.SetGCPercent(percent); got != 70 {
		t.Errorf("GOGC is %d", got)
	}
}

// TestGrowth shows that commands that keep their results until the end collect less often.
func TestGrowth(t *testing.T) {
	for command, want := range map[string]int{"diff": 200, "explain": 200, "render": 70, "": 70} {
		if got := growth([]string{command, "-p", "diff"}); got != want {
			t.Errorf("%q: %d %%", command, got)
		}
	}
	if got := growth(nil); got != 70 {
		t.Errorf("no command: %d %%", got)
	}
}

func TestDelayGCIsAsked(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := debug.SetMemoryLimit(-1)
	if delayGC(); debug.SetMemoryLimit(-1) != before {
		t.Error("GOGC is overruled")
	}
}
