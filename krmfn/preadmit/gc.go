package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// quietMemory is how much memory there may be before anything is collected. From then on a
// collection begins when the heap has grown by growth percent since the last one: a text and
// what is known of it stay until the end, so that there is little else to collect in between.
const quietMemory, growth = 14 << 20, 50

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
	runtime.AddCleanup(new(sentinel), func(int) {
		debug.SetGCPercent(growth)
		debug.SetMemoryLimit(math.MaxInt64)
	}, 0)
}

type sentinel struct{ _ [16]byte }
