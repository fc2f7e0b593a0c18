// Package cluster asks a cluster what decides how it changes objects, through the user's kubectl: its
// credentials, plug-ins and proxies. It opens no connection itself.
//
// Laws:
//
//	kubectl gets a list of arguments, never a line for a shell
//	a request to change something has dryRun=All: Create and Update are the only such requests
//	an answer that is not complete is an error
//	the objects of a list are read in pages, so memory does not grow with their number
//	the same cluster gives the same bytes
//
// Requests are raw paths (kubectl get --raw), because kubectl get holds a whole list in memory and
// prints a part of it if it may not read the rest. kubectl v1.32 to v1.36 print the text of the
// server's error after its reason: "Error from server (Forbidden): …".
//
// The files in order: kubectl.go (requests), discovery.go (the resources of a cluster), files.go
// (a dump of a cluster in place of it), lookups.go (what policies look up), gather.go (everything that
// a snapshot has), tidy.go (objects as a snapshot has them), drift.go (what has changed since).
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Kubectl sends requests to a cluster.
type Kubectl struct {
	// Run runs kubectl with arguments and standard input, and returns what it prints on standard
	// output and on standard error.
	Run func(ctx context.Context, args []string, stdin []byte) (stdout []byte, stderr string, err error)
	// Context is the name of a context of the kubeconfig; "" for the current one.
	Context string

	served map[string][]Resource
	groups map[string][]string
}

// Error is an answer of a server, or of kubectl, that is an error.
type Error struct {
	// Reason is the reason of the server, such as Forbidden; "" if no server has answered.
	Reason string
	// Text is the text of the server, or what kubectl has printed.
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Is reports whether an error is an answer with a reason.
func Is(err error, reason string) bool {
	var answer *Error
	return errors.As(err, &answer) && answer.Reason == reason
}

// requestTimeout is how long one request may take.
const requestTimeout = "--request-timeout=60s"

// Get returns the answer to a GET request.
func (k *Kubectl) Get(ctx context.Context, path string) ([]byte, error) {
	return k.ask(ctx, nil, "get", "--raw", path)
}

// Create returns the object that the server would create.
func (k *Kubectl) Create(ctx context.Context, path string, object []byte) ([]byte, error) {
	return k.ask(ctx, object, "create", "--raw", path+dryRun, "-f", "-")
}

// Update returns the object that the server would hold after an update.
func (k *Kubectl) Update(ctx context.Context, path string, object []byte) ([]byte, error) {
	return k.ask(ctx, object, "replace", "--raw", path+dryRun, "-f", "-")
}

// dryRun is the query of a request that changes nothing. Unknown fields are errors, as with kubectl
// apply.
const dryRun = "?dryRun=All&fieldValidation=Strict"

func (k *Kubectl) ask(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	full := []string{requestTimeout}
	if k.Context != "" {
		full = append(full, "--context="+k.Context)
	}
	stdout, stderr, err := k.Run(ctx, append(full, args...), stdin)
	if err == nil || errors.As(err, new(*limit.Error)) || ctx.Err() != nil {
		return stdout, err
	}
	return nil, answerOf(stderr, err)
}

// The patterns are compiled when the first request fails.
func fromServer() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^Error from server(?: \((\w+)\))?: (.*)$`)
}

// answerOf returns the error that kubectl has printed, after the warnings of the server.
func answerOf(stderr string, err error) error {
	text := strings.TrimSpace(stderr)
	for strings.HasPrefix(text, "Warning: ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	if found := fromServer().FindStringSubmatch(text); found != nil {
		return &Error{found[1], found[2]}
	}
	if strings.HasPrefix(text, "The ") && strings.Contains(text, " is invalid: ") {
		return &Error{"Invalid", strings.TrimPrefix(text, "The ")}
	}
	if text == "" {
		return fmt.Errorf("kubectl: %w", err)
	}
	return &Error{"", text}
}

// pageSize is the number of objects in a page.
const pageSize = 500

// List calls each for the objects of a resource, in the order of the server: all, those of a
// namespace, or the one with a name. An object that does not exist is no error.
func (k *Kubectl) List(ctx context.Context, r Resource, namespace, name string, each func(object map[string]any) error) error {
	if name != "" {
		answer, err := k.Get(ctx, r.Path(namespace)+"/"+url.PathEscape(name))
		if Is(err, "NotFound") {
			return nil
		} else if err != nil {
			return err
		}
		return r.read(answer, each)
	}
	next, size := "", pageSize
	for {
		page, err := k.Get(ctx, r.Path(namespace)+"?limit="+strconv.Itoa(size)+next)
		if errors.As(err, new(*limit.Error)) && size > 1 {
			size = (size + 7) / 8
			continue
		}
		if err != nil {
			return err
		}
		token, err := r.readPage(page, each)
		if err != nil || token == "" {
			return err
		}
		next = "&continue=" + url.QueryEscape(token)
	}
}

// readPage calls each for the objects of a page, and returns the token of the next page.
func (r Resource) readPage(page []byte, each func(object map[string]any) error) (next string, err error) {
	var list struct {
		Metadata struct{ Continue string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(page, &list); err != nil {
		return "", fmt.Errorf("the answer of the server is not complete: %w", err)
	}
	for _, item := range list.Items {
		if err := r.read(item, each); err != nil {
			return "", err
		}
	}
	return list.Metadata.Continue, nil
}

// read calls each for an object. The items of a list of a built-in kind have no apiVersion and kind.
func (r Resource) read(data []byte, each func(object map[string]any) error) error {
	object, err := Object(data)
	if err != nil {
		return err
	}
	object["apiVersion"], object["kind"] = r.APIVersion(), r.Kind
	return each(object)
}

// Object reads the JSON of an object.
func Object(data []byte) (map[string]any, error) {
	stream, problems := manifest.Read("answer of the server", bytes.TrimSpace(data))
	if len(problems) > 0 || len(stream.Documents()) != 1 {
		return nil, errors.New("the answer of the server is not an object")
	}
	return stream.Documents()[0].Object(), nil
}

// Server implements Source. Only users that may read the metrics of the server get its gates.
func (k *Kubectl) Server(ctx context.Context) (Server, error) {
	answer, err := k.Get(ctx, "/version")
	if err != nil {
		return Server{}, err
	}
	var version struct{ GitVersion string }
	if err := json.Unmarshal(answer, &version); err != nil || version.GitVersion == "" {
		return Server{}, errors.New("the answer of the server to /version has no version")
	}
	metrics, err := k.Get(ctx, "/metrics")
	if err != nil {
		metrics = nil
	}
	return Server{version.GitVersion, gatesIn(metrics)}, ctx.Err()
}

// gatesIn returns the feature gates in the metrics of a server that differ from what their stage
// suggests.
func gatesIn(metrics []byte) map[string]bool {
	gates := map[string]bool{}
	pattern := regexp.MustCompile(`(?m)^kubernetes_feature_enabled\{name="(\w+)",stage="(ALPHA|BETA)"\} ([01])$`)
	for _, found := range pattern.FindAllSubmatch(metrics, -1) {
		if on := string(found[3]) == "1"; on == (string(found[2]) == "ALPHA") {
			gates[string(found[1])] = on
		}
	}
	return gates
}
