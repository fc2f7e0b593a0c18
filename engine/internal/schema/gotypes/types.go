package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// scheme returns a scheme with the kinds of all group versions.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kubernetes.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(s); err != nil {
			log.Fatal(err)
		}
	}
	return s
}

// served returns the kinds that a server serves, according to an archive of OpenAPI documents.
func served(archive string) map[schema.GroupVersionKind]bool {
	file, err := os.Open(archive)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	decompressor, err := gzip.NewReader(file)
	if err != nil {
		log.Fatal(err)
	}
	for reader := tar.NewReader(decompressor); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			log.Fatalf("%s has no api-resources.json", archive)
		}
		if err != nil {
			log.Fatal(err)
		}
		if header.Name == "api-resources.json" {
			return readKinds(reader)
		}
	}
}

func readKinds(discovery io.Reader) map[schema.GroupVersionKind]bool {
	var resources []struct{ GroupVersion, Kind, Group, Version string }
	if err := json.NewDecoder(discovery).Decode(&resources); err != nil {
		log.Fatal(err)
	}
	kinds := map[schema.GroupVersionKind]bool{}
	for _, r := range resources {
		kind := schema.FromAPIVersionAndKind(r.GroupVersion, r.Kind)
		if r.Version != "" {
			kind.Group, kind.Version = r.Group, r.Version
		}
		kinds[kind] = true
	}
	return kinds
}

// others are types that no kind has a field of: the request that CEL expressions read, and types
// whose JSON is in the annotations of autoscaling/v1 HorizontalPodAutoscalers.
var others = []reflect.Type{
	reflect.TypeFor[admissionv1.AdmissionRequest](),
	reflect.TypeFor[autoscalingv1.MetricSpec](),
	reflect.TypeFor[autoscalingv1.MetricStatus](),
	reflect.TypeFor[autoscalingv1.HorizontalPodAutoscalerCondition](),
}

// special are the types that read and write their JSON themselves.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                            "q",
	reflect.TypeFor[metav1.Time]():                                  "t",
	reflect.TypeFor[metav1.MicroTime]():                             "m",
	reflect.TypeFor[intstr.IntOrString]():                           "x",
	reflect.TypeFor[runtime.RawExtension]():                         "r",
	reflect.TypeFor[metav1.FieldsV1]():                              "r",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "j",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "B",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "A",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "S",
}
