package hookcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/preadmit/preadmit/engine/policy"
)

// address is a URL. It implements sender.
type address struct {
	url   *url.URL
	roots *x509.CertPool

	mu sync.Mutex
	// clients are the clients by the name of the service.
	clients map[string]*http.Client
}

// readRoots reads certificates in PEM; nil means those of the system.
func readRoots(ca []byte) (*x509.CertPool, error) {
	if ca == nil {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the file has no certificate in PEM")
	}
	return roots, nil
}

// client returns a client that follows no redirects and uses no proxy, as an API server does not.
func (a *address) client(service string) *http.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clients[service] == nil {
		settings := &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // VerifyConnection verifies: a server may have one of two names
			VerifyConnection:   func(state tls.ConnectionState) error { return a.verify(state, service) },
		}
		a.clients[service] = &http.Client{
			Transport:     &http.Transport{TLSClientConfig: settings, MaxIdleConnsPerHost: mostAtOnce, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return a.clients[service]
}

// verify verifies the certificate of a server. It must be for the host of the URL, or for the service:
// then the URL is that of a forwarded port.
func (a *address) verify(state tls.ConnectionState, service string) error {
	leaf := state.PeerCertificates[0]
	options := x509.VerifyOptions{Roots: a.roots, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := leaf.Verify(options)
	if err == nil {
		err = leaf.VerifyHostname(a.url.Hostname())
	}
	var wrongName x509.HostnameError
	if errors.As(err, &wrongName) && service != "" && leaf.VerifyHostname(service) == nil {
		err = nil
	}
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// send implements sender.
func (a *address) send(ctx context.Context, w policy.WebhookName, review []byte) (policy.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	u := *a.url
	if u.Path == "" || u.Path == "/" {
		u.Path = w.Path
	}
	query := u.Query()
	query.Set("timeout", w.Timeout.String())
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(review))
	if err != nil {
		return policy.Answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := a.client(w.Service).Do(request)
	if err != nil {
		return policy.Answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, largest+1))
	switch {
	case err != nil:
		return policy.Answer{}, fmt.Errorf("reading the answer: %w", err)
	case len(body) > largest:
		return policy.Answer{}, errTooLarge
	}
	return policy.Answer{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Body: body}, nil
}

// close implements sender.
func (a *address) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, client := range a.clients {
		client.CloseIdleConnections()
	}
}
