package jmespath

import (
	"crypto/md5" // #nosec G501 -- a function of Kyverno's
	"crypto/rsa"
	"crypto/sha1" // #nosec G505 -- a function of Kyverno's
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"

	"github.com/blang/semver/v4"
)

var cryptoFunctions = []function{
	{"sha256", "s>s", func(a []any) (any, error) {
		sum := sha256.Sum256([]byte(a[0].(string)))
		return hex.EncodeToString(sum[:]), nil
	}},
	{"sha1", "s>s", func(a []any) (any, error) {
		sum := sha1.Sum([]byte(a[0].(string))) // #nosec G401
		return hex.EncodeToString(sum[:]), nil
	}},
	{"md5", "s>s", func(a []any) (any, error) {
		sum := md5.Sum([]byte(a[0].(string))) // #nosec G401
		return hex.EncodeToString(sum[:]), nil
	}},
	{"semver_compare", "ss>b", func(a []any) (any, error) {
		expected, err := semver.ParseRange(a[1].(string))
		if err != nil {
			return nil, errors.New("argument 2 is not a range of versions like >=1.0.0")
		}
		// An invalid version counts as 0.0.0.
		version, _ := semver.Parse(a[0].(string))
		return expected(version), nil
	}},
	{"x509_decode", "s>o", decodeX509},
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
	text, err := json.Marshal(decoded)
	if err != nil {
		return nil, errors.New("the certificate cannot be written as JSON")
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, errors.New("the certificate cannot be written as JSON")
	}
	return object, nil
}
