package hookcall

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Target says who answers for a webhook: a program or a URL.
type Target struct {
	// Name is the name of a webhook, or of a configuration: then all of its webhooks.
	Name string
	// Program is a program with its arguments.
	Program []string
	// URL is an address with the scheme http or https. If it has no path, each webhook is called at the
	// path of its configuration.
	URL *url.URL
}

const form = "expected NAME=URL or NAME=exec:PROGRAM, where NAME is the name of a webhook or of its configuration"

// Parse reads a target: NAME=exec:PROGRAM ARGS with quotes as in a shell, or NAME=URL.
func Parse(text string) (Target, error) {
	name, rest, found := strings.Cut(text, "=")
	if !found || name == "" || rest == "" {
		return Target{}, errors.New(form)
	}
	if command, ok := strings.CutPrefix(rest, "exec:"); ok {
		words, err := splitWords(command)
		if err != nil {
			return Target{}, fmt.Errorf("the program of webhook %s is not valid: %w", name, err)
		}
		if len(words) == 0 || words[0] == "" {
			return Target{}, fmt.Errorf("webhook %s has no program; %s", name, form)
		}
		return Target{Name: name, Program: words}, nil
	}
	u, err := url.Parse(rest)
	switch {
	case err != nil:
		return Target{}, fmt.Errorf("the URL of webhook %s is not valid; %s", name, form)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return Target{}, fmt.Errorf("the URL of webhook %s needs http:// or https:// and a host; %s", name, form)
	case u.User != nil || u.Fragment != "":
		return Target{}, fmt.Errorf("the URL of webhook %s must not have a user or a fragment", name)
	}
	return Target{Name: name, URL: u}, nil
}
