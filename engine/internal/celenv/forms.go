package celenv

// Form is how an API server holds an object for expressions.
type Form int

// An object is NotRead until expressions may read it. AsGo is as the Go value that the server
// has, in a wrapper.
const (
	NotRead Form = iota
	AsJSON
	AsGo
)

// Forms says how a server of 1.37 holds the objects of a request: matchConditions want them as
// Go values, mutations as JSON, and who reads an object first decides for those after it. Once
// there was a matchCondition, every object that is read is held as a Go value
// (k8s.io/apiserver v0.37.1, pkg/admission/conversion.go, LazyObject). The forms are those of
// one pass.
type Forms struct {
	Object, OldObject Form
	next              Form
}

// Read notes that expressions may read the objects, and which form they want.
func (f *Forms) Read(as Form) {
	f.next = max(f.next, as)
	for _, form := range []*Form{&f.Object, &f.OldObject} {
		if *form == NotRead {
			*form = f.next
		}
	}
}

// Replaced notes that a mutation was carried out, even if it changed nothing.
func (f *Forms) Replaced() { f.Object = NotRead }

// Views is how many values View has.
const Views = 4

// View is a number for what expressions can tell of the forms.
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
