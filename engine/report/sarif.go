package report

import (
	"io"
	"maps"
	"net/url"
	"slices"

	"github.com/preadmit/preadmit/engine/source"
)

// SARIF writes findings in the Static Analysis Results Interchange Format, version 2.1.0.
func SARIF(w io.Writer, findings []source.Diagnostic) {
	codes := map[string]bool{}
	results := []any{}
	for _, d := range findings {
		codes[d.Code] = true
		result := map[string]any{
			"ruleId": d.Code, "level": map[source.Severity]string{source.Info: "note", source.Warning: "warning", source.Error: "error"}[d.Severity],
			"message": map[string]any{"text": d.Text()},
		}
		if physical := sarifPlace(inFile(d)); physical != nil {
			result["locations"] = []any{map[string]any{"physicalLocation": physical}}
		}
		related := sarifRelated(d)
		if related != nil {
			result["relatedLocations"] = related
		}
		results = append(results, result)
	}
	rules := []any{}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		rules = append(rules, sarifRule(code))
	}
	writeJSON(w, map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool": map[string]any{"driver": map[string]any{
				"name": "preadmit", "informationUri": "https://github.com/preadmit/preadmit", "rules": rules,
			}},
			"columnKind": "unicodeCodePoints", "results": results,
		}},
	})
}

// sarifRelated returns the related places of a finding, and those of its facts.
func sarifRelated(d source.Diagnostic) (related []any) {
	places := slices.Concat(d.Related, d.Also)
	for _, f := range d.Facts {
		at := f.At
		f.At = source.Position{}
		places = append(places, source.Place{At: at, Name: f.String()})
	}
	for _, p := range places {
		if physical := sarifPlace(p.At); physical != nil {
			related = append(related, map[string]any{"physicalLocation": physical, "message": map[string]any{"text": source.Printable(p.Name)}})
		}
	}
	return related
}

// sarifPlace returns a position as a physicalLocation, or nil if it is in no file.
func sarifPlace(p source.Position) map[string]any {
	if !p.IsKnown() || p.File == "-" {
		return nil
	}
	physical := map[string]any{"artifactLocation": map[string]any{"uri": (&url.URL{Path: p.File}).String()}}
	if p.Line > 0 {
		region := map[string]any{"startLine": p.Line}
		if p.Column > 0 {
			region["startColumn"] = p.Column
		}
		physical["region"] = region
	}
	return physical
}

// sarifRule describes a code with the texts of the catalogue.
func sarifRule(code string) map[string]any {
	e, ok := source.Lookup(code)
	if !ok {
		return map[string]any{"id": code}
	}
	return map[string]any{
		"id": code, "shortDescription": map[string]any{"text": e.Title}, "fullDescription": map[string]any{"text": e.Cause},
		"help": map[string]any{"text": e.Advice}, "helpUri": "https://github.com/preadmit/preadmit/blob/main/krmfn/docs/errors.md#" + code,
	}
}
