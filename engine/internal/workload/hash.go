package workload

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TemplateHash is the hash of a pod template that Deployments and DaemonSets label what
// they make with.
func TemplateHash(template map[string]any) string {
	h := fnv.New32a()
	io.WriteString(h, "(v1.PodTemplateSpec)")
	structs()["v1.PodTemplateSpec"].print(h, template)
	return safe(h.Sum32())
}

// revision is the name of the first ControllerRevision of a StatefulSet.
func revision(owner map[string]any) string {
	template := object(owner, "spec", "template")
	template["$patch"] = "replace"
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		panic("workload: a value that was read cannot be written: " + err.Error())
	}
	h := fnv.New32()
	h.Write(patch)
	io.WriteString(h, "0") // how many others have had the same hash
	return cut(Name(owner), 223) + "-" + safe(h.Sum32())
}

// safe writes a hash so that it has no vowels, and no digits that look like any.
func safe(hash uint32) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	text := []byte(strconv.FormatUint(uint64(hash), 10))
	for i, c := range text {
		text[i] = alphabet[int(c)%len(alphabet)]
	}
	return string(text)
}

// templateTypes are the Go types in a PodTemplateSpec; template/main.go in gotypes explains
// the format.
//
//go:embed template.txt
var templateTypes string

// goStruct is a struct type of Go.
type goStruct []goField

// goField is a field of it. json is empty if its own fields are among those of the struct.
type goField struct{ name, json, typ, code string }

// structs are the types in the table.
var structs = sync.OnceValue(func() map[string]goStruct {
	all := map[string]goStruct{}
	for line := range strings.Lines(templateTypes) {
		words := strings.Fields(line)
		for _, word := range words[1:] {
			parts := strings.Split(word, "|")
			all[words[0]] = append(all[words[0]], goField{parts[0], parts[1], parts[2], parts[3]})
		}
	}
	return all
})

// print prints an object as the library spew 1.1.1 does with the verb %#v: the text that
// controllers hash.
func (s goStruct) print(w io.Writer, object map[string]any) {
	io.WriteString(w, "{")
	for i, f := range s {
		if i > 0 {
			io.WriteString(w, " ")
		}
		io.WriteString(w, f.name+":")
		if f.json == "" {
			f.embedded(w, object)
			continue
		}
		f.print(w, object[f.json])
	}
	io.WriteString(w, "}")
}

// embedded prints a struct whose fields are among those of the one around it.
func (f goField) embedded(w io.Writer, object map[string]any) {
	fmt.Fprintf(w, "(%s)", f.typ)
	structs()[f.code].print(w, object)
}

// print prints a field with its type.
func (f goField) print(w io.Writer, value any) {
	code, pointer := strings.CutPrefix(f.code, "*")
	fmt.Fprintf(w, "(%s)", f.typ)
	if pointer && value == nil {
		io.WriteString(w, "<nil>")
		return
	}
	printValue(w, code, value)
}

// printValue prints a value of a type without the type. Empty lists and maps are not
// stored, and nil when they are read.
func printValue(w io.Writer, code string, value any) {
	switch code[0] {
	case '[':
		printList(w, code[1:], value)
	case '{':
		printMap(w, code[1:], value)
	case '*': // in a list or a map there are none
		printValue(w, code[1:], value)
	default:
		printScalar(w, code, value)
	}
}

func printList(w io.Writer, code string, value any) {
	list, _ := value.([]any)
	if len(list) == 0 {
		io.WriteString(w, "<nil>")
		return
	}
	for i, item := range list {
		io.WriteString(w, map[bool]string{true: "[", false: " "}[i == 0])
		printValue(w, code, item)
	}
	io.WriteString(w, "]")
}

func printMap(w io.Writer, code string, value any) {
	m, _ := value.(map[string]any)
	if len(m) == 0 {
		io.WriteString(w, "<nil>")
		return
	}
	for i, key := range slices.Sorted(maps.Keys(m)) {
		io.WriteString(w, map[bool]string{true: "map[", false: " "}[i == 0]+key+":")
		printValue(w, code, m[key])
	}
	io.WriteString(w, "]")
}

func printScalar(w io.Writer, code string, value any) {
	switch code {
	case "s", "y":
		text, _ := value.(string)
		if code == "y" {
			text = "<nil>"
		}
		io.WriteString(w, text)
	case "b":
		set, _ := value.(bool)
		fmt.Fprint(w, set)
	case "i":
		n, _ := value.(int64)
		fmt.Fprint(w, n)
	case "t": // a template has none that is not zero
		io.WriteString(w, "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}")
	case "x":
		n, isNumber := value.(int64)
		text, _ := value.(string)
		fmt.Fprintf(w, "{Type:(intstr.Type)%d IntVal:(int32)%d StrVal:(string)%s}", map[bool]int{false: 1}[isNumber || value == nil], n, text)
	case "q":
		q, err := resource.ParseQuantity(quantityText(value))
		if err == nil {
			printGo(w, reflect.ValueOf(q))
		}
	default:
		inner, _ := value.(map[string]any)
		structs()[code].print(w, inner)
	}
}

func quantityText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return "0"
}

// printGo prints a quantity, as deep as it goes, without its type.
func printGo(w io.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			fmt.Fprintf(w, "%s%s:(%s)", map[bool]string{true: "{", false: " "}[i == 0], v.Type().Field(i).Name, field.Type())
			printGo(w, field)
		}
		io.WriteString(w, "}")
	case reflect.Pointer:
		if v.IsNil() {
			io.WriteString(w, "<nil>")
			return
		}
		printGo(w, v.Elem())
	case reflect.Slice:
		words := make([]string, v.Len())
		for i := range words {
			words[i] = strconv.FormatUint(v.Index(i).Uint(), 10)
		}
		if v.IsNil() {
			io.WriteString(w, "<nil>")
			return
		}
		io.WriteString(w, "["+strings.Join(words, " ")+"]")
	case reflect.Bool:
		fmt.Fprint(w, v.Bool())
	case reflect.String:
		io.WriteString(w, v.String())
	case reflect.Uint, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		fmt.Fprint(w, v.Uint())
	default:
		fmt.Fprint(w, v.Int())
	}
}
