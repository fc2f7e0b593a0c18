package limit

import "github.com/preadmit/preadmit/engine/change"

// Unit is what a value counts as, besides the bytes of its text: about what it takes in
// memory.
const Unit = 32

// Size is the size of a value: the bytes of its texts and keys, and some for each value.
// What is in it twice counts twice. It stops counting, and fits is false, beyond
// most.
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

// inside is what a Memo knows of a value: the size of what is in it.
var inside change.Fact

// worth is what a value must count for to be remembered.
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

// A Budget is what is left of Work for one expression. It is not safe for concurrent
// use.
type Budget struct{ work work }

// Start begins an expression.
func (b *Budget) Start() { b.work.left = Work }

// Spend takes the size of a value. It panics with an *Error when nothing is left, as
// interpreters of JMESPath lose errors on the way; Recovered gives it back.
func (b *Budget) Spend(value any) {
	b.work.count(value)
	b.check()
}

// Step takes what one step costs.
func (b *Budget) Step() { b.Take(Unit) }

// Take takes a number of units.
func (b *Budget) Take(units int) {
	b.work.left -= units
	b.check()
}

func (b *Budget) check() {
	if b.work.left < 0 {
		panic(Exceeded(Expression, "an expression that doubles a value, or goes through a list for every item of a list, has to go",
			"the expression looks at more than %d values, or makes more", Work/Unit))
	}
}

// Recovered is the error that a Budget panicked with, or nil.
func Recovered(problem any) error {
	if err, ok := problem.(*Error); ok {
		return err
	}
	return nil
}
