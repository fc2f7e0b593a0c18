// Package parallel uses all processors.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each calls do for every item. It uses few goroutines, so that few stacks have to grow. If do panics, Each does, with
// what the stack was, and calls it for no further items.
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
	var crash atomic.Pointer[string]
	for range workers {
		wait.Go(func() {
			defer func() {
				if problem := recover(); problem != nil {
					text := fmt.Sprintf("%v\n\n%s", problem, debug.Stack())
					crash.CompareAndSwap(nil, &text)
					next.Store(int64(len(items)))
				}
			}()
			for i := int(next.Add(1)) - 1; i < len(items); i = int(next.Add(1)) - 1 {
				do(items[i])
			}
		})
	}
	wait.Wait()
	if text := crash.Load(); text != nil {
		panic(*text)
	}
}
