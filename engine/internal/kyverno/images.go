package kyverno

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
)

// containerLists are the fields of a pod with containers.
var containerLists = []string{"initContainers", "containers", "ephemeralContainers"}

// imagesOf returns the variable images: the parsed image references of an object, by list of
// containers and name of the container.
func imagesOf(kind gvk.Kind, object map[string]any) (any, error) {
	path := PodPath(kind.Kind)
	images := map[string]any{}
	for _, list := range containerLists {
		path := path.Key(list)
		found, _ := path.Get(object)
		containers, _ := found.([]any)
		byName := map[string]any{}
		for i, item := range containers {
			container, _ := item.(map[string]any)
			name, _ := container["name"].(string)
			image, _ := container["image"].(string)
			if image == "" {
				continue
			}
			info, err := jmespath.ParseImage(image)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path.Index(i).Key("image"), err)
			}
			info["jsonPointer"] = path.Index(i).Key("image").Pointer()
			byName[name] = info
		}
		if len(byName) > 0 {
			images[list] = byName
		}
	}
	if len(images) == 0 {
		return nil, nil
	}
	return images, nil
}
