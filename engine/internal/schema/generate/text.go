package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// generate returns the compact text of an archive and the Go types of the same version.
// compact.go of package schema describes the format.
func generate(archive []byte, goTypes map[string][]goField) ([]byte, error) {
	g := generator{registry: new(schema.Registry), goTypes: goTypes, types: map[string]string{}}
	var resources []resource
	err := unpack(archive, func(name string, data []byte) error {
		if name != discoveryName { // it was read first
			return g.document(data, served(resources))
		}
		return json.Unmarshal(data, &resources)
	})
	if err != nil {
		return nil, err
	}
	if err := g.discovery(resources); err != nil {
		return nil, err
	}
	g.goOnly()
	if g.err != nil {
		return nil, g.err
	}
	for component, text := range g.types {
		g.line("t "+component, text)
	}
	slices.Sort(g.lines)
	return []byte(strings.Join(g.lines, "")), nil
}

// resource is an entry of discovery.
type resource struct {
	GroupVersion string `json:"groupVersion"`
	Resource     string `json:"resource"`
	Kind         string `json:"kind"`
	Group        string `json:"group,omitempty"`
	Version      string `json:"version,omitempty"`
	Namespaced   bool   `json:"namespaced,omitempty"`
}

// kind returns the kind of the objects of a resource or subresource.
func (r resource) kind() gvk.Kind {
	if r.Version != "" {
		return gvk.Kind{Group: r.Group, Version: r.Version, Kind: r.Kind}
	}
	return gvk.Parse(r.GroupVersion, r.Kind)
}

func served(resources []resource) map[gvk.Kind]bool {
	kinds := map[gvk.Kind]bool{}
	for _, r := range resources {
		kinds[r.kind()] = true
	}
	return kinds
}

type generator struct {
	registry *schema.Registry
	lines    []string
	goTypes  map[string][]goField
	types    map[string]string // by component
	err      error
}

func (g *generator) line(key, text string) {
	g.lines = append(g.lines, key+"\t"+text+"\n")
}

// document reads the served kinds of a document. Documents repeat components; components of the
// same name must be equal.
func (g *generator) document(data []byte, served map[gvk.Kind]bool) error {
	r := new(schema.Registry)
	if err := r.AddOpenAPI(data); err != nil {
		return err
	}
	if err := g.registry.AddOpenAPI(data); err != nil {
		return err
	}
	read := map[string]bool{}
	for _, k := range r.Kinds() {
		if served[k.Kind] {
			g.component(k.Type(), read)
		}
	}
	return g.err
}

// discovery writes the kinds of resources and subresources.
func (g *generator) discovery(resources []resource) error {
	written := map[gvk.Kind]bool{}
	for _, r := range resources {
		if strings.Contains(r.Resource, "/") {
			continue
		}
		k := r.kind()
		written[k] = true
		var subresources []string
		for _, s := range resources {
			if name, found := strings.CutPrefix(s.Resource, r.Resource+"/"); found && s.GroupVersion == r.GroupVersion {
				subresources = append(subresources, name)
			}
		}
		slices.Sort(subresources)
		g.line("r "+r.GroupVersion+" "+r.Resource, r.Kind)
		if err := g.kind(k, r.Resource, r.Namespaced, subresources); err != nil {
			return err
		}
	}
	for _, r := range resources {
		k := r.kind()
		if !written[k] && g.registry.Lookup(k) != nil { // the options of a proxy have no schema
			written[k] = true
			if err := g.kind(k, "-", r.Namespaced, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *generator) kind(name gvk.Kind, resource string, namespaced bool, subresources []string) error {
	k := g.registry.Lookup(name)
	if k == nil {
		return fmt.Errorf("discovery has %s, but no document does", name)
	}
	scope, below := "C", "-"
	if namespaced {
		scope = "N"
	}
	if len(subresources) > 0 {
		below = strings.Join(subresources, ",")
	}
	g.line("k "+name.APIVersion()+" "+name.Kind, strings.Join([]string{k.Type().Name, resource, scope, below}, " "))
	return nil
}

// component writes the type of a component and of the components that it refers to, without the
// attributes that may differ between references: they are written at the references. read has
// the names of the components of this document that are done.
func (g *generator) component(t *schema.Type, read map[string]bool) {
	if read[t.Name] {
		return
	}
	read[t.Name] = true
	name, plain := t.Name, *t
	plain.Name, plain.AtomicMap, plain.Strategy, plain.MergeKey = "", false, "", ""
	text := ""
	if of, found := g.goTypes[name]; found && len(of) > 0 {
		text = g.structure(&plain, name, read)
	} else if text = g.typ(&plain, read); found {
		text += "#"
	}
	if old, found := g.types[name]; found && old != text {
		g.err = fmt.Errorf("the component %s differs from that of another document:\n%s\n%s", name, old, text)
	}
	g.types[name] = text
}

// typ writes a type.
func (g *generator) typ(t *schema.Type, read map[string]bool) string {
	if t.Preserve || t.Embedded || t.Prunes || t.ElemDefault != nil || t.ElemNullable || len(t.Fields) > 0 && t.Elem != nil {
		g.err = fmt.Errorf("the text has no form for the type %+v", *t)
	}
	var b strings.Builder
	switch {
	case t.Name != "":
		g.component(t, read)
		b.WriteString("&" + t.Name)
	case t.Scalar != schema.NotScalar:
		b.WriteByte("sinbIqu"[t.Scalar-schema.String])
		if t.Format != "" {
			b.WriteString(":" + t.Format)
		}
	case t.IsList:
		b.WriteString("[" + g.typ(t.Elem, read) + "]")
	case t.Elem != nil:
		b.WriteString("<" + g.typ(t.Elem, read) + ">")
	default:
		b.WriteString(g.structure(t, t.Name, read))
	}
	if t.AtomicMap {
		b.WriteByte('!')
	}
	switch t.List {
	case schema.Set:
		b.WriteByte('+')
	case schema.Associative:
		b.WriteString("@" + strings.Join(t.ListKeys, "/"))
	}
	if t.Strategy != "" {
		b.WriteString("~" + strings.ReplaceAll(t.Strategy, ",", "|"))
		if t.MergeKey != "" {
			b.WriteString("/" + t.MergeKey)
		}
	}
	return b.String()
}

func (g *generator) structure(t *schema.Type, component string, read map[string]bool) string {
	texts := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		if f.Nullable {
			g.err = fmt.Errorf("the text has no form for the nullable field %s", f.Name)
		}
		texts[i] = g.typ(f.Type, read)
		if f.Required {
			texts[i] += "*"
		}
		if f.Default != nil {
			value, err := json.Marshal(f.Default)
			if err != nil {
				g.err = err
			}
			texts[i] += "=" + string(value)
		}
	}
	return g.fields(component, t.FieldNames(), texts)
}
