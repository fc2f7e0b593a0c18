package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
)

// server answers raw requests of kubectl as an API server does. Its lists have pages.
type server struct {
	// objects are the objects by the path of their resource.
	objects map[string][]map[string]any
	answers map[string]string
	// fails returns what kubectl prints for a request that fails, or "".
	fails func(path string) string
	// largest is how many objects an answer may have, before kubectl prints more than may be read.
	largest int
	asked   []string
	changes []string
}

func (s *server) kubectl() *Kubectl { return &Kubectl{Run: s.run} }

func (s *server) run(_ context.Context, args []string, stdin []byte) ([]byte, string, error) {
	at := slices.Index(args, "--raw")
	request := args[at+1]
	s.asked = append(s.asked, strings.Join(args, " "))
	if args[at-1] != "get" {
		s.changes = append(s.changes, request)
		return stdin, "", nil
	}
	if text := s.fails(request); text != "" {
		return nil, text, errors.New("exit status 1")
	}
	path, query, _ := strings.Cut(request, "?")
	if text, ok := s.answers[path]; ok {
		return []byte(text), "", nil
	}
	objects, ok := s.objects[path]
	if !ok {
		return nil, "Error from server (NotFound): the server could not find the requested resource", errors.New("exit status 1")
	}
	values, _ := url.ParseQuery(query)
	size, _ := strconv.Atoi(values.Get("limit"))
	from, _ := strconv.Atoi(values.Get("continue"))
	to := min(from+size, len(objects))
	if to-from > s.largest {
		return nil, "", limit.Exceeded(limit.InputSize, "", "too large")
	}
	next := ""
	if to < len(objects) {
		next = strconv.Itoa(to)
	}
	page, err := json.Marshal(map[string]any{"metadata": map[string]any{"continue": next}, "items": objects[from:to]})
	return page, "", err
}

// newServer returns a server with n Namespaces.
func newServer(n int) *server {
	s := &server{largest: pageSize, fails: func(string) string { return "" }, objects: map[string][]map[string]any{}, answers: map[string]string{
		"/version": `{"gitVersion": "v1.36.3"}`, "/apis": `{"groups": []}`, "/api/v1": `{"resources": [{"name": "namespaces", "kind": "Namespace"}]}`,
	}}
	for i := range n {
		s.objects["/api/v1/namespaces"] = append(s.objects["/api/v1/namespaces"], map[string]any{
			"metadata": map[string]any{"name": fmt.Sprintf("n-%05d", i), "uid": strconv.Itoa(i), "labels": map[string]any{"n": strconv.Itoa(i)}}, "spec": map[string]any{"finalizers": []any{"kubernetes"}},
		})
	}
	return s
}

func gather(s *server) (objects []map[string]any, err error) {
	_, err = Gather(context.Background(), s.kubectl(), Wanted{}, func(o Stored) error {
		objects = append(objects, o.Object)
		return nil
	})
	return objects, err
}

// TestPages checks that 50,000 objects come in pages, each once, and in smaller pages if the answers
// are too large.
func TestPages(t *testing.T) {
	for _, largest := range []int{pageSize, 70, 1} {
		s := newServer(map[bool]int{true: 50_000, false: 200}[largest == pageSize])
		s.largest = largest
		objects, err := gather(s)
		if err != nil || len(objects) != len(s.objects["/api/v1/namespaces"])+1 {
			t.Fatal(largest, len(objects), err)
		}
		if want := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "n-00123", "labels": map[string]any{"n": "123"}}}; !change.Equal(objects[123], want) {
			t.Errorf("%d: %v", largest, objects[123])
		}
	}
}

// TestOnlyPages checks that no request is for a whole list.
func TestOnlyPages(t *testing.T) {
	s := newServer(1001)
	if _, err := gather(s); err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, asked := range s.asked {
		if strings.Contains(asked, "/api/v1/namespaces") {
			pages++
			if !strings.Contains(asked, "?limit=500") {
				t.Error(asked)
			}
		}
	}
	if pages != 3 {
		t.Error(pages, s.asked)
	}
}

// TestIncomplete checks that a list that ends early is an error.
func TestIncomplete(t *testing.T) {
	for text, want := range map[string]string{
		"The connection to the server was refused":                                "namespaces: The connection to the server was refused",
		"Error from server (Expired): The provided continue parameter is too old": "namespaces: the list has changed while it was read: run the command again",
		"Error from server (InternalError): an error on the server":               "namespaces: an error on the server",
		"Error from server (NotFound): the server could not find it":              "namespaces: the server could not find it",
	} {
		s := newServer(1200)
		s.fails = func(path string) string {
			if strings.Contains(path, "continue=1000") {
				return text
			}
			return ""
		}
		if _, err := gather(s); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestForbidden checks that what the server forbids is collected.
func TestForbidden(t *testing.T) {
	s := newServer(2)
	s.fails = func(path string) string {
		if strings.HasPrefix(path, "/api/v1/namespaces") {
			return `Error from server (Forbidden): namespaces is forbidden: User "ci" cannot list resource "namespaces" in API group "" at the cluster scope`
		}
		return ""
	}
	found, err := Gather(context.Background(), s.kubectl(), Wanted{}, func(Stored) error { return nil })
	if want := []Rule{{Resource: "namespaces", Verb: "list"}}; err != nil || !slices.Equal(found.Missing, want) {
		t.Error(found.Missing, err)
	}
}

// TestAnswerOf checks what is read of the texts that kubectl prints.
func TestAnswerOf(t *testing.T) {
	for text, want := range map[string]Error{
		"Error from server (Forbidden): no\n": {"Forbidden", "no"},
		"Error from server: no":               {"", "no"},
		"Warning: v1 Endpoints is deprecated\nWarning: two\nError from server (Forbidden): denied:\nWarning: three\n": {"Forbidden", "denied:\nWarning: three"},
		"Warning: one\nThe Service \"s\" is invalid: spec.ports: Required value":                                      {"Invalid", `Service "s" is invalid: spec.ports: Required value`},
		"error: You must be logged in to the server":                                                                  {"", "error: You must be logged in to the server"},
	} {
		var got *Error
		if err := answerOf(text, errors.New("exit status 1")); !errors.As(err, &got) || *got != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := answerOf("Warning: one\n", errors.New("exit status 1")); err.Error() != "kubectl: exit status 1" {
		t.Error(err)
	}
}

// TestOnlyDryRuns checks that every request to change something is a dry run.
func TestOnlyDryRuns(t *testing.T) {
	s := newServer(0)
	k := s.kubectl()
	for _, send := range []func(context.Context, string, []byte) ([]byte, error){k.Create, k.Update} {
		if _, err := send(context.Background(), "/api/v1/namespaces", []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range s.changes {
		if u, err := url.Parse(path); err != nil || u.Query().Get("dryRun") != "All" {
			t.Error(path, err)
		}
	}
	if len(s.changes) != 2 {
		t.Error(s.changes)
	}
}

// TestPath checks that the names of files are those of objects, and are different on all systems.
func TestPath(t *testing.T) {
	for name, want := range map[string]string{
		"team.example.com": "team.example.com", "system:node": "system%3anode", "kustomization": "%6bustomization", "A": "%41", "../x": "%2e.%2fx",
	} {
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": name}}
		if got := Path(object); got != "ConfigMap/shop/"+want+".yaml" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Path(map[string]any{"apiVersion": engine.ClusterKind.APIVersion(), "kind": "Cluster"}); got != Description {
		t.Error(got)
	}
}

// TestMarked checks that a Secret without its values has marks of their length, and nothing in
// annotations.
func TestMarked(t *testing.T) {
	secret := map[string]any{"metadata": map[string]any{"name": "s", "annotations": map[string]any{"a": "token"}}, "data": map[string]any{"a": "dG9rZW4=", "b": "", "c": "not base64"}}
	got := marked(secret)
	want := map[string]any{"metadata": map[string]any{"name": "s"}, "data": map[string]any{"a": "eHh4eHg=", "b": "", "c": "eHh4eHh4eHh4eA=="}}
	if !change.Equal(got, want) {
		t.Error(got)
	}
	if textAt(secret, "data", "a") != "dG9rZW4=" {
		t.Error("the Secret has changed")
	}
}
