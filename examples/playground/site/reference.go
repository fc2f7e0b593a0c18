package site

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// repository is the address of files that the site does not have.
const repository = "https://github.com/preadmit/preadmit/blob/main/"

// document is a page of the reference.
type document struct {
	// source is the file in the repository, Name the file name of the page.
	source, Name string
	Title        string
	Group        string
	Content      template.HTML
	Sections     []section
}

// section is a part of a page, from one heading to the next.
type section struct {
	ID, Title, text string
	Level           int
}

// reference builds the pages of the reference and the search.
func (b *builder) reference() error {
	documents, err := b.documents()
	if err != nil {
		return err
	}
	layout, err := template.ParseFiles(b.own("web", "reference.html"))
	if err != nil {
		return err
	}
	for i := range documents {
		var out bytes.Buffer
		if err := layout.Execute(&out, map[string]any{"Page": &documents[i], "Pages": documents}); err != nil {
			return err
		}
		if err := b.write("reference/"+documents[i].Name, out.Bytes()); err != nil {
			return err
		}
	}
	style, _, err := b.bundle("", "reference.css", nil, nil)
	if err != nil {
		return err
	}
	script, _, err := b.bundle("", "src/reference.ts", nil, map[string]any{"INDEX": indexOf(documents)})
	if err != nil {
		return err
	}
	schema, err := os.ReadFile(filepath.Join(b.root, "krmfn/docs/functionconfig.schema.json"))
	return errors.Join(err, b.write("reference/functionconfig.schema.json", schema), b.write("reference/reference.css", style), b.write("reference/reference.js", script))
}

// documents reads and renders all pages; the first lists the others.
func (b *builder) documents() ([]document, error) {
	documents := []document{{source: "index.md", Name: "index.html", Group: "Reference"}}
	for _, from := range []struct{ dir, prefix, group string }{{"krmfn/docs", "", "Command line"}, {"tfprovider/docs", "terraform-", "Terraform provider"}} {
		err := filepath.WalkDir(filepath.Join(b.root, from.dir), func(file string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".md" {
				return err
			}
			below, err := filepath.Rel(filepath.Join(b.root, from.dir), file)
			name := from.prefix + strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(below), ".md"), "/", "-") + ".html"
			documents = append(documents, document{source: path.Join(from.dir, filepath.ToSlash(below)), Name: name, Group: from.group})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	names := map[string]string{"krmfn/docs/functionconfig.schema.json": "functionconfig.schema.json"}
	for _, d := range documents {
		names[d.source] = d.Name
	}
	for i := range documents {
		if err := b.render(&documents[i], names); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// markdown parses Markdown as on GitHub. HTML is allowed, because our pages have anchors in HTML.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// render returns the content of a page. names are the names of the pages by source file.
func (b *builder) render(d *document, names map[string]string) error {
	file := filepath.Join(b.root, d.source)
	if d.source == "index.md" {
		file = b.own("web", d.source)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data = withoutFrontMatter(data)
	tree := markdown.Parser().Parse(text.NewReader(data))
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			link.Destination = []byte(destination(d.source, string(link.Destination), names))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	d.split(tree, data)
	if len(d.Sections) == 0 {
		return fmt.Errorf("%s has no heading", d.source)
	}
	d.Title = d.Sections[0].Title
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, data, tree); err != nil {
		return err
	}
	d.Content = template.HTML(out.String())
	return nil
}

// withoutFrontMatter removes the front matter, which is for the registry of providers.
func withoutFrontMatter(data []byte) []byte {
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return data
	}
	if _, after, ok := bytes.Cut(rest, []byte("\n---\n")); ok {
		return after
	}
	return data
}

// destination returns the target on the site of a link in a file.
func destination(source, link string, names map[string]string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") {
		return link
	}
	name, fragment, _ := strings.Cut(link, "#")
	target := path.Join(path.Dir(source), name)
	to, ok := names[target]
	if !ok {
		to = repository + target
	}
	if fragment != "" {
		to += "#" + fragment
	}
	return to
}

// split returns the sections of a page with their texts.
func (d *document) split(tree ast.Node, data []byte) {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, ok := n.(*ast.Heading); ok && heading.Level <= 3 {
			id, _ := heading.AttributeString("id")
			name, _ := id.([]byte)
			d.Sections = append(d.Sections, section{ID: string(name), Title: textOf(heading, data), Level: heading.Level})
		} else if len(d.Sections) > 0 {
			last := &d.Sections[len(d.Sections)-1]
			last.text += textOf(n, data) + " "
		}
	}
}

// textOf returns the text of a node without markup.
func textOf(node ast.Node, data []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // never fails
		switch {
		case !entering:
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindText:
			t := n.(*ast.Text)
			b.Write(t.Segment.Value(data))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindFencedCodeBlock || n.Kind() == ast.KindCodeBlock:
			for i := range n.Lines().Len() {
				at := n.Lines().At(i)
				b.Write(at.Value(data))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// Current returns the sections for the contents of the page.
func (d *document) Current() []section {
	return slices.DeleteFunc(slices.Clone(d.Sections), func(s section) bool { return s.Level != 2 })
}

// entry is a section in the index.
type entry struct {
	Page  string `json:"page"`
	ID    string `json:"id"`
	In    string `json:"in"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// indexOf returns the search index.
func indexOf(documents []document) []entry {
	var index []entry
	for i := range documents {
		d := &documents[i]
		for j := range d.Sections {
			s := &d.Sections[j]
			index = append(index, entry{d.Name, s.ID, d.Title, s.Title, s.text})
		}
	}
	return index
}
