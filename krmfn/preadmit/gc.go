package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// quietMemory is how much memory there may be before anything is collected.
const quietMemory = 14 << 20

// delayGC puts garbage collection off until there is something to gain from it: most
// runs are over before. With ten policies this saves a fifth of the processor time of a
// run on one manifest. Who sets GOGC or GOMEMLIMIT gets what they ask for.
func delayGC() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(quietMemory)
	// The first collection finds the sentinel and makes the following ones usual.
	runtime.AddCleanup(new(sentinel), func(percent int) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, growth(os.Args[1:]))
}

// growth is by how many percent what is kept may grow between collections. Less than Go's
// usual 100 saves a tenth of the memory of a run for a twentieth of its time. diff and explain
// keep what they find out until the end, so that there is less to gain from each collection.
func growth(args []string) int {
	if len(args) > 0 && (args[0] == "diff" || args[0] == "explain") {
		return 200
	}
	return 70
}

type sentinel struct{ _ [16]byte }
