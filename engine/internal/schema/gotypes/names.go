package main

import (
	"reflect"
	"slices"
	"strings"
)

// names returns the lines of NAMES, sorted. Each is a struct type with those of its fields that Go's
// JSON decoder names by more than their JSON names and the kinds of their types:
//
//	io.k8s.api.core.v1.Probe exec>ProbeHandler
//	io.k8s.api.core.v1.Container imagePullPolicy=v1.PullPolicy
//
// A > is followed by the embedded struct that has the field, a = by the type of the field.
func (g *generator) names() []string {
	var lines []string
	for t, line := range g.lines {
		name, _, _ := strings.Cut(line, " ")
		if fields := namesOf(t, ""); len(fields) > 0 {
			lines = append(lines, name+" "+strings.Join(fields, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

// namesOf returns the fields of a struct; within names the embedded struct that it is.
func namesOf(t reflect.Type, within string) (fields []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch of := deref(f.Type); {
		case name == "-":
		case f.Anonymous && name == "":
			if f.Name != "TypeMeta" { // the decoder reads apiVersion and kind first
				fields = append(fields, namesOf(f.Type, strings.TrimPrefix(within+"."+f.Name, "."))...)
			}
		default:
			field := name
			if within != "" {
				field += ">" + within
			}
			if isNamed(of) {
				field += "=" + of.String()
			}
			if field != name {
				fields = append(fields, field)
			}
		}
	}
	return fields
}

// isNamed reports whether a type is, or consists of, named types that are not structs.
func isNamed(t reflect.Type) bool {
	if special[t] != "" {
		return false
	}
	switch t.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice:
		return t.Name() != "" || isNamed(deref(t.Elem()))
	case reflect.Map:
		return t.Name() != "" || isNamed(t.Key()) || isNamed(deref(t.Elem()))
	}
	return t.PkgPath() != ""
}
