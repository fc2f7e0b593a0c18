package validation

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const urlForm = "; desired format: https://host[/path]"

// WebhookURL returns what is wrong with the URL of a webhook, in the words of k8s.io/apiserver v0.36.3
// (pkg/util/webhook). It does not repeat the user and password of a URL.
func WebhookURL(text string, at *field.Path) (problems field.ErrorList) {
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Required(at, "url must be a valid URL: "+err.Error()+urlForm)}
	}
	refuse := func(value, detail string) { problems = append(problems, field.Invalid(at, value, detail)) }
	if u.Scheme != "https" {
		refuse(u.Scheme, "'https' is the only allowed URL scheme"+urlForm)
	}
	if u.Host == "" {
		refuse(u.Host, "host must be specified"+urlForm)
	}
	if u.User != nil {
		refuse("", "user information is not permitted in the URL")
	}
	if u.Fragment != "" {
		refuse(u.Fragment, "fragments are not permitted in the URL")
	}
	if u.RawQuery != "" {
		refuse(u.RawQuery, "query parameters are not permitted in the URL")
	}
	return problems
}

// WebhookPath returns what is wrong with the path of a webhook at a service, in the words of the same
// package.
func WebhookPath(path string, at *field.Path) (problems field.ErrorList) {
	refuse := func(detail string) { problems = append(problems, field.Invalid(at, path, detail)) }
	switch path {
	case "", "/":
		return nil
	case "//":
		refuse("segment[0] may not be empty")
		return problems
	}
	if !strings.HasPrefix(path, "/") {
		refuse("must start with a '/'")
	}
	for i, step := range strings.Split(strings.TrimSuffix(path[1:], "/"), "/") {
		if step == "" {
			refuse(fmt.Sprintf("segment[%d] may not be empty", i))
			continue
		}
		for _, problem := range validation.IsDNS1123Subdomain(step) {
			refuse(fmt.Sprintf("segment[%d]: %s", i, problem))
		}
	}
	return problems
}

// checkClient checks how a server reaches the webhook of a definition. As the server does, it takes the
// name of a service for its namespace, and the namespace for the name.
func checkClient(client *apiextensions.WebhookClientConfig, at *field.Path) (problems field.ErrorList) {
	if client.URL != nil {
		return WebhookURL(*client.URL, at.Child("url"))
	}
	service, at := client.Service, at.Child("service")
	if service.Namespace == "" {
		problems = append(problems, field.Required(at.Child("name"), ""))
	}
	if service.Name == "" {
		problems = append(problems, field.Required(at.Child("namespace"), ""))
	}
	if wrong := validation.IsValidPortNum(int(service.Port)); wrong != nil {
		problems = append(problems, field.Invalid(at.Child("port"), service.Port, "port is not valid: "+strings.Join(wrong, ", ")))
	}
	if service.Path != nil {
		problems = append(problems, WebhookPath(*service.Path, at.Child("path"))...)
	}
	return problems
}
