package builtin

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

const (
	mirrorAnnotation = "kubernetes.io/config.mirror"
	tokenPath        = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenVolume begins the name of the token's volume. The server appends five random letters
	// and digits, without zeros.
	tokenVolume       = "kube-api-access-"
	tokenVolumeSuffix = "00000"
)

// serviceAccount adds a service account to a Pod, with its image pull secrets and a volume with
// its token.
func serviceAccount(c *call) error {
	if isMirror(c) {
		return mountableSecrets(c)
	}
	spec := c.spec()
	if podspec.Text(spec, "serviceAccountName") == "" {
		// serviceAccount is the deprecated name of serviceAccountName.
		spec["serviceAccountName"], spec["serviceAccount"] = "default", "default"
	}
	found, err := c.serviceAccount()
	if err != nil {
		return err
	}
	if automounts(found, spec) {
		mountToken(spec)
	}
	if secrets, _ := found["imagePullSecrets"].([]any); len(podspec.Maps(spec, "imagePullSecrets")) == 0 && len(secrets) > 0 {
		spec["imagePullSecrets"] = secrets
	}
	return mountableSecrets(c)
}

func isMirror(c *call) bool {
	_, mirror := podspec.Map(c.object, "metadata", "annotations")[mirrorAnnotation]
	return mirror
}

// serviceAccount returns the service account of the Pod. Every namespace has the service account
// default.
func (c *call) serviceAccount() (map[string]any, error) {
	name := podspec.Text(c.spec(), "serviceAccountName")
	found, err := c.get(account, c.request.Namespace, name)
	if err != nil || found != nil {
		return found, err
	}
	if name == "default" {
		return map[string]any{"metadata": map[string]any{"name": name}}, nil
	}
	return nil, c.forbidden(c.missing("ServiceAccount", "error looking up service account %s/%s: serviceaccount %q not found", c.request.Namespace, name, name))
}

// automounts reports whether a token is mounted. The Pod decides, or else its service account.
func automounts(account, spec map[string]any) bool {
	for _, object := range []map[string]any{spec, account} {
		if automount, ok := podspec.Bool(object, "automountServiceAccountToken"); ok {
			return automount
		}
	}
	return true
}

// mountToken mounts the token into every container that has no mount at its path.
func mountToken(spec map[string]any) {
	name, hasVolume := tokenVolume+tokenVolumeSuffix, false
	for _, v := range podspec.Maps(spec, "volumes") {
		if own := podspec.Text(v, "name"); strings.HasPrefix(own, tokenVolume) {
			name, hasVolume = own, true
			break
		}
	}
	needed := false
	for _, container := range podspec.Containers(spec) {
		isToken := func(m map[string]any) bool { return podspec.Text(m, "mountPath") == tokenPath }
		if !slices.ContainsFunc(podspec.Maps(container, "volumeMounts"), isToken) {
			podspec.Append(container, "volumeMounts", map[string]any{"name": name, "readOnly": true, "mountPath": tokenPath})
			needed = true
		}
	}
	if needed && !hasVolume {
		podspec.Append(spec, "volumes", map[string]any{"name": name, "projected": tokenSource()})
	}
}

// tokenSource returns a volume source with a token, the certificate of the server, and the name
// of the namespace.
func tokenSource() map[string]any {
	return map[string]any{"defaultMode": int64(0o644), "sources": []any{
		map[string]any{"serviceAccountToken": map[string]any{"path": "token", "expirationSeconds": int64(3607)}},
		map[string]any{"configMap": map[string]any{"name": "kube-root-ca.crt", "items": []any{map[string]any{"key": "ca.crt", "path": "ca.crt"}}}},
		map[string]any{"downwardAPI": map[string]any{"items": []any{
			map[string]any{"path": "namespace", "fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
		}}},
	}}
}

// mountableSecrets refuses Pods with secrets that their service account does not list, if the
// service account enforces its list.
func mountableSecrets(c *call) error {
	if isMirror(c) {
		return c.mirrors()
	}
	if podspec.Text(c.spec(), "serviceAccountName") == "" {
		return c.forbidden(fmt.Errorf("no service account specified for pod %s/%s", c.request.Namespace, podspec.Text(c.object, "metadata", "name")))
	}
	found, err := c.serviceAccount()
	if err != nil {
		return err
	}
	enforced, _ := strconv.ParseBool(podspec.Text(found, "metadata", "annotations", "kubernetes.io/enforce-mountable-secrets"))
	if !enforced {
		return nil
	}
	if err := unreferenced(c.spec(), found); err != nil {
		return c.forbidden(err)
	}
	return nil
}

// unreferenced returns an error for a secret of a Pod that its service account does not list.
func unreferenced(spec, account map[string]any) error {
	mountable, name := names(account, "secrets"), podspec.Text(account, "metadata", "name")
	for _, v := range podspec.Maps(spec, "volumes") {
		if s := podspec.Map(v, "secret"); s != nil && !slices.Contains(mountable, podspec.Text(s, "secretName")) {
			return fmt.Errorf("volume with secret.secretName=%q is not allowed because service account %s does not reference that secret", podspec.Text(s, "secretName"), name)
		}
	}
	for _, list := range [][2]string{{"initContainers", "init container"}, {"containers", "container"}} {
		for _, container := range podspec.Maps(spec, list[0]) {
			who := list[1] + " " + podspec.Text(container, "name")
			for _, variable := range podspec.Maps(container, "env") {
				if s := podspec.Map(variable, "valueFrom", "secretKeyRef"); s != nil && !slices.Contains(mountable, podspec.Text(s, "name")) {
					return fmt.Errorf("%s with envVar %s referencing secret.secretName=%q is not allowed because service account %s does not reference that secret", who, podspec.Text(variable, "name"), podspec.Text(s, "name"), name)
				}
			}
			for _, from := range podspec.Maps(container, "envFrom") {
				if s := podspec.Map(from, "secretRef"); s != nil && !slices.Contains(mountable, podspec.Text(s, "name")) {
					return fmt.Errorf("%s with envFrom referencing secret.secretName=%q is not allowed because service account %s does not reference that secret", who, podspec.Text(s, "name"), name)
				}
			}
		}
	}
	for i, s := range names(spec, "imagePullSecrets") {
		if !slices.Contains(names(account, "imagePullSecrets"), s) {
			return fmt.Errorf("imagePullSecrets[%d].name=%q is not allowed because service account %s does not reference that imagePullSecret", i, s, name)
		}
	}
	return nil
}

// names returns the names in a list of references.
func names(object map[string]any, list string) []string {
	var names []string
	for _, reference := range podspec.Maps(object, list) {
		names = append(names, podspec.Text(reference, "name"))
	}
	return names
}

// mirrors refuses what a mirror Pod of the kubelet must not have.
func (c *call) mirrors() error {
	spec := c.spec()
	if podspec.Text(spec, "serviceAccountName") != "" {
		return c.forbidden(errors.New("a mirror pod may not reference service accounts"))
	}
	if referencesSecrets(spec) {
		return c.forbidden(errors.New("a mirror pod may not reference secrets"))
	}
	for _, v := range podspec.Maps(spec, "volumes") {
		for _, s := range podspec.Maps(podspec.Map(v, "projected"), "sources") {
			if s["serviceAccountToken"] != nil {
				return c.forbidden(errors.New("a mirror pod may not use ServiceAccountToken volume projections"))
			}
		}
	}
	return nil
}

// secretReferences are the fields of volumes that name a secret.
var secretReferences = [][]string{
	{"azureFile", "secretName"},
	{"secret", "secretName"},
	{"cephfs", "secretRef", "name"},
	{"cinder", "secretRef", "name"},
	{"flexVolume", "secretRef", "name"},
	{"rbd", "secretRef", "name"},
	{"scaleIO", "secretRef", "name"},
	{"iscsi", "secretRef", "name"},
	{"storageos", "secretRef", "name"},
	{"csi", "nodePublishSecretRef", "name"},
}

// referencesSecrets reports whether a Pod names any secret.
func referencesSecrets(spec map[string]any) bool {
	if len(podspec.Maps(spec, "imagePullSecrets")) > 0 {
		return true
	}
	for _, container := range append(podspec.Containers(spec), podspec.Maps(spec, "ephemeralContainers")...) {
		inVariable := func(v map[string]any) bool { return podspec.Map(v, "valueFrom", "secretKeyRef") != nil }
		inSource := func(s map[string]any) bool { return podspec.Map(s, "secretRef") != nil }
		if slices.ContainsFunc(podspec.Maps(container, "env"), inVariable) || slices.ContainsFunc(podspec.Maps(container, "envFrom"), inSource) {
			return true
		}
	}
	for _, v := range podspec.Maps(spec, "volumes") {
		projected := func(s map[string]any) bool { return podspec.Map(s, "secret") != nil }
		if slices.ContainsFunc(podspec.Maps(podspec.Map(v, "projected"), "sources"), projected) {
			return true
		}
		if slices.ContainsFunc(secretReferences, func(path []string) bool { return podspec.Text(v, path...) != "" }) {
			return true
		}
	}
	return false
}
