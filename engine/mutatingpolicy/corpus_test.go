package mutatingpolicy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestScratchCorpus(t *testing.T) {
	dirs, _ := filepath.Glob("../../../shared/corpus/kyverno-mpol/*/*")
	for _, dir := range dirs {
		read := func(name string) string {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			return string(text)
		}
		var meta struct {
			Use bool
		}
		if json.Unmarshal([]byte(read("meta.json")), &meta); !meta.Use {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s := situation{policies: read("policy.yaml") + "\n---\n" + read("exceptions.yaml"), object: read("resource.yaml"), cluster: read("cluster.yaml"), others: read("targets.yaml"), values: read("values.yaml")}
			if c := read("context.yaml"); c != "" {
				s.context = c
				s.cluster = ""
			}
			t.Log(s.happens(t))
		})
	}
}
