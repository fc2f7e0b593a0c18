package answer

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/internal/settings"
)

// TestForm compares the options of the page with the table of options: their names, and the values that
// it offers.
func TestForm(t *testing.T) {
	page, err := os.ReadFile("../web/index.html")
	if err != nil {
		t.Fatal(err)
	}
	_, form, _ := strings.Cut(string(page), `id="options-form"`)
	form, _, _ = strings.Cut(form, "</form>")
	fields := regexp.MustCompile(`<(?:input|select)[^>]* name="([^"]+)"[^>]*>(.*?)</label>`).FindAllStringSubmatch(form, -1)
	if len(fields) < 10 {
		t.Fatalf("the page has only the options %q", fields)
	}
	for _, field := range fields {
		o := settings.Find(field[1], name)
		if o == nil {
			t.Errorf("%s is not an option; %s", field[1], settings.Suggest(field[1], name))
			continue
		}
		var offered []string
		for _, value := range regexp.MustCompile(`<option>([^<]+)`).FindAllStringSubmatch(field[2], -1) {
			if offered = append(offered, value[1]); o.Check(value[1]) != nil {
				t.Errorf("%s: %v", field[1], o.Check(value[1]))
			}
		}
		for _, value := range o.Values {
			if !o.IsSwitch() && !slices.Contains(append(offered, o.Default), value) {
				t.Errorf("%s: the page does not offer %s", field[1], value)
			}
		}
	}
}

// TestRead shows that requests which the page never sends are refused with what to write instead.
func TestRead(t *testing.T) {
	for request, want := range map[string]string{
		`{"options": {"namespce": ["x"]}}`:             "unknown option namespce; did you mean namespace?",
		`{"options": {"kubernetesVersion": ["1.36"]}}`: "unknown option kubernetesVersion; did you mean kubernetes-version?",
		`{"options": {"per-directory": ["true"]}}`:     "unknown option per-directory; ",
		`{"options": {"operation": ["DELETE"]}}`:       `option operation: "DELETE" is not a valid value; expected CREATE or UPDATE`,
		`{"options": {"operation": []}}`:               "the option operation has no values",
	} {
		if _, err := read(request); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", request, err)
		}
	}
}
