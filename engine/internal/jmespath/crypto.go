package jmespath

import (
	"crypto/md5" // #nosec G501 -- a function of Kyverno's
	"crypto/rsa"
	"crypto/sha1" // #nosec G505 -- a function of Kyverno's
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/blang/semver/v4"
)

var cryptoFunctions = []function{
	{"sha256", "s>s", "the SHA-256 checksum of a text, in hexadecimal digits", func(a []any) (any, error) {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(a[0].(string)))), nil
	}},
	{"sha1", "s>s", "the SHA-1 checksum of a text, in hexadecimal digits", func(a []any) (any, error) {
		return fmt.Sprintf("%x", sha1.Sum([]byte(a[0].(string)))), nil // #nosec G401
	}},
	{"md5", "s>s", "the MD5 checksum of a text, in hexadecimal digits", func(a []any) (any, error) {
		return fmt.Sprintf("%x", md5.Sum([]byte(a[0].(string)))), nil // #nosec G401
	}},
	{"semver_compare", "ss>b", `whether a version satisfies a constraint, as in ">=1.2.0"`, func(a []any) (any, error) {
		expected, err := semver.ParseRange(a[1].(string))
		if err != nil {
			return nil, errors.New("argument 2 is not a range of versions like >=1.0.0")
		}
		// An invalid version counts as 0.0.0.
		version, _ := semver.Parse(a[0].(string))
		return expected(version), nil
	}},
	{"x509_decode", "s>o", "the fields of a certificate or a certificate request in PEM", decodeX509},
}

// decodeX509 returns a certificate or a certificate request as Go encodes it to JSON, with the
// fields of its RSA key.
func decodeX509(a []any) (any, error) {
	block, _ := pem.Decode([]byte(a[0].(string)))
	if block == nil {
		return nil, errors.New("the string is not PEM")
	}
	var decoded any
	var key *any
	switch block.Type {
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("the certificate cannot be read")
		}
		decoded, key = c, &c.PublicKey
	case "CERTIFICATE REQUEST":
		c, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return nil, errors.New("the certificate request cannot be read")
		}
		decoded, key = c, &c.PublicKey
	default:
		return nil, errors.New("the PEM block is neither a CERTIFICATE nor a CERTIFICATE REQUEST")
	}
	public, ok := (*key).(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("only RSA keys can be decoded")
	}
	*key = map[string]any{"N": public.N.String(), "E": public.E} // N does not fit into a float64
	var object map[string]any
	text, err := json.Marshal(decoded)
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err != nil {
		return nil, errors.New("the certificate cannot be written as JSON")
	}
	return object, nil
}
