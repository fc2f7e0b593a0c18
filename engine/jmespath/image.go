package jmespath

import (
	"errors"
	"strings"

	"github.com/distribution/reference"
)

var imageFunctions = []function{
	{"image_normalize", "s", func(a []any) (any, error) {
		image, err := ParseImage(a[0].(string))
		if err != nil {
			return nil, err
		}
		return image["reference"], nil
	}},
}

// ParseImage takes an image reference apart, into the fields that the variable
// `images` has for each container: name, path, reference and referenceWithTag, and
// where there are any registry, tag and digest. The registry is docker.io unless the
// reference names one.
func ParseImage(image string) (map[string]any, error) {
	first, _, hasSlash := strings.Cut(image, "/")
	if !hasSlash || !strings.ContainsAny(first, ".:") && first != "localhost" && strings.ToLower(first) == first {
		image = "docker.io/" + image
	}
	parsed, err := reference.Parse(image)
	if err != nil {
		return nil, errors.New("not an image reference")
	}
	var registry, path, tag, digest string
	if named, ok := parsed.(reference.Named); ok {
		registry, path = reference.Domain(named), reference.Path(named)
	}
	if tagged, ok := parsed.(reference.Tagged); ok {
		tag = tagged.Tag()
	}
	if digested, ok := parsed.(reference.Digested); ok {
		digest = digested.Digest().String()
	}
	if tag == "" && digest == "" {
		tag = "latest"
	}
	repository := path
	if registry != "" {
		repository = registry + "/" + path
	}
	fields := map[string]any{
		"name": path[strings.LastIndex(path, "/")+1:], "path": path,
		"reference": repository + ":" + tag, "referenceWithTag": repository + ":" + tag,
	}
	if digest != "" {
		fields["reference"] = repository + "@" + digest
	}
	for key, value := range map[string]string{"registry": registry, "tag": tag, "digest": digest} {
		if value != "" {
			fields[key] = value
		}
	}
	return fields, nil
}
