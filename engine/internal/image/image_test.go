package image

import (
	_ "crypto/sha512" // registers its digests
	"strings"
	"testing"

	"github.com/distribution/reference"
)

// FuzzParse compares Parse with the module that it follows.
func FuzzParse(f *testing.F) {
	hex := strings.Repeat("0123456789abcdef", 8)
	for _, text := range []string{
		"", "nginx", "nginx:1.25", "nginx:", "Nginx", "team/web", "docker.io/library/nginx", "localhost:5000/web", "localhost:5000", "a:1/b:2", "a:x/b",
		"registry.example.com:5000/team/web:1.2", "[::1]:5000/web", "[::1]/web", "[]/web", "[::g]/web", "a_b/c", "a__b/c", "a___b/c", "a.b-c--d/e", "-a/b", "a-/b", "a..b/c", "A/b", "A/B", "a//b", "/a", "a/",
		"web:" + strings.Repeat("t", 128), "web:" + strings.Repeat("t", 129), "web:.t", "web:-t", "web:_T.-1", strings.Repeat("a", 255), strings.Repeat("a", 256), "d.io/" + strings.Repeat("a", 255),
		"web@sha256:" + hex[:64], "web@sha256:" + hex[:63], "web@sha256:" + strings.ToUpper(hex[:64]), "web@sha384:" + hex[:96], "web@sha512:" + hex, "web@md5:" + hex[:32], "web:1@sha256:" + hex[:64], "web@", "@sha256:" + hex[:64],
		"web@sha256:" + hex[:64] + "@x", "sha256:" + hex[:64], "a:1:2", "a/b:1:2", "é/b", "web:é", "a b", "a\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := Parse(text)
		parsed, err := reference.Parse(text)
		if ok != (err == nil) {
			t.Fatalf("%q: %t, %v", text, ok, err)
		}
		if !ok {
			return
		}
		var want Reference
		if named, ok := parsed.(reference.Named); ok {
			want.Domain, want.Path = reference.Domain(named), reference.Path(named)
		}
		if tagged, ok := parsed.(reference.Tagged); ok {
			want.Tag = tagged.Tag()
		}
		if digested, ok := parsed.(reference.Digested); ok {
			want.Digest = digested.Digest().String()
		}
		if got != want {
			t.Errorf("%q is %+v, not %+v", text, want, got)
		}
	})
}
