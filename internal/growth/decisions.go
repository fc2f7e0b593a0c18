package growth

import "fmt"

// ofDecisions are the dimensions of what a team has decided: its configuration file and its baseline.
func ofDecisions() []dimension {
	return []dimension{
		{name: "decisions/accepted", commands: []string{"check"}, n: 25, files: func(n int) map[string]string {
			files := input(admissionPolicy("deny", "configmaps", patch(`[JSONPatch{op: "remove", path: "/data/none"}]`)), configMaps(n))
			files[configurationFile] = "accepted:\n" + lines(n, "- {code: denied, object: ConfigMap/c-#, reason: x}\n")
			return files
		}},
		{name: "decisions/baseline", commands: []string{"check"}, flags: []string{"--baseline", baselineFile}, n: 25, files: func(n int) map[string]string {
			files := input(admissionPolicy("deny", "configmaps", patch(`[JSONPatch{op: "remove", path: "/data/none"}]`)), configMaps(n))
			files[baselineFile] = "check:\n" + lines(n, "- {file: manifests.yaml, object: ConfigMap/shop/c-#, code: denied, policy: deny}\n")
			return files
		}},
		{name: "decisions/edits", commands: []string{"diff"}, flags: []string{"--baseline", baselineFile}, n: 50, files: func(n int) map[string]string {
			files := input(admissionPolicy("all", "configmaps", patch(setAll)), configMap(n))
			files[baselineFile] = "diff:\n" + lines(n, "- {file: manifests.yaml, object: ConfigMap/shop/c, field: data.key-#, code: mutation, policy: all}\n")
			return files
		}},
		{name: "decisions/directories", commands: []string{"check"}, n: 12, files: func(n int) map[string]string {
			files := map[string]string{configurationFile: "directories:\n" + lines(n, "- {path: d-#, options: {namespace: n-#}}\n"), policiesFile: labelAll()}
			for i := range n {
				files[fmt.Sprintf("d-%d/map.yaml", i)] = configMaps(1)
			}
			return files
		}},
	}
}
