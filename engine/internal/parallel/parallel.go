// Package parallel uses all processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do for every item. It uses few goroutines, so that few stacks have to grow.
func Each[T any](items []T, do func(T)) {
	workers := min(runtime.GOMAXPROCS(0), len(items))
	if workers < 2 {
		for _, item := range items {
			do(item)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(items); i = int(next.Add(1)) - 1 {
				do(items[i])
			}
		})
	}
	wait.Wait()
}
