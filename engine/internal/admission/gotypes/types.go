package main

import (
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// adders register the group versions that kube-apiserver 1.36 can serve with its
// feature gates at their defaults.
var adders = []func(*runtime.Scheme) error{
	admissionregistrationv1.AddToScheme, admissionregistrationv1alpha1.AddToScheme, admissionregistrationv1beta1.AddToScheme,
	apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, apiserverinternalv1alpha1.AddToScheme, appsv1.AddToScheme,
	autoscalingv1.AddToScheme, autoscalingv2.AddToScheme,
	batchv1.AddToScheme, certificatesv1.AddToScheme,
	coordinationv1.AddToScheme, coordinationv1alpha2.AddToScheme, coordinationv1beta1.AddToScheme,
	corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme, flowcontrolv1.AddToScheme,
	networkingv1.AddToScheme, networkingv1beta1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
	resourcev1.AddToScheme, resourcev1alpha3.AddToScheme, resourcev1beta1.AddToScheme, resourcev1beta2.AddToScheme,
	schedulingv1.AddToScheme, storagev1.AddToScheme, storagev1beta1.AddToScheme,
}

// notServed are the kinds in these group versions that the server has dropped.
var notServed = []reflect.Type{
	reflect.TypeFor[admissionregistrationv1beta1.MutatingWebhookConfiguration](),
	reflect.TypeFor[admissionregistrationv1beta1.ValidatingWebhookConfiguration](),
	reflect.TypeFor[networkingv1beta1.Ingress](),
	reflect.TypeFor[networkingv1beta1.IngressClass](),
	reflect.TypeFor[storagev1beta1.CSIDriver](),
	reflect.TypeFor[storagev1beta1.CSINode](),
	reflect.TypeFor[storagev1beta1.CSIStorageCapacity](),
	reflect.TypeFor[storagev1beta1.StorageClass](),
	reflect.TypeFor[storagev1beta1.VolumeAttachment](),
}

// inAnnotations are types that no kind has a field of, but whose JSON is in the
// annotations of autoscaling/v1 HorizontalPodAutoscalers.
var inAnnotations = []reflect.Type{
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
