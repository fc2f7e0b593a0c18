package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// quietMemory is how much memory there may be before anything is collected. From then on a
// collection begins when the heap has grown by shortGrowth percent since the last one: beside
// what the program itself takes, a small stream is to take little. It is longGrowth percent
// once largeHeap stays after a collection.
const (
	quietMemory             = 14 << 20
	largeHeap               = 8 << 20
	shortGrowth, longGrowth = 50, 100
)

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
		debug.SetGCPercent(shortGrowth)
		debug.SetMemoryLimit(math.MaxInt64)
		runtime.AddCleanup(new(sentinel), watchHeap, 0)
	}, 0)
}

// watchHeap looks after every collection whether what is left is large.
func watchHeap(int) {
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	if heap.NextGC/(100+shortGrowth)*100 > largeHeap {
		debug.SetGCPercent(longGrowth)
		return
	}
	runtime.AddCleanup(new(sentinel), watchHeap, 0)
}

type sentinel struct{ _ [16]byte }
