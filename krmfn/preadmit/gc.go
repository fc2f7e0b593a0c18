package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// quietMemory is how many bytes of memory the program may use before the first collection.
const quietMemory = 14 << 20

// delayGC delays garbage collection until the program uses quietMemory. Most runs end before
// that. With ten policies this saves a fifth of the processor time of a run on one manifest. It
// does nothing if GOGC or GOMEMLIMIT is set.
func delayGC() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(quietMemory)
	// The first collection frees the sentinel, which enables normal collections.
	runtime.AddCleanup(new(sentinel), func(percent int) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, growth(os.Args[1:]))
}

// growth returns the value of GOGC for a command, in percent. Less than Go's default of 100
// saves a tenth of the memory of a run and costs a twentieth of its time. diff, explain and report keep
// their results until the end, so each collection frees less.
func growth(args []string) int {
	if len(args) > 0 && slices.Contains([]string{"diff", "explain", "report"}, args[0]) {
		return 200
	}
	return 70
}

type sentinel struct{ _ [16]byte }
