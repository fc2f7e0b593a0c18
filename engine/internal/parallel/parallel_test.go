package parallel

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// TestEach calls a function for all items, and once for items of which one makes it panic: its caller can recover, and
// learns where that was.
func TestEach(t *testing.T) {
	items := make([]int, 1000)
	for i := range items {
		items[i] = i
	}
	var sum atomic.Int64
	Each(items, func(i int) { sum.Add(int64(i)) })
	if sum.Load() != 499_500 {
		t.Errorf("the sum is %d", sum.Load())
	}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "item 500\n") || !strings.Contains(text, "parallel_test.go") {
			t.Errorf("%s", text)
		}
	}()
	Each(items, func(i int) {
		if i == 500 {
			panic("item 500")
		}
	})
	t.Error("it did not panic")
}
