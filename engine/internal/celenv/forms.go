package celenv

// Form is the form in which an API server gives an object to expressions.
type Form int

// An object is NotRead before the first expression. AsGo is a Go value in a wrapper.
const (
	NotRead Form = iota
	AsJSON
	AsGo
)

// Forms are the forms of the objects of a request in one pass, on a server of 1.37.
// matchConditions ask for Go values, mutations for JSON. The server keeps the form of the first
// that asks, and gives it to all later ones. After the first matchCondition, it gives Go values to
// mutations, too (k8s.io/apiserver v0.37.1, pkg/admission/conversion.go, LazyObject).
type Forms struct {
	Object, OldObject Form
	next              Form
}

// Read notes that expressions ask for the objects in a form.
func (f *Forms) Read(as Form) {
	f.next = max(f.next, as)
	for _, form := range []*Form{&f.Object, &f.OldObject} {
		if *form == NotRead {
			*form = f.next
		}
	}
}

// Replaced notes that a mutation has run without an error, even if it changed nothing. The
// server then gives the object in a new form.
func (f *Forms) Replaced() { f.Object = NotRead }

// Views is the number of results of View.
const Views = 4

// View returns a number below Views for the two forms. Expressions may give different results
// for different numbers.
func (f *Forms) View() int {
	view := 0
	if f.Object == AsGo {
		view++
	}
	if f.OldObject == AsGo {
		view += 2
	}
	return view
}
