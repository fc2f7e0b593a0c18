package celenv

import (
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/netip"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// certificates declares x509.decode.
func (l kyvernoLibrary) certificates() []cel.EnvOption {
	return []cel.EnvOption{cel.Function("x509.decode", cel.Overload("x509_decode_string", []*cel.Type{cel.StringType}, cel.DynType,
		cel.UnaryBinding(func(value ref.Val) ref.Val {
			decoded, err := decodePEM([]byte(value.(types.String)))
			if err != nil {
				return types.WrapErr(err)
			}
			return l.NativeToValue(decoded)
		})))}
}

// publicKey is an RSA key in Kyverno's form.
type publicKey struct {
	N string
	E int
}

// certificate has the fields of a certificate that Kyverno supports, in Go's JSON form.
type certificate struct {
	Raw, RawTBSCertificate, RawSubjectPublicKeyInfo, RawSubject, RawIssuer, Signature []byte

	PublicKeyAlgorithm          x509.PublicKeyAlgorithm
	PublicKey                   publicKey
	SerialNumber                int64
	Issuer                      pkix.Name
	NotBefore, NotAfter         string
	KeyUsage                    x509.KeyUsage
	Extensions, ExtraExtensions []pkix.Extension
	ExtKeyUsage                 []x509.ExtKeyUsage
	BasicConstraintsValid, IsCA bool
	MaxPathLen                  int
	MaxPathLenZero              bool
	//lint:ignore ST1003 expressions call it by the name that Go has for it
	AuthorityKeyId                          []byte
	OCSPServer, IssuingCertificateURL       []string
	DNSNames, EmailAddresses                []string
	IPAddresses                             []netip.Addr
	PermittedDNSDomainsCritical             bool
	PermittedDNSDomains, ExcludedDNSDomains []string
	PermittedIPRanges, ExcludedIPRanges     []ipRange
	PermittedEmailAddresses                 []string
	ExcludedEmailAddresses                  []string
	PermittedURIDomains, ExcludedURIDomains []string
	CRLDistributionPoints                   []string
	PolicyIdentifiers                       []asn1.ObjectIdentifier
}

// ipRange is a network in Go's JSON form.
type ipRange struct {
	IP   netip.Addr
	Mask []byte
}

// decodePEM decodes a certificate or a certificate request.
func decodePEM(text []byte) (map[string]any, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("failed to decode PEM block")
	}
	switch block.Type {
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		key, err := keyOf(c.PublicKey)
		if err != nil {
			return nil, err
		}
		return untyped(fieldsOfCertificate(c, key))
	case "CERTIFICATE REQUEST":
		c, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return nil, err
		}
		key, err := keyOf(c.PublicKey)
		if err != nil {
			return nil, err
		}
		c.PublicKey = key
		return untyped(c)
	default:
		return nil, errors.New("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")
	}
}

func keyOf(key any) (publicKey, error) {
	k, ok := key.(*rsa.PublicKey)
	if !ok {
		return publicKey{}, errors.New("certificate should use rsa algorithm")
	}
	return publicKey{k.N.String(), k.E}, nil
}

// untyped returns the JSON form of a value.
func untyped(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	err = json.Unmarshal(text, &object)
	return object, err
}

func fieldsOfCertificate(c *x509.Certificate, key publicKey) certificate {
	f := certificate{
		Raw: c.Raw, RawTBSCertificate: c.RawTBSCertificate, RawSubjectPublicKeyInfo: c.RawSubjectPublicKeyInfo,
		RawSubject: c.RawSubject, RawIssuer: c.RawIssuer, Signature: c.Signature,
		PublicKeyAlgorithm: c.PublicKeyAlgorithm, PublicKey: key, SerialNumber: c.SerialNumber.Int64(), Issuer: c.Issuer,
		NotBefore: c.NotBefore.Format(time.RFC3339), NotAfter: c.NotAfter.Format(time.RFC3339), KeyUsage: c.KeyUsage,
		Extensions: c.Extensions, ExtraExtensions: c.ExtraExtensions, ExtKeyUsage: c.ExtKeyUsage,
		BasicConstraintsValid: c.BasicConstraintsValid, IsCA: c.IsCA, MaxPathLen: c.MaxPathLen, MaxPathLenZero: c.MaxPathLenZero,
		AuthorityKeyId: c.AuthorityKeyId, OCSPServer: c.OCSPServer, IssuingCertificateURL: c.IssuingCertificateURL,
		DNSNames: c.DNSNames, EmailAddresses: c.EmailAddresses,
		PermittedDNSDomainsCritical: c.PermittedDNSDomainsCritical, PermittedDNSDomains: c.PermittedDNSDomains,
		ExcludedDNSDomains: c.ExcludedDNSDomains, PermittedEmailAddresses: c.PermittedEmailAddresses,
		ExcludedEmailAddresses: c.ExcludedEmailAddresses, PermittedURIDomains: c.PermittedURIDomains,
		ExcludedURIDomains: c.ExcludedURIDomains, CRLDistributionPoints: c.CRLDistributionPoints, PolicyIdentifiers: c.PolicyIdentifiers,
	}
	for _, ip := range c.IPAddresses {
		address, _ := netip.AddrFromSlice(ip)
		f.IPAddresses = append(f.IPAddresses, address.Unmap())
	}
	for _, n := range c.PermittedIPRanges {
		address, _ := netip.AddrFromSlice(n.IP)
		f.PermittedIPRanges = append(f.PermittedIPRanges, ipRange{address.Unmap(), n.Mask})
	}
	for _, n := range c.ExcludedIPRanges {
		address, _ := netip.AddrFromSlice(n.IP)
		f.ExcludedIPRanges = append(f.ExcludedIPRanges, ipRange{address.Unmap(), n.Mask})
	}
	return f
}
