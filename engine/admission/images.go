package admission

import "strings"

// isLatest reports whether an image reference means the tag latest: it parses as
// github.com/distribution/reference v0.6.0 parses it, and its tag is "latest" or it
// has neither a tag nor a digest. References that do not parse are not latest.
func isLatest(image string) bool {
	if len(image) == 64 && isHex(image) {
		return false // could be an image ID
	}
	rest, digest, digested := strings.Cut(image, "@")
	domain, remote := splitDomain(rest)
	path, tag, tagged := strings.Cut(remote, ":")
	switch {
	case digested && !isDigest(digest), tagged && !isTag(tag), !isRepository(path):
		return false
	case domain != "" && !isDomain(domain):
		// What looks like a host but is none may still be the start of a path.
		path = domain + "/" + path
		if !isRepository(path) {
			return false
		}
	}
	return len(path) <= 255 && (tag == "latest" || !tagged && !digested)
}

// splitDomain cuts the host off a reference; the default host is the empty string.
func splitDomain(reference string) (domain, remote string) {
	first, rest, ok := strings.Cut(reference, "/")
	switch {
	case !ok:
		return "", "library/" + reference
	case first == "index.docker.io" || first == "docker.io":
		if !strings.Contains(rest, "/") {
			rest = "library/" + rest
		}
		return "", rest
	case first == "localhost", strings.ContainsAny(first, ".:"), strings.ToLower(first) != first:
		return first, rest
	}
	return "", reference
}

// isRepository reports whether path is path components joined by slashes: lower
// case letters and digits, separated by a dot, one or two underscores or dashes.
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

// isDigest reports whether s is a digest of an algorithm that is known.
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
