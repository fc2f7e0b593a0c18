// Package image parses references of container images as github.com/distribution/reference
// v0.6.0 does. It does not import that module, which compiles its regular expressions when a
// program starts; the tests compare with it.
package image

import "strings"

// maxPath is the maximum length of the path of a reference.
const maxPath = 255

// Reference is a reference of an image: "registry.example.com:5000/team/web:1.2@sha256:…".
// All but the path may be empty.
type Reference struct {
	Domain, Path, Tag, Digest string
}

// Parse parses a reference as it is written: it adds no default domain or tag.
func Parse(text string) (r Reference, ok bool) {
	name, digest, digested := strings.Cut(text, "@")
	if digested && !isDigest(digest) {
		return Reference{}, false
	}
	r.Digest = digest
	if slash, colon := strings.LastIndexByte(name, '/'), strings.LastIndexByte(name, ':'); colon > slash {
		if r.Tag = name[colon+1:]; !isTag(r.Tag) {
			return Reference{}, false
		}
		name = name[:colon]
	}
	r.Path = name
	if domain, path, ok := strings.Cut(name, "/"); ok && isDomain(domain) && isRepository(path) {
		r.Domain, r.Path = domain, path
	} else if !isRepository(name) {
		return Reference{}, false
	}
	return r, len(r.Path) <= maxPath
}

// isRepository reports whether path consists of components joined by slashes. A component
// consists of lower case letters and digits, separated by a dot, one or two underscores, or
// dashes.
func isRepository(path string) bool {
	for component := range strings.SplitSeq(path, "/") {
		if !isComponent(component) {
			return false
		}
	}
	return true
}

func isComponent(s string) bool {
	for i := 0; ; {
		start := i
		for i < len(s) && isLowerAlphanumeric(s[i]) {
			i++
		}
		if i == start {
			return false
		}
		if i == len(s) {
			return true
		}
		switch {
		case s[i] == '-':
			for i < len(s) && s[i] == '-' {
				i++
			}
		case strings.HasPrefix(s[i:], "__"):
			i += 2
		case s[i] == '.' || s[i] == '_':
			i++
		default:
			return false
		}
	}
}

// isDomain reports whether s is a host name or an IPv6 address in brackets, with or
// without a port.
func isDomain(s string) bool {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		address, port, ok := strings.Cut(rest, "]")
		return ok && address != "" && strings.Trim(address, "0123456789abcdefABCDEF:") == "" && (port == "" || isPort(port))
	}
	host := s
	if i := strings.IndexByte(s, ':'); i >= 0 {
		host = s[:i]
		if !isPort(s[i:]) {
			return false
		}
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; c != '-' && !isAlphanumeric(c) {
				return false
			}
		}
	}
	return true
}

func isPort(s string) bool {
	return len(s) > 1 && s[0] == ':' && strings.Trim(s[1:], "0123456789") == ""
}

func isTag(s string) bool {
	if s == "" || len(s) > 128 || s[0] == '.' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '_' && c != '.' && c != '-' && !isAlphanumeric(c) {
			return false
		}
	}
	return true
}

// isDigest reports whether s is a digest with a known algorithm.
func isDigest(s string) bool {
	algorithm, encoded, _ := strings.Cut(s, ":")
	switch algorithm {
	case "sha256":
		return len(encoded) == 64 && isHex(encoded)
	case "sha384":
		return len(encoded) == 96 && isHex(encoded)
	case "sha512":
		return len(encoded) == 128 && isHex(encoded)
	}
	return false
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func isLowerAlphanumeric(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' }

func isAlphanumeric(c byte) bool { return isLowerAlphanumeric(c) || 'A' <= c && c <= 'Z' }
