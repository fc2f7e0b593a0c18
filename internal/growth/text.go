package growth

import (
	"fmt"
	"strings"
)

// labelAll is a policy that labels everything.
func labelAll() string {
	return admissionPolicy("team", `"*"`, apply(`Object{metadata: Object.metadata{labels: {"team": "x"}}}`))
}

// ofText are the dimensions of how manifests are written.
var ofText = []dimension{
	{name: "text/files", n: 25, files: func(n int) map[string]string {
		files := map[string]string{policiesFile: labelAll()}
		for i := range n {
			files[fmt.Sprintf("manifests-%d.yaml", i)] = strings.ReplaceAll(configMaps(1), "c-0", fmt.Sprint("c-", i))
		}
		return files
	}},
	{name: "text/list", n: 50, files: func(n int) map[string]string {
		return input(labelAll(), "apiVersion: v1\nkind: List\nitems:\n"+lines(n, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c-#\n    namespace: shop\n  data: {a: b}\n"))
	}},
	{name: "text/json list", n: 50, files: func(n int) map[string]string {
		return input(labelAll(), `{"apiVersion":"v1","kind":"List","items":[`+strings.TrimSuffix(lines(n, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-#","namespace":"shop"},"data":{"a":"b"}},`), ",")+"]}\n")
	}},
	{name: "text/flow map", n: 125, files: func(n int) map[string]string {
		return input(labelAll(), "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {"+lines(n, "key-#: value-#, ")+"}}\n")
	}},
	{name: "text/flow map, edits", n: 75, files: func(n int) map[string]string {
		return input(admissionPolicy("all", "configmaps", patch(setAll)), "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {"+lines(n, "key-#: value-#, ")+"}}\n")
	}},
	{name: "text/flow list", n: 125, files: func(n int) map[string]string {
		return input(labelAll(), "{apiVersion: example.com/v1, kind: Thing, metadata: {name: c, namespace: shop}, data: ["+lines(n, "{a: value-#}, ")+"]}\n")
	}},
	{name: "text/json", n: 125, files: func(n int) map[string]string {
		return input(labelAll(), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"shop"},"data":{"a":"b"`+lines(n, `,"key-#":"value-#"`)+"}}\n")
	}},
	{name: "text/block", n: 250, files: func(n int) map[string]string {
		return input(labelAll(), configMaps(1)+"  text: |\n"+lines(n, "    line #\n"))
	}},
	{name: "text/block, changed", n: 250, files: func(n int) map[string]string {
		return input(admissionPolicy("all", "configmaps", patch(`[JSONPatch{op: "replace", path: "/data/text", value: object.data.text.replace("line 1", "row 1")}]`)), configMaps(1)+"  text: |\n"+lines(n, "    line #\n"))
	}},
	{name: "text/long line", n: 2500, files: func(n int) map[string]string {
		return input(admissionPolicy("all", "configmaps", patch(`[JSONPatch{op: "replace", path: "/data/text", value: object.data.text + "!"}]`)), configMaps(1)+"  text: "+strings.Repeat("word ", n)+"\n")
	}},
	{name: "text/quoted line", n: 2500, files: func(n int) map[string]string {
		return input(labelAll(), configMaps(1)+"  text: \""+strings.Repeat(`\u00e9 \" `, n)+"\"\n")
	}},
	{name: "text/comments", n: 250, files: func(n int) map[string]string {
		return input(labelAll(), configMaps(1)+strings.Repeat("  # a comment\n", n)+"  b: c\n")
	}},
	{name: "text/anchors", n: 75, files: func(n int) map[string]string {
		return input(labelAll(), configMaps(1)+lines(n, "  k-#: &a-# value\n  l-#: *a-#\n"))
	}},
	{name: "text/merge keys", n: 50, files: func(n int) map[string]string {
		return input(labelAll(), "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: shop}\nbase: &b {a: b}\nspec:\n"+lines(n, "  k-#: {<<: *b, c: d}\n"))
	}},
	{name: "text/nested", n: 20, files: func(n int) map[string]string {
		return input(labelAll(), "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: shop}\nspec: "+strings.Repeat("{a: [", n)+"b"+strings.Repeat("]}", n)+"\n")
	}},
}
