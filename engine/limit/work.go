package limit

// Unit is what a value counts as, besides the bytes of its text: about what it takes in
// memory.
const Unit = 32

// Size is the size of a value: the bytes of its texts and keys, and some for each value.
// What stands in it twice counts twice. It stops counting, and fits is false, beyond
// most.
func Size(value any, most int) (size int, fits bool) {
	w := work{left: most}
	w.count(value)
	return most - w.left, w.left >= 0
}

type work struct{ left int }

func (w *work) count(value any) {
	if w.left -= Unit; w.left < 0 {
		return
	}
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
	case []string:
		for _, item := range value {
			w.left -= Unit + len(item)
		}
	case string:
		w.left -= len(value)
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
