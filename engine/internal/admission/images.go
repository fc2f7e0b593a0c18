package admission

import (
	"strings"

	"github.com/preadmit/preadmit/engine/internal/image"
)

// isLatest reports whether an image reference means the tag latest: its tag is "latest"
// or it has neither a tag nor a digest. References that do not parse are not latest.
func isLatest(reference string) bool {
	if len(reference) == 64 && strings.Trim(reference, "0123456789abcdef") == "" {
		return false // could be an image ID
	}
	parsed, ok := image.Parse(withDomain(reference))
	return ok && (parsed.Tag == "latest" || parsed.Tag == "" && parsed.Digest == "")
}

// withDomain adds the default host to a reference without a host.
func withDomain(reference string) string {
	first, rest, ok := strings.Cut(reference, "/")
	switch {
	case !ok:
		return "docker.io/library/" + reference
	case first == "index.docker.io" || first == "docker.io":
		if !strings.Contains(rest, "/") {
			rest = "library/" + rest
		}
		return "docker.io/" + rest
	case first == "localhost", strings.ContainsAny(first, ".:"), strings.ToLower(first) != first:
		return reference
	}
	return "docker.io/" + reference
}
