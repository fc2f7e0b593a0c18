package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestRecordingsTable checks the numbers in the table of testdata/README.md: the sum, and the answers
// to MutatingAdmissionPolicies.
func TestRecordingsTable(t *testing.T) {
	text, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sum, total := 0, 0
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \| (\d+) \|`).FindAllStringSubmatch(string(text), -1) {
		cases, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatal(err)
		}
		if row[1] == "all" {
			total = cases
			break
		}
		sum += cases
	}
	if sum == 0 || sum != total {
		t.Errorf("the table counts %d cases, its lines %d", total, sum)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "[" + thousands(total) + " recorded answers]"; !strings.Contains(string(readme), want) {
		t.Errorf("README does not say %s", want)
	}
	cases, policies, manifests := 0, 0, 0
	for _, dir := range recordedCases(t) {
		if strings.Contains(dir, "shared") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "server", "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		var summary struct{ Policies, Manifests map[string]any }
		if err := json.Unmarshal(data, &summary); err != nil {
			t.Fatal(dir, err)
		}
		cases, policies, manifests = cases+1, policies+len(summary.Policies), manifests+len(summary.Manifests)
	}
	want := fmt.Sprintf("| %d | kube-apiserver 1.36.3: MutatingAdmissionPolicies, %s answers to policies and %d to manifests |", cases, thousands(policies), manifests)
	if !strings.Contains(string(text), want) {
		t.Errorf("the table does not say %s", want)
	}
}

// thousands returns a number from 1,000 to 999,999 with a comma.
func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
