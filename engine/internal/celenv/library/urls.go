package library

import (
	"net/url"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	values "k8s.io/apiserver/pkg/cel"
)

// URLs returns the library of absolute URLs and paths.
func URLs() cel.EnvOption {
	anURL, aText := signature{values.URLType}, signature{cel.StringType}
	return newLibrary(
		of(aText, "url", "string_to_url", values.URLType, unary(parseURL)),
		of(aText, "isURL", "is_url_string", cel.BoolType, boolean(func(s string) bool {
			_, err := url.ParseRequestURI(s)
			return err == nil
		})),
		on(anURL, "getScheme", "url_get_scheme", cel.StringType, text(func(u *url.URL) string { return u.Scheme })),
		on(anURL, "getHost", "url_get_host", cel.StringType, text(func(u *url.URL) string { return u.Host })),
		on(anURL, "getHostname", "url_get_hostname", cel.StringType, text((*url.URL).Hostname)),
		on(anURL, "getPort", "url_get_port", cel.StringType, text((*url.URL).Port)),
		on(anURL, "getEscapedPath", "url_get_escaped_path", cel.StringType, text((*url.URL).EscapedPath)),
		on(anURL, "getQuery", "url_get_query", cel.MapType(cel.StringType, cel.ListType(cel.StringType)), unary(query)),
	)
}

// parseURL parses a URI as defined by OpenAPI. url.ParseRequestURI only decides whether it is
// valid, because it treats a fragment as a part of the path.
func parseURL(s string) ref.Val {
	_, err := url.ParseRequestURI(s)
	if err != nil {
		return types.NewErr("URL parse error during conversion from string: %v", err)
	}
	parsed, err := url.Parse(s)
	if err != nil {
		return types.NewErr("URL parse error during conversion from string: %v", err)
	}
	return values.URL{URL: parsed}
}

func query(u *url.URL) ref.Val {
	parameters := map[ref.Val]ref.Val{}
	for key, all := range u.Query() {
		parameters[types.String(key)] = types.NewStringList(types.DefaultTypeAdapter, all)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, parameters)
}
