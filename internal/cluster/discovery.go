package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
)

// Resource is a resource that a cluster serves.
type Resource struct {
	gvk.Resource
	Kind       string
	Namespaced bool
}

// APIVersion returns the apiVersion of its objects.
func (r Resource) APIVersion() string {
	return gvk.Kind{Group: r.Group, Version: r.Version}.APIVersion()
}

// Path returns the path of its objects, of those in a namespace if it is not empty.
func (r Resource) Path(namespace string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if namespace != "" && r.Namespaced {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	return path + "/" + r.Resource.Resource
}

// String returns its name as kubectl has it, such as deployments.apps.
func (r Resource) String() string {
	return strings.TrimSuffix(r.Resource.Resource+"."+r.Group, ".")
}

// Find returns the resource of a kind; ok is false if the cluster does not serve it. Without a
// version, it is the one that the server prefers among those that have the kind.
func (k *Kubectl) Find(ctx context.Context, kind gvk.Kind) (Resource, bool, error) {
	return k.find(ctx, kind.Group, kind.Version, func(r Resource) bool { return r.Kind == kind.Kind })
}

// FindResource returns a resource by its name in the plural; see Find.
func (k *Kubectl) FindResource(ctx context.Context, resource gvk.Resource) (Resource, bool, error) {
	return k.find(ctx, resource.Group, resource.Version, func(r Resource) bool { return r.Resource.Resource == resource.Resource })
}

func (k *Kubectl) find(ctx context.Context, group, version string, matches func(Resource) bool) (Resource, bool, error) {
	versions, err := k.versions(ctx, group)
	if err != nil {
		return Resource{}, false, err
	}
	for _, v := range versions {
		if version != "" && v != version {
			continue
		}
		served, err := k.resources(ctx, group, v)
		if err != nil {
			return Resource{}, false, err
		}
		if i := slices.IndexFunc(served, matches); i >= 0 {
			return served[i], true, nil
		}
	}
	return Resource{}, false, nil
}

// versions returns the versions of a group, the one that the server prefers first.
func (k *Kubectl) versions(ctx context.Context, group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	if k.groups != nil {
		return k.groups[group], nil
	}
	answer, err := k.Get(ctx, "/apis")
	if err != nil {
		return nil, err
	}
	var list struct {
		Groups []struct {
			Name     string
			Versions []struct{ Version string }
		}
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("the answer of the server to /apis is not complete: %w", err)
	}
	k.groups = map[string][]string{}
	for _, g := range list.Groups {
		for _, v := range g.Versions {
			k.groups[g.Name] = append(k.groups[g.Name], v.Version)
		}
	}
	return k.groups[group], nil
}

// resources returns the resources of a version of a group, without subresources.
func (k *Kubectl) resources(ctx context.Context, group, version string) ([]Resource, error) {
	path := "/apis/" + group + "/" + version
	if group == "" {
		path = "/api/" + version
	}
	if served, known := k.served[path]; known {
		return served, nil
	}
	answer, err := k.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Resources []struct {
			Name, Kind string
			Namespaced bool
		}
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("the answer of the server to %s is not complete: %w", path, err)
	}
	var served []Resource
	for _, r := range list.Resources {
		if !strings.Contains(r.Name, "/") {
			served = append(served, Resource{gvk.Resource{Group: group, Version: version, Resource: r.Name}, r.Kind, r.Namespaced})
		}
	}
	if k.served == nil {
		k.served = map[string][]Resource{}
	}
	k.served[path] = served
	return served, nil
}
