package builtin

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/podspec"
	"github.com/preadmit/preadmit/engine/policy"
)

// containerLists are the lists of containers of a Pod.
var containerLists = []string{"initContainers", "containers", "ephemeralContainers"}

// pullImages sets the pull policy of all images of a Pod to Always.
func pullImages(c *call) error {
	if keepsImages(c) {
		return nil
	}
	for _, list := range containerLists {
		for _, container := range podspec.Maps(c.spec(), list) {
			container["imagePullPolicy"] = "Always"
		}
	}
	for _, v := range podspec.Maps(c.spec(), "volumes") {
		if image := podspec.Map(v, "image"); image != nil {
			image["pullPolicy"] = "Always"
		}
	}
	return nil
}

// keepsImages reports whether the request is an update that adds no image.
func keepsImages(c *call) bool {
	if c.request.Operation != policy.Update {
		return false
	}
	before := imagesOf(podspec.Map(c.request.OldObject, "spec"))
	return !slices.ContainsFunc(imagesOf(c.spec()), func(image string) bool { return !slices.Contains(before, image) })
}

func imagesOf(spec map[string]any) []string {
	var images []string
	for _, list := range containerLists {
		for _, container := range podspec.Maps(spec, list) {
			images = append(images, podspec.Text(container, "image"))
		}
	}
	return images
}

// pulledImages refuses Pods with another pull policy than Always.
func pulledImages(c *call) error {
	if keepsImages(c) {
		return nil
	}
	var errs []error
	check := func(field, value string) {
		if value != "Always" {
			errs = append(errs, c.forbidden(fmt.Errorf("%s: Unsupported value: %q: supported values: \"Always\"", field, value)))
		}
	}
	for _, list := range containerLists {
		for i, container := range podspec.Maps(c.spec(), list) {
			check(fmt.Sprintf("spec.%s[%d].imagePullPolicy", list, i), podspec.Text(container, "imagePullPolicy"))
		}
	}
	for i, v := range podspec.Maps(c.spec(), "volumes") {
		if image := podspec.Map(v, "image"); image != nil {
			check(fmt.Sprintf("spec.volumes[%d].image.pullPolicy", i), podspec.Text(image, "pullPolicy"))
		}
	}
	return aggregate(errs)
}
