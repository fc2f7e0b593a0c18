package celenv

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// imageType is the type of image references.
var imageType = types.NewOpaqueType("kyverno.image")

// imageReference is an image reference as github.com/google/go-containerregistry (pkg/name, weak
// validation) parses it.
type imageReference struct {
	// text is the reference as written.
	text                              string
	registry, repository, tag, digest string
}

// imageValue is the CEL value of an image reference.
type imageValue struct {
	opaque
	reference imageReference
}

// Equal implements ref.Val.
func (v imageValue) Equal(other ref.Val) ref.Val {
	w, ok := other.(imageValue)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(v.reference == w.reference)
}

// Value implements ref.Val.
func (v imageValue) Value() any { return v.reference }

// images declares functions that parse image references.
func (kyvernoLibrary) images() []cel.EnvOption {
	parse := cel.UnaryBinding(func(text ref.Val) ref.Val {
		reference, err := parseImage(string(text.(types.String)))
		if err != nil {
			return types.WrapErr(err)
		}
		return imageValue{opaque{imageType}, reference}
	})
	options := []cel.EnvOption{
		cel.Function("image", cel.Overload("string_to_image_deprecated", []*cel.Type{cel.StringType}, imageType, parse)),
		cel.Function("parseImageReference", cel.Overload("string_to_image", []*cel.Type{cel.StringType}, imageType, parse)),
		cel.Function("isImage", cel.Overload("is_image_string", []*cel.Type{cel.StringType}, cel.BoolType, cel.UnaryBinding(func(text ref.Val) ref.Val {
			_, err := parseImage(string(text.(types.String)))
			return types.Bool(err == nil)
		}))),
		cel.Function("containsDigest", cel.MemberOverload("image_contains_digest", []*cel.Type{imageType}, cel.BoolType, cel.UnaryBinding(func(image ref.Val) ref.Val {
			return types.Bool(image.(imageValue).reference.digest != "")
		}))),
	}
	for name, part := range map[string]func(imageReference) string{
		"registry":   func(r imageReference) string { return r.registry },
		"repository": func(r imageReference) string { return r.repository },
		"identifier": func(r imageReference) string { return r.tag + r.digest }, // one of them is empty
		"tag":        func(r imageReference) string { return r.tag },
		"digest":     func(r imageReference) string { return r.digest },
	} {
		options = append(options, cel.Function(name, cel.MemberOverload("image_"+name, []*cel.Type{imageType}, cel.StringType,
			cel.UnaryBinding(func(image ref.Val) ref.Val { return types.String(part(image.(imageValue).reference)) }))))
	}
	return options
}

const (
	defaultRegistry = "index.docker.io"
	lowerAndDigits  = "abcdefghijklmnopqrstuvwxyz0123456789"
	tagCharacters   = lowerAndDigits + "_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	pathCharacters  = lowerAndDigits + "_-./"
	digestPrefix    = "sha256:"
)

// parseImage parses a reference with a tag, or else with a digest.
func parseImage(text string) (imageReference, error) {
	r, ok := parseTagged(text)
	if !ok {
		r, ok = parseDigest(text)
	}
	if !ok {
		return imageReference{}, errors.New("could not parse reference: " + text)
	}
	r.text = text
	return r, nil
}

// parseTagged parses a reference with an optional tag, whose default is latest.
func parseTagged(text string) (imageReference, bool) {
	base, tag := text, "latest"
	// The text after the last colon belongs to a port if it contains a slash.
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.Contains(text[i:], "/") {
		if base, tag = text[:i], text[i+1:]; !consistsOf(tag, tagCharacters, 1, 128) {
			return imageReference{}, false
		}
	}
	r, ok := parseRepository(base)
	r.tag = tag
	return r, ok
}

func parseDigest(text string) (imageReference, bool) {
	base, digest, found := strings.Cut(text, "@")
	hash, isSHA := strings.CutPrefix(digest, digestPrefix)
	if !found || !isSHA || !consistsOf(hash, "abcdef0123456789", 64, 64) {
		return imageReference{}, false
	}
	r, ok := parseTagged(base) // the tag is ignored
	if !ok {
		r, ok = parseRepository(base)
	}
	r.tag, r.digest = "", digest
	return r, ok
}

// parseRepository parses a repository. The first part is a registry if it looks like a host.
func parseRepository(text string) (imageReference, bool) {
	registry, repository, found := strings.Cut(text, "/")
	if !found || !strings.ContainsAny(registry, ".:") && registry != "localhost" {
		registry, repository = "", text
	}
	if !consistsOf(repository, pathCharacters, 2, 255) {
		return imageReference{}, false
	}
	if u, err := url.Parse("//" + registry); err != nil || u.Host != registry {
		return imageReference{}, false
	}
	if registry == "" || registry == "docker.io" {
		registry = defaultRegistry
	}
	if registry == defaultRegistry && !strings.Contains(repository, "/") {
		repository = "library/" + repository
	}
	return imageReference{registry: registry, repository: repository}, true
}

// consistsOf reports whether a text has only the given characters, and an allowed length.
func consistsOf(text, characters string, shortest, longest int) bool {
	n := utf8.RuneCountInString(text)
	return n >= shortest && n <= longest && strings.Trim(text, characters) == ""
}
