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
	"time"

	"github.com/preadmit/preadmit/engine/policy"
)

// largest is how many bytes an answer may have: as many as an API server reads.
const largest = 8 << 20

// address is a URL. It implements sender.
type address struct {
	url    *url.URL
	client *http.Client
}

// newClient returns a client that follows no redirects and uses no proxy, as an API server does not.
func newClient(ca []byte) (*http.Client, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != nil {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("the file has no certificate in PEM")
		}
	}
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: settings, MaxIdleConnsPerHost: mostAtOnce, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// send implements sender.
func (a address) send(ctx context.Context, w policy.WebhookName, review []byte) (policy.Answer, error) {
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
	response, err := a.client.Do(request)
	if err != nil {
		return policy.Answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, largest+1))
	switch {
	case err != nil:
		return policy.Answer{}, fmt.Errorf("reading the answer: %w", err)
	case len(body) > largest:
		return policy.Answer{}, fmt.Errorf("the answer has more than %d bytes", largest)
	}
	return policy.Answer{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Body: body}, nil
}
