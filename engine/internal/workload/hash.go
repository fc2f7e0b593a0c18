package workload

import (
	"embed"
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

	"github.com/preadmit/preadmit/engine/internal/release"
)

// TemplateHash returns the hash of a pod template. Deployments and DaemonSets of Kubernetes
// 1.minor write it into a label of the objects that they make.
func TemplateHash(template map[string]any, minor int) string {
	h := fnv.New32a()
	io.WriteString(h, "(v1.PodTemplateSpec)")
	p := printer{h, structs[release.Index(minor)]()}
	p.object("v1.PodTemplateSpec", template)
	return safe(h.Sum32())
}

// revision returns the name of the first ControllerRevision of a StatefulSet.
func revision(owner map[string]any) string {
	template := object(owner, "spec", "template")
	template["$patch"] = "replace"
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		panic("workload: a value that was read cannot be written: " + err.Error())
	}
	h := fnv.New32()
	h.Write(patch)
	io.WriteString(h, "0") // the number of earlier collisions
	return cut(Name(owner), 223) + "-" + safe(h.Sum32())
}

// safe writes a hash without vowels and without digits that look like vowels.
func safe(hash uint32) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	text := []byte(strconv.FormatUint(uint64(hash), 10))
	for i, c := range text {
		text[i] = alphabet[int(c)%len(alphabet)]
	}
	return string(text)
}

// templateTypes are the Go types in a PodTemplateSpec; template/main.go in gotypes explains the
// format.
//
//go:embed template.txt
var templateTypes string

// differences are the lines of other versions that differ.
//
//go:embed versions
var differences embed.FS

var templateTable = release.NewTable(templateTypes, " ", differences, "versions/template-1.%d.txt")

// goStruct is a struct type of Go.
type goStruct []goField

// goField is a field of a struct. json is empty if its fields are inlined into the struct.
type goField struct{ name, json, typ, code string }

// structs are the types in the tables of all versions, by release.Index.
var structs = func() (all [release.Count]func() map[string]goStruct) {
	for i := range all {
		all[i] = sync.OnceValue(func() map[string]goStruct { return readStructs(templateTable.For(release.Oldest + i)) })
	}
	return all
}()

func readStructs(table string) map[string]goStruct {
	all := map[string]goStruct{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		for _, word := range words[1:] {
			parts := strings.Split(word, "|")
			all[words[0]] = append(all[words[0]], goField{parts[0], parts[1], parts[2], parts[3]})
		}
	}
	return all
}

// printer prints objects as the library spew 1.1.1 does with the verb %#v. Controllers hash this
// text.
type printer struct {
	io.Writer
	types map[string]goStruct
}

func (p printer) text(text string) { io.WriteString(p, text) }

// object prints a struct without its type.
func (p printer) object(code string, object map[string]any) {
	p.text("{")
	for i, f := range p.types[code] {
		if i > 0 {
			p.text(" ")
		}
		p.text(f.name + ":")
		if f.json == "" { // its fields are inlined
			p.text("(" + f.typ + ")")
			p.object(f.code, object)
			continue
		}
		p.field(f, object[f.json])
	}
	p.text("}")
}

// field prints a field with its type.
func (p printer) field(f goField, value any) {
	code, pointer := strings.CutPrefix(f.code, "*")
	p.text("(" + f.typ + ")")
	if pointer && value == nil {
		p.text("<nil>")
		return
	}
	p.coded(code, value)
}

// coded prints a value of a coded type without the type. Empty lists and maps are not stored, so
// controllers read them as nil.
func (p printer) coded(code string, value any) {
	switch code[0] {
	case '[':
		p.list(code[1:], value)
	case '{':
		p.mapOf(code[1:], value)
	case '*': // lists and maps contain no nil
		p.coded(code[1:], value)
	default:
		p.scalar(code, value)
	}
}

func (p printer) list(code string, value any) {
	list, _ := value.([]any)
	if len(list) == 0 {
		p.text("<nil>")
		return
	}
	for i, item := range list {
		p.text(map[bool]string{true: "[", false: " "}[i == 0])
		p.coded(code, item)
	}
	p.text("]")
}

func (p printer) mapOf(code string, value any) {
	m, _ := value.(map[string]any)
	if len(m) == 0 {
		p.text("<nil>")
		return
	}
	for i, key := range slices.Sorted(maps.Keys(m)) {
		p.text(map[bool]string{true: "map[", false: " "}[i == 0] + key + ":")
		p.coded(code, m[key])
	}
	p.text("]")
}

func (p printer) scalar(code string, value any) {
	switch code {
	case "s", "y":
		text, _ := value.(string)
		if code == "y" {
			text = "<nil>"
		}
		p.text(text)
	case "b":
		set, _ := value.(bool)
		fmt.Fprint(p, set)
	case "i":
		n, _ := value.(int64)
		fmt.Fprint(p, n)
	case "t": // times in a template are zero
		p.text("{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}")
	case "x":
		n, isNumber := value.(int64)
		text, _ := value.(string)
		fmt.Fprintf(p, "{Type:(intstr.Type)%d IntVal:(int32)%d StrVal:(string)%s}", map[bool]int{false: 1}[isNumber || value == nil], n, text)
	case "q":
		q, err := resource.ParseQuantity(quantityText(value))
		if err == nil {
			printGo(p, reflect.ValueOf(q))
		}
	default:
		inner, _ := value.(map[string]any)
		p.object(code, inner)
	}
}

func quantityText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return "0"
}

// printGo prints a quantity with all nested values, without its type.
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
