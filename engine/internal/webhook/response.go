package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// decode returns the AdmissionReview in an answer, or the error of a server's client
// (k8s.io/client-go v0.36.3, rest). version is the version that was sent.
func decode(answer policy.Answer, version string) (*admissionv1.AdmissionReview, error) {
	body, err := asJSON(answer.Body)
	if answer.Status >= 300 {
		return nil, refused(answer, body, err)
	}
	if len(answer.Body) == 0 {
		return nil, fmt.Errorf("0-length response with status code: %d and content type: %s", max(answer.Status, 200), or(answer.ContentType, "application/json"))
	}
	if err != nil {
		return nil, err
	}
	kind, err := kindOf(body)
	if err != nil {
		return nil, err
	}
	want := schema.GroupVersionKind{Group: admissionGroup, Version: version, Kind: reviewKind}
	switch sent := or(kind, want); {
	case sent == want:
	case !registered(sent):
		return nil, fmt.Errorf("no kind %q is registered for version %q in scheme %q", sent.Kind, sent.GroupVersion(), "pkg/runtime/scheme.go:111")
	default:
		return nil, fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", sent.Version, sent.Kind, want.Version, want.Kind)
	}
	review := &admissionv1.AdmissionReview{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, review); err != nil {
		return nil, err
	}
	return review, nil
}

// or returns a value, or another one instead of the zero value. A GroupVersionKind lacks both of its
// parts or none: a server takes each that is missing from what it expects.
func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// registered reports whether the client knows a kind: reviews and the kinds of every API.
func registered(kind schema.GroupVersionKind) bool {
	switch kind.GroupVersion().String() {
	case admissionGroup + "/v1", admissionGroup + "/v1beta1":
		return kind.Kind == reviewKind
	case "v1":
		return kind.Kind == "Status"
	}
	return false
}

// asJSON returns a body as JSON. A server reads a body as YAML if it does not begin as a JSON object.
func asJSON(body []byte) ([]byte, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return body, nil
	}
	value, err := manifest.Value(string(body))
	if err != nil {
		return nil, fmt.Errorf("yaml: %w", err)
	}
	return manifest.JSON(value), nil
}

// kindOf returns the kind of an object, which may be missing.
func kindOf(body []byte) (schema.GroupVersionKind, error) {
	typed := struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}{}
	if err := json.Unmarshal(body, &typed); err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	version, err := schema.ParseGroupVersion(typed.APIVersion)
	return version.WithKind(typed.Kind), err
}

// refused returns the error of the client for a response with an error status.
func refused(answer policy.Answer, body []byte, err error) error {
	var status metav1.Status
	if err == nil && kjson.UnmarshalCaseSensitivePreserveInts(body, &status) == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess {
		return &apierrors.StatusError{ErrStatus: status}
	}
	text := "unknown"
	if strings.HasPrefix(answer.ContentType, "text/") {
		text = strings.TrimSpace(string(answer.Body))
	}
	return apierrors.NewGenericServerResponse(answer.Status, "POST", schema.GroupResource{}, "", text, 0, true)
}

// verify returns the error of a server about a review that it could decode.
func verify(review *admissionv1.AdmissionReview, version, uid string) error {
	response := review.Response
	switch {
	case response == nil:
		return errors.New("webhook response was absent")
	case version != known[0]: // older reviews are not checked further
		return nil
	case string(response.UID) != uid:
		return fmt.Errorf("expected response.uid=%q, got %q", uid, response.UID)
	case review.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind(reviewKind):
		return fmt.Errorf("expected webhook response of %v, got %v", admissionv1.SchemeGroupVersion.WithKind(reviewKind), review.GroupVersionKind())
	case len(response.Patch) > 0 && response.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(response.Patch) == 0 && response.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case response.PatchType != nil && *response.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *response.PatchType)
	}
	return nil
}
