package workload

import (
	"strconv"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

const (
	revisionLabel = "controller-revision-hash"
	podNameLabel  = "statefulset.kubernetes.io/pod-name"
	podIndexLabel = "apps.kubernetes.io/pod-index"
)

// statefulPod returns the PersistentVolumeClaims and the first Pod of a StatefulSet.
func statefulPod(owner map[string]any, _ int) []Made {
	spec := podspec.Map(owner, "spec")
	start, _ := podspec.Int(spec, "ordinals", "start")
	ordinal := strconv.FormatInt(start, 10)
	name := Name(owner) + "-" + ordinal
	pod := podOf(owner, podspec.Map(spec, "template"))
	m := podspec.Map(pod, "metadata")
	m["name"] = name
	labels := podspec.Ensure(m, "labels")
	labels[podNameLabel], labels[podIndexLabel] = name, ordinal
	labels[revisionLabel] = revision(owner)
	podSpec := podspec.Map(pod, "spec")
	podSpec["hostname"] = name
	if service := podspec.Text(spec, "serviceName"); service != "" {
		podSpec["subdomain"] = service
	} else {
		delete(podSpec, "subdomain")
	}
	claims := claims(owner, name)
	mountClaims(podSpec, claims)
	var made []Made
	for i, c := range claims {
		made = append(made, Made{Kind: ClaimKind, Object: c.object, From: change.Keys("spec", "volumeClaimTemplates").Index(i), Later: keeps(owner)})
	}
	return append(made, madePod(pod))
}

// claim is a PersistentVolumeClaim for one of the templates of a StatefulSet.
type claim struct {
	template string
	object   map[string]any
}

// claims returns the PersistentVolumeClaims of a Pod of a StatefulSet.
func claims(owner map[string]any, pod string) []claim {
	spec := podspec.Map(owner, "spec")
	var claims []claim
	for _, template := range podspec.Maps(spec, "volumeClaimTemplates") {
		name := podspec.Text(template, "metadata", "name")
		c := change.CloneObject(template)
		c["apiVersion"], c["kind"] = "v1", ClaimKind.Kind
		m := podspec.Ensure(c, "metadata")
		m["name"] = name + "-" + pod
		if namespace := podspec.Text(owner, "metadata", "namespace"); namespace != "" {
			m["namespace"] = namespace
		}
		for key, value := range podspec.Map(spec, "selector", "matchLabels") {
			podspec.Ensure(m, "labels")[key] = value
		}
		claims = append(claims, claim{name, c})
	}
	return claims
}

// keeps returns the owner references of claims that are deleted with their StatefulSet.
func keeps(owner map[string]any) []any {
	if podspec.Text(owner, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") != "Delete" {
		return nil
	}
	return []any{reference(StatefulSetKind, owner)}
}

// mountClaims adds the volumes of its claims to a Pod. They replace volumes of the same names.
// The order of several claims is random in a cluster.
func mountClaims(podSpec map[string]any, claims []claim) {
	var volumes []any
	claimed := map[string]bool{}
	for _, c := range claims {
		claimed[c.template] = true
		volumes = append(volumes, map[string]any{
			"name": c.template, "persistentVolumeClaim": map[string]any{"claimName": podspec.Text(c.object, "metadata", "name")},
		})
	}
	for _, v := range podspec.Maps(podSpec, "volumes") {
		if !claimed[podspec.Text(v, "name")] {
			volumes = append(volumes, v)
		}
	}
	if len(volumes) > 0 {
		podSpec["volumes"] = volumes
	}
}
