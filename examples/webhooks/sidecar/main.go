// Command sidecar is a mutating webhook that adds a sidecar to every Pod. It uses the admission types of
// controller-runtime, like most webhooks of operators.
//
//	sidecar                     reads AdmissionReviews from standard input and prints the answers
//	sidecar -listen 127.0.0.1:0 serves /inject over http and prints its address
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// injector adds the sidecar. It implements admission.Handler.
type injector struct{ decoder admission.Decoder }

const image = "example.com/sidecar:1.2.0"

// Handle implements admission.Handler.
func (i injector) Handle(_ context.Context, request admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := i.decoder.Decode(request, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if pod.Annotations["sidecar.example.com/inject"] == "false" {
		return admission.Denied("Pods of this namespace need the sidecar")
	}
	if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "sidecar" }) {
		return admission.Allowed("")
	}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: "sidecar", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 9000}},
	})
	patched, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, patched).WithWarnings("the sidecar listens on port 9000")
}

func main() {
	listen := flag.String("listen", "", "address to serve on")
	flag.Parse()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		fatal(err)
	}
	webhook := &admission.Webhook{Handler: injector{admission.NewDecoder(scheme)}}
	if *listen == "" {
		answer(webhook)
		return
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		fatal(err)
	}
	fmt.Println("http://" + listener.Addr().String())
	mux := http.NewServeMux()
	mux.Handle("/inject", webhook)
	fatal(http.Serve(listener, mux))
}

// answer answers each review on standard input before it reads the next one.
func answer(webhook http.Handler) {
	for reviews := json.NewDecoder(os.Stdin); ; {
		var review json.RawMessage
		switch err := reviews.Decode(&review); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(review))
		request.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		webhook.ServeHTTP(response, request)
		if _, err := io.Copy(os.Stdout, response.Body); err != nil {
			fatal(err)
		}
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "sidecar:", err)
	os.Exit(1)
}
