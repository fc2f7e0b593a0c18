package jmespath

import (
	"errors"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/image"
)

var imageFunctions = []function{
	{"image_normalize", "s>s", "the name of an image with its registry, path and tag", func(a []any) (any, error) {
		image, err := ParseImage(a[0].(string))
		if err != nil {
			return nil, err
		}
		return image["reference"], nil
	}},
}

// ParseImage parses an image reference into the fields that the variable `images` has for each
// container: name, path, reference and referenceWithTag, and registry, tag and digest unless
// they are empty. The default registry is docker.io.
func ParseImage(text string) (map[string]any, error) {
	first, _, hasSlash := strings.Cut(text, "/")
	if !hasSlash || !strings.ContainsAny(first, ".:") && first != "localhost" && strings.ToLower(first) == first {
		text = "docker.io/" + text
	}
	parsed, ok := image.Parse(text)
	if !ok {
		return nil, errors.New("not an image reference")
	}
	if parsed.Tag == "" && parsed.Digest == "" {
		parsed.Tag = "latest"
	}
	repository := parsed.Path
	if parsed.Domain != "" {
		repository = parsed.Domain + "/" + parsed.Path
	}
	fields := map[string]any{
		"name": parsed.Path[strings.LastIndex(parsed.Path, "/")+1:], "path": parsed.Path,
		"reference": repository + ":" + parsed.Tag, "referenceWithTag": repository + ":" + parsed.Tag,
	}
	if parsed.Digest != "" {
		fields["reference"] = repository + "@" + parsed.Digest
	}
	for key, value := range map[string]string{"registry": parsed.Domain, "tag": parsed.Tag, "digest": parsed.Digest} {
		if value != "" {
			fields[key] = value
		}
	}
	return fields, nil
}
