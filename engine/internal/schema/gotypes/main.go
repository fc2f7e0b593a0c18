// Gotypes writes a table of how the Go types of the Kubernetes API are encoded as JSON: which
// fields are always written, which are omitted when they are zero, which are pointers, and their
// order. An OpenAPI document does not contain it, so schema/generate adds it to the types of the
// documents. Gotypes is a module of its own, so that the modules of the API do not become
// dependencies of preadmit.
//
//	go run . ARCHIVE FILE LIFECYCLES [NAMES]
//
// ARCHIVE has the OpenAPI documents of a version of Kubernetes, which list the kinds it serves.
// The types must be of the same version: go.mod has the default version, and -modfile=1.34.mod
// selects another.
//
// Each line of FILE is a type with its fields in the order of Go. Lines are sorted by name:
//
//	io.k8s.api.batch.v1.JobTemplateSpec metadata!io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta spec!io.k8s.api.batch.v1.JobSpec
//
// The character after the name of a field says how its zero value is written:
//
//	!  always            a value without omitempty, or a struct
//	~  not at all        a value with omitempty
//	?  not at all        a struct or time with omitzero
//	*  not at all if nil a pointer with omitempty
//	^  null if nil       a pointer, list or map without omitempty
//
// The type of the field follows:
//
//	s string, b bool, i int32, l int64, f float64, y bytes, q quantity, t time,
//	m microtime, x int or string, r any object, j any JSON, B, A and S the unions of
//	the OpenAPI schemas in CustomResourceDefinitions, [T list, {T map, or the name
//	of a type.
//
// LIFECYCLES takes when the versions of kinds are deprecated and removed: lifecycle.go describes it. The
// program in the directory gone has those of kinds that have no types any more.
// NAMES takes what the errors of Go's JSON decoder show besides: names.go describes it.
package main

import (
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 && len(os.Args) != 5 {
		log.Fatal("usage: go run . ARCHIVE FILE LIFECYCLES [NAMES]")
	}
	g := visit(os.Args[1])
	write(os.Args[2], slices.Sorted(maps.Values(g.lines)))
	write(os.Args[3], lifecycles())
	if len(os.Args) == 5 {
		write(os.Args[4], g.names())
	}
}

func write(file string, lines []string) {
	if err := os.WriteFile(file, table(lines), 0o644); err != nil {
		log.Fatal(err)
	}
}

func table(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// visit returns a generator with all types.
func visit(archive string) *generator {
	g := &generator{lines: map[reflect.Type]string{}}
	for _, root := range roots(archive) {
		g.name(root)
	}
	return g
}

// roots returns the types of the kinds that a server of this version serves, and others.
func roots(archive string) []reflect.Type {
	kinds := served(archive)
	var types []reflect.Type
	for kind, t := range scheme().AllKnownTypes() {
		isReview := kind.Group == "authentication.k8s.io" || kind.Group == "authorization.k8s.io" // answered, not stored
		if kinds[kind] && hasMetadata(t) && !isReview {
			types = append(types, t)
		}
	}
	return append(types, others...)
}

func hasMetadata(t reflect.Type) bool {
	f, ok := t.FieldByName("ObjectMeta")
	return ok && f.Anonymous
}

type generator struct {
	lines map[reflect.Type]string
}

// name returns the name of a struct type, which is its name in OpenAPI documents, and adds the line of the type if
// it is missing.
func (g *generator) name(t reflect.Type) string {
	name := strings.ReplaceAll(strings.Replace(t.PkgPath(), "k8s.io/", "io.k8s.", 1), "/", ".") + "." + t.Name()
	if _, ok := g.lines[t]; !ok {
		g.lines[t] = "" // against endless recursion
		var b strings.Builder
		b.WriteString(name)
		g.fields(&b, t)
		g.lines[t] = b.String()
	}
	return name
}

func (g *generator) fields(b *strings.Builder, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			g.fields(b, f.Type)
		case name == "":
			log.Fatalf("%s.%s has no JSON name", t, f.Name)
		default:
			b.WriteString(" " + name + mode(f.Type, strings.Split(options, ",")) + g.value(deref(f.Type)))
		}
	}
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func mode(t reflect.Type, options []string) string {
	empty, zero := slices.Contains(options, "omitempty"), slices.Contains(options, "omitzero")
	switch kind := t.Kind(); {
	case kind == reflect.Pointer && (empty || zero):
		return "*"
	case kind == reflect.Pointer:
		return "^"
	case kind == reflect.Struct && zero:
		return "?"
	case kind == reflect.Struct:
		return "!"
	case empty:
		return "~"
	case zero:
		log.Fatalf("%s with omitzero", t)
	case kind == reflect.Slice, kind == reflect.Map:
		return "^"
	}
	return "!"
}

// value returns the code of a type.
func (g *generator) value(t reflect.Type) string {
	if code, ok := special[t]; ok {
		return code
	}
	if marshals(t) {
		log.Fatalf("%s writes its JSON itself", t)
	}
	switch t.Kind() {
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32:
		return "i"
	case reflect.Int64:
		return "l"
	case reflect.Float64:
		return "f"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "[" + g.value(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			log.Fatalf("%s has keys that are not strings", t)
		}
		return "{" + g.value(t.Elem())
	case reflect.Struct:
		return g.name(t)
	}
	log.Fatalf("%s is of a kind that has no code", t)
	return ""
}

func marshals(t reflect.Type) bool {
	_, is := reflect.PointerTo(t).MethodByName("MarshalJSON")
	return is
}
