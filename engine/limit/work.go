package limit

import "github.com/preadmit/preadmit/engine/change"

// Unit is the size that a value counts besides the bytes of its text, about its overhead in memory.
const Unit = 32

// Size returns the size of a value: the bytes of its texts and keys, and a Unit for each value.
// Shared parts count each time that they occur. Beyond most, Size stops counting and fits is false.
func Size(value any, most int) (size int, fits bool) { return sizeOf(nil, value, most) }

func sizeOf(memo *change.Memo, value any, most int) (size int, fits bool) {
	w := work{left: most, memo: memo}
	w.count(value)
	return most - w.left, w.left >= 0
}

type work struct {
	left int
	memo *change.Memo
}

// inside is the fact in a Memo of how large the content of a value is.
var inside change.Fact

// worth is the smallest size of a value that is remembered.
const worth = 4 * Unit

func (w *work) count(value any) {
	if w.left -= Unit; w.left < 0 {
		return
	}
	switch value := value.(type) {
	case map[string]any, []any:
		size, known := w.memo.Recall(&inside, value)
		if known {
			w.left -= size
			return
		}
		before := w.left
		w.countMembers(value)
		if size := before - w.left; size >= worth && w.left >= 0 {
			w.memo.Note(&inside, value, size)
		}
	case []string:
		for _, item := range value {
			w.left -= Unit + len(item)
		}
	case string:
		w.left -= len(value)
	}
}

func (w *work) countMembers(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if w.left -= len(key); w.left < 0 {
				return
			}
			w.count(member)
		}
	case []any:
		for _, item := range value {
			if w.left < 0 {
				return
			}
			w.count(item)
		}
	}
}

// A Budget is the rest of Work for one expression. It is not safe for concurrent use.
type Budget struct{ work work }

// Start resets the budget for a new expression.
func (b *Budget) Start() { b.work.left = Work }

// Spend subtracts the size of a value. It panics with an *Error if the budget is exhausted, because
// interpreters of JMESPath lose errors. Recovered returns that error.
func (b *Budget) Spend(value any) {
	b.work.count(value)
	b.check()
}

// Step subtracts the cost of one step.
func (b *Budget) Step() { b.Take(Unit) }

// Take subtracts a number of bytes.
func (b *Budget) Take(units int) {
	b.work.left -= units
	b.check()
}

func (b *Budget) check() {
	if b.work.left < 0 {
		panic(Exceeded(Expression, "do not double a value repeatedly, and do not iterate over a list for every item of a list",
			"the expression looks at more than %d values, or makes more", Work/Unit))
	}
}

// Recovered returns the error that a Budget has panicked with, or nil.
func Recovered(problem any) error {
	if err, ok := problem.(*Error); ok {
		return err
	}
	return nil
}
