package gatekeeper

import (
	"cmp"
	"strings"

	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// image is an image reference, split into the parts of AssignImage. The tag includes its
// separator: ":1" or "@sha256:…".
type image struct{ domain, path, tag string }

// splitDomain splits a text at its first slash, if the part before it looks like a host name.
func splitDomain(text string) (domain, rest string) {
	first, rest, ok := strings.Cut(text, "/")
	if !ok || !strings.ContainsAny(first, ".:") && first != "localhost" {
		return "", text
	}
	return first, rest
}

func parseImage(text string) image {
	domain, rest := splitDomain(text)
	i := image{domain: domain, path: rest}
	if at := strings.IndexAny(rest, ":@"); at >= 0 {
		i.path, i.tag = rest[:at], rest[at:]
	}
	return i
}

// onto replaces the parts of an image reference that are set in i.
func (i image) onto(text string) string {
	old := parseImage(text)
	domain := cmp.Or(i.domain, old.domain)
	if domain != "" {
		domain += "/"
	}
	return domain + cmp.Or(i.path, old.path) + cmp.Or(i.tag, old.tag)
}

// The syntax of the parts. It allows less than a registry, so that the assigned parts are parsed
// again as the same parts.
var (
	domainSyntax = lazyregexp.New(`^(\w[\w\-_]*\.[\w\-_.]*\w|localhost)(:\d+)?$`)
	pathSyntax   = lazyregexp.New(`^[a-z0-9]+(?:(?:(?:[._/]|__|[-]*)[a-z0-9]+)+)?`)
	tagSyntax    = lazyregexp.New(`^(:\w[\w.-]{0,127}|@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,})$`)
)

// assignImage reads the parameters of an AssignImage, and checks them as Gatekeeper does.
func (r *reader) assignImage(n policy.Node, m *mutator) action {
	domain, path, tag := n.At("assignDomain"), n.At("assignPath"), n.At("assignTag")
	i := image{domain.Text(), path.Text(), tag.Text()}
	invalid := func(n policy.Node, advice, format string, args ...any) {
		r.advise(n, 0, advice, "assignImage "+m.name+" has invalid parameters: "+format, args...)
	}
	if i == (image{}) && r.doc.IsSound(n) {
		invalid(n, "", "at least one of [assignDomain, assignPath, assignTag] must be set")
	}
	if i.domain != "" && !domainSyntax().MatchString(i.domain) {
		invalid(domain, "expected a host with a dot in its name, or localhost, and a port if need be: registry.example.com:5000", "assignDomain %q must be a fully-qualified domain name or localhost", i.domain)
	}
	if i.path != "" && pathSyntax().FindString(i.path) != i.path {
		invalid(path, "expected words in lower case with slashes between them, without domain, tag or digest", "assignPath %q must be a valid docker image path", i.path)
	}
	if i.tag != "" && !tagSyntax().MatchString(i.tag) {
		invalid(tag, "begin a tag with a colon, and a digest with @", "assignTag %q must be a valid docker image tag or digest starting with ':' or '@'", i.tag)
	}
	if of, _ := splitDomain(i.path); i.domain == "" && of != "" {
		invalid(path, "put the domain into assignDomain", "assignDomain must be set if the first part of assignPath %q can be interpretted as part of a domain", i.path)
	}
	return i
}
