package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// stream returns typical documents: Deployments, Services, ConfigMaps and custom resources, with
// comments, 2.4 KB each.
func stream(documents int) string {
	var b strings.Builder
	for i := range documents {
		if i > 0 {
			b.WriteString("---\n")
		}
		switch i % 5 {
		case 0, 1:
			fmt.Fprintf(&b, "# Source: shop/templates/web-%d.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-%d\n  namespace: shop\n", i, i)
			b.WriteString("  labels:\n    app.kubernetes.io/name: web # the name\n    app.kubernetes.io/part-of: \"shop\"\n")
			b.WriteString("spec:\n  replicas: 3\n  selector:\n    matchLabels: {app: web}\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n")
			for c := range 4 {
				fmt.Fprintf(&b, "      # container %d\n      - name: c%d\n        image: registry.example.com/shop/web:%d.2.3\n        imagePullPolicy: IfNotPresent\n", c, c, i)
				b.WriteString("        args: [\"--listen\", \":8080\", '--verbose']\n        ports:\n        - containerPort: 8080\n          name: http\n        env:\n")
				for e := range 4 {
					fmt.Fprintf(&b, "        - name: VARIABLE_%d\n          value: \"value %d\" # quoted\n", e, e)
				}
				b.WriteString("        resources:\n          requests:\n            cpu: 100m\n            memory: 128Mi\n          limits:\n            memory: 256Mi\n")
				b.WriteString("        readinessProbe:\n          httpGet:\n            path: /ready\n            port: http\n          periodSeconds: 10\n")
			}
		case 2:
			fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata:\n  name: web-%d\n  namespace: shop\nspec:\n  selector:\n    app: web\n  ports:\n", i)
			for p := range 24 {
				fmt.Fprintf(&b, "  - name: p%d\n    port: %d\n    targetPort: http\n    protocol: TCP\n", p, 8000+p)
			}
		case 3:
			fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\n  namespace: shop\ndata:\n  app.conf: |\n", i)
			for l := range 40 {
				fmt.Fprintf(&b, "    setting.%d = some value of the application # with a comment\n", l)
			}
			b.WriteString("  folded: >-\n    a long text\n    on two lines\n")
		case 4:
			fmt.Fprintf(&b, "apiVersion: example.com/v1\nkind: Shop\nmetadata:\n  name: shop-%d\nspec:\n  rules:\n", i)
			for r := range 30 {
				fmt.Fprintf(&b, "    - match: {path: /api/%d, method: GET}\n      weight: %d\n      enabled: true\n", r, r)
			}
		}
	}
	return b.String()
}

func BenchmarkRead(b *testing.B) {
	data := []byte(stream(1000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if s, found := Read("in.yaml", data); len(found) > 0 || len(s.Documents()) != 1000 {
			b.Fatal(found)
		}
	}
}

func BenchmarkObject(b *testing.B) {
	data := []byte(stream(1000))
	s, _ := Read("in.yaml", data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range s.Documents() {
			d.Object()
		}
	}
}

func benchmarkSet(b *testing.B, text string) {
	s, found := Read("in.yaml", []byte(text))
	if len(found) > 0 {
		b.Fatal(found)
	}
	objects := make([]map[string]any, len(s.Documents()))
	for i, d := range s.Documents() {
		objects[i] = d.Object()
		objects[i]["metadata"].(map[string]any)["annotations"] = map[string]any{"example.com/set": "yes"}
		if labels, ok := objects[i]["metadata"].(map[string]any)["labels"].(map[string]any); ok {
			labels["team"] = "shop"
		}
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for i, d := range s.Documents() {
			if err := d.Set(objects[i], nil); err != nil {
				b.Fatal(err)
			}
		}
		s.Bytes()
	}
}

func BenchmarkSet(b *testing.B) { benchmarkSet(b, stream(1000)) }

// BenchmarkSetItems edits the same documents as items of one ResourceList.
func BenchmarkSetItems(b *testing.B) {
	var list strings.Builder
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for _, text := range strings.Split(stream(1000), "---\n") {
		list.WriteString("-\n  " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  "))
	}
	benchmarkSet(b, list.String())
}

// BenchmarkSetJSON edits the same documents as one line of JSON.
func BenchmarkSetJSON(b *testing.B) {
	s, _ := Read("in.yaml", []byte(stream(1000)))
	items := make([]any, 0, 1000)
	for _, d := range s.Documents() {
		items = append(items, d.Object())
	}
	benchmarkSet(b, string(JSON(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})))
}
