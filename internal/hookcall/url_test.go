package hookcall

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/policy"
)

// certificate returns a self-signed certificate for a name, and the same in PEM.
func certificate(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestForwardedPort calls a server whose certificate is for a service, at the address of a forwarded port.
func TestForwardedPort(t *testing.T) {
	own, ca := certificate(t, "injector.mesh.svc")
	_, other := certificate(t, "injector.mesh.svc")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		service string
		ca      []byte
		refused string
	}{
		"service":             {service: "injector.mesh.svc", ca: ca},
		"another service":     {service: "injector.other.svc", ca: ca, refused: "cannot validate certificate for 127.0.0.1"},
		"no service":          {ca: ca, refused: "cannot validate certificate for 127.0.0.1"},
		"another authority":   {service: "injector.mesh.svc", ca: other, refused: "certificate signed by unknown authority"},
		"the system's":        {service: "injector.mesh.svc", refused: "certificate signed by unknown authority"},
		"no certificate here": {ca: []byte("none"), refused: "the file has no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := callURL(t, u, c.ca, c.service)
			switch {
			case c.refused == "" && (err != nil || string(answer.Body) != "/inject?timeout=1s"):
				t.Errorf("%s, %v", answer.Body, err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("%v, want %s", err, c.refused)
			}
		})
	}
}

func callURL(t *testing.T, u *url.URL, ca []byte, service string) (policy.Answer, error) {
	c, err := New(t.Context(), []Target{{Name: "w", URL: u}}, ca, nil, same)
	if err != nil {
		return policy.Answer{}, err
	}
	defer c.Close()
	w := policy.WebhookName{Configuration: "w", Name: "w.example.com", Path: "/inject", Service: service, Timeout: time.Second}
	return c.Answer(t.Context(), policy.Call{Webhook: w, Review: map[string]any{}})
}
