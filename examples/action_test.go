package examples

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// fakeGH is a fake gh. It needs a token, returns the comments in the file comments, and records its
// arguments.
const fakeGH = `#!/bin/sh
[ "$GH_TOKEN" = secret ] || exit 1
echo "gh $*" | sed 's| -F body=.*| -F body|' >> "$GH_LOG"
case "$*" in
*--paginate*) cat "$GH_COMMENTS" ;;
*body=@*) cat "${*##*body=@}" > "$GH_BODY" ;;
esac
`

// fakePreadmit is preadmit, except that it fails if it gets the token.
const fakePreadmit = `#!/bin/sh
[ -z "$GH_TOKEN" ] || exit 3
PATH=${PATH#*:} exec preadmit "$@"
`

// TestAction runs the script of the GitHub action with the inputs of action.yml, and checks its
// output, its exit status and the comment.
func TestAction(t *testing.T) {
	for _, test := range []struct {
		name, manifests, comments string
		status                    int
		asked                     []string
		body                      string
	}{
		{"admitted", "deploy", "", 0, []string{list}, ""},
		{"admitted at last", "deploy", "7\n", 0, []string{list, edit}, "change nothing"},
		{"not admitted", "apps", "", 1, []string{list, create}, "+        image: mirror.example.com"},
		{"not admitted again", "apps", "7\n", 1, []string{list, edit}, "+        image: mirror.example.com"},
		{"nothing there", "missing", "", 2, []string{list, create}, "The cluster would refuse manifests, or preadmit could not evaluate something:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory := copied(t, "ci")
			r := action(t, directory, test.comments, "ARGS=--kubernetes-version=1.36 MANIFESTS="+test.manifests)
			if r.status != test.status {
				t.Errorf("exit status %d, want %d\n%s%s", r.status, test.status, r.stdout, r.stderr)
			}
			if got := strings.TrimSpace(read(t, filepath.Join(directory, ".test/log"))); got != strings.Join(test.asked, "\n") {
				t.Errorf("gh was asked:\n%s\nwant:\n%s", got, strings.Join(test.asked, "\n"))
			}
			if got := read(t, filepath.Join(directory, ".test/body")); !strings.Contains(got, test.body) {
				t.Errorf("the comment has no %q:\n%s", test.body, got)
			}
			if got, want := read(t, filepath.Join(directory, ".test/output")), fmt.Sprintf("status=%d\n", test.status); got != want {
				t.Errorf("the output is %q, want %q", got, want)
			}
		})
	}
}

// action runs the script of the GitHub action with inputs in a directory. comments are the IDs of the
// comments that gh finds. Its answers are in .test.
func action(t *testing.T, directory, comments, inputs string) result {
	t.Helper()
	script, err := filepath.Abs("../.github/action/run")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bin/gh": fakeGH, "bin/preadmit": fakePreadmit, "comments": comments, "log": "", "body": ""} {
		path := filepath.Join(directory, ".test", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	environment := `GH_TOKEN=secret PATH="$PWD/.test/bin:$PATH" GH_LOG=.test/log GH_COMMENTS=.test/comments GH_BODY=.test/body GITHUB_OUTPUT=.test/output GITHUB_REPOSITORY=o/r PULL_REQUEST=3 COMMENT=true `
	return command(t, directory, "", "bash", "-c", environment+"COMMAND=diff POLICIES=$'policies\\n' CONTEXT= "+inputs+" bash "+script)
}

// TestActionBase shows that the comment says what a pull request changes in the cluster, in a clone
// that has only the last commit, as actions/checkout makes it.
func TestActionBase(t *testing.T) {
	git := "git -c user.name=a -c user.email=a@example.com -c init.defaultBranch=main "
	setUp := git + "init -q && git config uploadpack.allowAnySHA1InWant true && git add -A && " + git + "commit -qm base && git rev-parse HEAD && "
	for name, test := range map[string]struct {
		change, base string
		status       int
		comment, log string
	}{
		"nothing":      {"true", "", 0, "", ""},
		"image":        {"sed -i s/web:3.1/web:3.2/ apps/shop.yaml", "", 1, "+        image: mirror.example.com/shop/web:3.2", "by the manifest"},
		"policy":       {"sed -i s/mirror.example.com/cache.example.com/ policies/mirror.yaml", "", 1, "+        image: cache.example.com/shop/web:3.1", "by policy mirror"},
		"without base": {"true", "none", 1, "+        image: mirror.example.com", "preadmit mutation"},
		"unknown base": {"true", "0000000000000000000000000000000000000001", 2, "", "cannot be fetched"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, clone := copied(t, "ci"), t.TempDir()
			r := command(t, from, "", "sh", "-ec", setUp+test.change+" && "+git+"commit -qam change --allow-empty && git clone -q --depth=1 file://$PWD "+clone)
			if r.status != 0 {
				t.Fatalf("%s%s", r.stdout, r.stderr)
			}
			base := test.base
			if base == "" {
				base = strings.TrimSpace(r.stdout)
			}
			r = action(t, clone, "", "ARGS= MANIFESTS=apps BASE="+base)
			if r.status != test.status || !strings.Contains(r.stdout, test.log) {
				t.Errorf("exit status %d, want %d and %q\n%s%s", r.status, test.status, test.log, r.stdout, r.stderr)
			}
			if body := read(t, filepath.Join(clone, ".test/body")); !strings.Contains(body, test.comment) || (body == "") != (test.comment == "") {
				t.Errorf("the comment has no %q:\n%s", test.comment, body)
			}
		})
	}
}

// Recorded calls of gh.
const (
	list   = `gh api --paginate repos/o/r/issues/3/comments --jq .[] | select(.body | startswith("<!-- preadmit diff -->")) | .id`
	create = "gh api repos/o/r/issues/3/comments -F body"
	edit   = "gh api -X PATCH repos/o/r/issues/comments/7 -F body"
)

// TestActionInputs compares the variables that the script reads with the variables that action.yml
// sets.
func TestActionInputs(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, step := range action.Runs.Steps {
		script := read(t, "../"+regexp.MustCompile(`\.github/action/\w+`).FindString(step.Run))
		for name, value := range step.Env {
			all += value
			if name != "GH_TOKEN" && !strings.Contains(script, name) {
				t.Errorf("%s does not read %s", step.Run, name)
			}
		}
	}
	for name := range action.Inputs {
		if !strings.Contains(all, "inputs."+name+" ") && name != "version" {
			t.Errorf("the input %s is not used", name)
		}
	}
}

// gitLabScript returns the script of the GitLab component with its inputs.
func gitLabScript(t *testing.T, inputs map[string]string) string {
	t.Helper()
	head, text, _ := strings.Cut(read(t, "../templates/preadmit.yml"), "\n---\n")
	var component struct {
		Spec struct {
			Inputs map[string]struct{ Default string }
		}
	}
	if err := yaml.Unmarshal([]byte(head), &component); err != nil {
		t.Fatal(err)
	}
	for name, input := range component.Spec.Inputs {
		value, given := inputs[name]
		if !given {
			value = input.Default
		}
		text = strings.ReplaceAll(text, "$[[ inputs."+name+" ]]", value)
	}
	var jobs map[string]struct{ Script []string }
	if err := yaml.Unmarshal([]byte(text), &jobs); err != nil {
		t.Fatal(err)
	}
	// GitLab runs the lines of a script in one shell, which ends when a line fails.
	return strings.Join(jobs["preadmit"].Script, "\n")
}

// TestGitLabComponent runs the script of the GitLab component without a merge request.
func TestGitLabComponent(t *testing.T) {
	for manifests, want := range map[string]int{"deploy": 0, "apps": 1, "missing": 2} {
		directory := copied(t, "ci")
		script := gitLabScript(t, map[string]string{"args": "--strict", "policies": "policies", "manifests": manifests})
		if r := command(t, directory, "", "sh", "-e", "-c", script); r.status != want {
			t.Errorf("%s: exit status %d, want %d\n%s%s", manifests, r.status, want, r.stdout, r.stderr)
		}
		if want < 2 && !strings.Contains(read(t, filepath.Join(directory, "preadmit.xml")), "<testsuites") {
			t.Errorf("%s: there is no report", manifests)
		}
	}
}

// gitLab is a server with the notes of a merge request. It records what it is asked.
type gitLab struct {
	notes string
	asked []string
	body  string
}

// ServeHTTP implements http.Handler.
func (g *gitLab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("PRIVATE-TOKEN") != "secret" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	g.asked = append(g.asked, r.Method+" "+r.URL.Path)
	if r.Method == http.MethodGet {
		fmt.Fprint(w, g.notes)
		return
	}
	g.body = r.FormValue("body")
	fmt.Fprint(w, "{}")
}

// TestGitLabComment shows that the component posts what a merge request changes in the cluster as a
// comment, and edits the comment of an earlier pipeline.
func TestGitLabComment(t *testing.T) {
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "true" {
			t.Skip("there is no", program)
		}
	}
	const notes = "/api/v4/projects/5/merge_requests/3/notes"
	git := "git -c user.name=a -c user.email=a@example.com -c init.defaultBranch=main "
	earlier := `[{"id":6,"body":"x"},{"id":7,"body":"<!-- preadmit diff -->\nold"}]`
	for name, test := range map[string]struct {
		change, notes, token string
		inputs               map[string]string
		status               int
		asked                []string
		body, log            string
	}{
		"nothing":      {change: "true", notes: "[]", token: "secret", asked: []string{"GET " + notes}},
		"image":        {change: "sed -i s/web:3.1/web:3.2/ apps/shop.yaml", notes: "[]", token: "secret", status: 1, asked: []string{"GET " + notes, "POST " + notes}, body: "+        image: mirror.example.com/shop/web:3.2"},
		"policy again": {change: "sed -i s/mirror.example.com/cache.example.com/ policies/mirror.yaml", notes: earlier, token: "secret", status: 1, asked: []string{"GET " + notes, "PUT " + notes + "/7"}, body: "by policy mirror"},
		"mended":       {change: "true", notes: earlier, token: "secret", asked: []string{"GET " + notes, "PUT " + notes + "/7"}, body: "found nothing"},
		"no token":     {change: "sed -i s/web:3.1/web:3.2/ apps/shop.yaml", status: 1, log: "no variable PREADMIT_TOKEN"},
		"wrong token":  {change: "sed -i s/web:3.1/web:3.2/ apps/shop.yaml", token: "other", status: 1, log: "could not comment"},
		"no comment":   {change: "sed -i s/web:3.1/web:3.2/ apps/shop.yaml", token: "secret", inputs: map[string]string{"comment": "false"}, status: 1},
		"no base":      {change: "true", notes: "[]", token: "secret", inputs: map[string]string{"base": "none"}, status: 1, asked: []string{"GET " + notes, "POST " + notes}, body: "mirror.example.com"},
		"broken":       {change: "echo 'kind: [' > apps/shop.yaml", notes: "[]", token: "secret", status: 2, asked: []string{"GET " + notes, "POST " + notes}, body: "The cluster would refuse manifests, or preadmit could not evaluate something:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, clone := copied(t, "ci"), t.TempDir()
			r := command(t, from, "", "sh", "-ec", git+"init -q && git config uploadpack.allowAnySHA1InWant true && git add -A && "+git+"commit -qm base && git rev-parse HEAD && "+
				test.change+" && "+git+"commit -qam change --allow-empty && git clone -q --depth=1 file://$PWD "+clone)
			if r.status != 0 {
				t.Fatalf("%s%s", r.stdout, r.stderr)
			}
			server := &gitLab{notes: test.notes}
			listening := httptest.NewServer(server)
			defer listening.Close()
			inputs := map[string]string{"policies": "policies", "manifests": "apps"}
			maps.Copy(inputs, test.inputs)
			environment := fmt.Sprintf("CI_API_V4_URL=%s/api/v4 CI_PROJECT_ID=5 CI_MERGE_REQUEST_IID=3 CI_MERGE_REQUEST_DIFF_BASE_SHA=%s PREADMIT_TOKEN=%s ", listening.URL, strings.TrimSpace(r.stdout), test.token)
			write(t, filepath.Join(from, "script"), gitLabScript(t, inputs))
			r = command(t, clone, "", "sh", "-c", environment+"sh -e "+filepath.Join(from, "script"))
			if r.status != test.status || !strings.Contains(r.stdout, test.log) || strings.Contains(r.stdout+r.stderr, "secret") {
				t.Errorf("exit status %d, want %d and %q\n%s%s", r.status, test.status, test.log, r.stdout, r.stderr)
			}
			if !slices.Equal(server.asked, test.asked) || !strings.Contains(server.body, test.body) {
				t.Errorf("asked %q, want %q; the comment has no %q:\n%s", server.asked, test.asked, test.body, server.body)
			}
		})
	}
}
