// Template writes a table of the Go types in a PodTemplateSpec. Controllers of Kubernetes print
// the Go value as text, with the names of fields and types, and write the hash of the text into
// the label pod-template-hash.
//
//	go run ./template FILE
//
// Each line of FILE is a struct with its fields in the order of Go. A field has its name in Go,
// its name in JSON (empty if its fields are inlined), its type as Go prints it, and its code:
//
//	s string, b bool, i integer, q quantity, t time, x int or string, y bytes,
//	*T pointer, [T list, {T map, or the name of a struct.
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./template FILE")
	}
	lines := map[string]string{}
	describe(reflect.TypeFor[v1.PodTemplateSpec](), lines)
	text := strings.Join(slices.Sorted(maps.Values(lines)), "\n") + "\n"
	if err := os.WriteFile(os.Args[1], []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

// describe adds the lines of a struct and of the structs in it.
func describe(t reflect.Type, lines map[string]string) {
	name := nameOf(t)
	if _, ok := lines[name]; ok {
		return
	}
	lines[name] = name
	line := name
	for i := range t.NumField() {
		f := t.Field(i)
		json, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		line += fmt.Sprintf(" %s|%s|%s|%s", f.Name, json, f.Type, code(f.Type, lines))
	}
	lines[name] = line
}

// nameOf returns the name of a type. It distinguishes packages that Go prints alike.
func nameOf(t reflect.Type) string {
	if strings.HasSuffix(t.PkgPath(), "meta/v1") {
		return "meta/" + t.String()
	}
	return t.String()
}

func code(t reflect.Type, lines map[string]string) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "q"
	case reflect.TypeFor[metav1.Time]():
		return "t"
	case reflect.TypeFor[intstr.IntOrString]():
		return "x"
	case reflect.TypeFor[[]byte]():
		return "y"
	}
	switch t.Kind() {
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32, reflect.Int64:
		return "i"
	case reflect.Pointer:
		return "*" + code(t.Elem(), lines)
	case reflect.Slice:
		return "[" + code(t.Elem(), lines)
	case reflect.Map:
		return "{" + code(t.Elem(), lines)
	case reflect.Struct:
		describe(t, lines)
		return nameOf(t)
	}
	log.Fatalf("%s: unknown kind", t)
	return ""
}
