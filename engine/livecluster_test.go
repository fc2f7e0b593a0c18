package engine

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// liveCluster is an API server, accessed with plain HTTP.
type liveCluster struct {
	client        *http.Client
	server, token string
	// id distinguishes the objects of this run from others.
	id string
	// options are the options of our requests to this server.
	options Options
	// resources are the kinds of the group versions that were requested.
	resources map[string]map[string]liveResource
	// paramKinds are the paramKinds of the installed policies.
	paramKinds map[gvk.Kind]bool
}

// liveResource is the discovery information about a kind.
type liveResource struct {
	Name       string
	Kind       string
	Namespaced bool
}

// connect connects to the cluster of KUBECONFIG and reads its version and discovery.
func connect(t *testing.T) *liveCluster {
	path, _, _ := strings.Cut(os.Getenv("KUBECONFIG"), string(os.PathListSeparator))
	c := &liveCluster{id: strings.ToLower(rand.Text()[:8]), resources: map[string]map[string]liveResource{}, paramKinds: map[gvk.Kind]bool{}}
	c.configure(t, path)
	var version struct{ Major, Minor string }
	c.get(t, "/version", &version)
	c.options = Options{
		KubernetesVersion: version.Major + "." + strings.TrimSuffix(version.Minor, "+"),
		DryRun:            true, User: c.whoAmI(t), NonIdempotent: "skip", FieldValidation: FieldValidationStrict,
	}
	if _, known := minorVersion(c.options.KubernetesVersion); !known {
		t.Skipf("the cluster is of version %s", c.options.KubernetesVersion)
	}
	if c.mayDoAnything() {
		c.options.Authorizer = "allow"
	}
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		if _, served := c.resource(policyGroup+version, "MutatingAdmissionPolicy"); !served {
			continue
		}
		var list struct {
			Items []struct {
				Spec struct {
					ParamKind struct{ APIVersion, Kind string }
				}
			}
		}
		c.get(t, "/apis/"+policyGroup+version+"/mutatingadmissionpolicies", &list)
		for _, p := range list.Items {
			c.paramKinds[gvk.Parse(p.Spec.ParamKind.APIVersion, p.Spec.ParamKind.Kind)] = true
		}
		return c
	}
	t.Skip("the cluster does not serve MutatingAdmissionPolicies")
	return nil
}

const policyGroup = "admissionregistration.k8s.io/"

// kubeconfig has the fields of a kubeconfig that the test uses.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server      string
			CA          string `json:"certificate-authority"`
			CAData      string `json:"certificate-authority-data"`
			Insecure    bool   `json:"insecure-skip-tls-verify"`
			TLSHostname string `json:"tls-server-name"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Token, TokenFile string
			Certificate      string `json:"client-certificate"`
			CertificateData  string `json:"client-certificate-data"`
			Key              string `json:"client-key"`
			KeyData          string `json:"client-key-data"`
		}
	}
}

// configure reads the kubeconfig. It supports tokens and client certificates, but no plug-ins.
func (c *liveCluster) configure(t *testing.T, path string) {
	var config kubeconfig
	decode(t, manifest.JSON(readFile(t, path).Documents()[0].Object()), &config)
	read := func(name, data string) []byte {
		if data != "" {
			decoded, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			return decoded
		}
		if name == "" {
			return nil
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var secure tls.Config
	for _, context := range config.Contexts {
		if context.Name != config.CurrentContext {
			continue
		}
		for _, cluster := range config.Clusters {
			if cluster.Name == context.Context.Cluster {
				c.server = strings.TrimSuffix(cluster.Cluster.Server, "/")
				secure.ServerName, secure.InsecureSkipVerify = cluster.Cluster.TLSHostname, cluster.Cluster.Insecure
				if authority := read(cluster.Cluster.CA, cluster.Cluster.CAData); authority != nil {
					secure.RootCAs = x509.NewCertPool()
					secure.RootCAs.AppendCertsFromPEM(authority)
				}
			}
		}
		for _, user := range config.Users {
			if user.Name == context.Context.User {
				c.token = cmp.Or(user.User.Token, strings.TrimSpace(string(read(user.User.TokenFile, ""))))
				if certificate := read(user.User.Certificate, user.User.CertificateData); certificate != nil {
					pair, err := tls.X509KeyPair(certificate, read(user.User.Key, user.User.KeyData))
					if err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					secure.Certificates = append(secure.Certificates, pair)
				}
			}
		}
	}
	if c.server == "" || c.token == "" && secure.Certificates == nil {
		t.Fatalf("%s: want a current context with a server, and a user with a token or a client certificate", path)
	}
	c.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &secure, Proxy: http.ProxyFromEnvironment}}
}

// send makes a request. Without an answer the code is zero, and the body is the reason.
func (c *liveCluster) send(method, path string, object map[string]any) (code int, body []byte) {
	code, _, body = c.exchange(method, path, object)
	return code, body
}

// exchange is send, with the header of the answer.
func (c *liveCluster) exchange(method, path string, object map[string]any) (code int, header http.Header, body []byte) {
	var payload io.Reader
	if object != nil {
		payload = bytes.NewReader(manifest.JSON(object))
	}
	request, err := http.NewRequest(method, c.server+path, payload)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	return response.StatusCode, response.Header, body
}

// get reads an answer that must exist.
func (c *liveCluster) get(t *testing.T, path string, into any) {
	t.Helper()
	code, body := c.send(http.MethodGet, path, nil)
	if code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, code, body)
	}
	decode(t, body, into)
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// whoAmI returns the user that the server sees.
func (c *liveCluster) whoAmI(t *testing.T) policy.User {
	var review struct {
		Status struct {
			UserInfo struct {
				Username, UID string
				Groups        []string
				Extra         map[string][]string
			}
		}
	}
	code, body := c.send(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
		map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
	if code != http.StatusCreated {
		t.Fatalf("who am I: %d %s", code, body)
	}
	decode(t, body, &review)
	info := review.Status.UserInfo
	return policy.User{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: info.Extra}
}

// mayDoAnything reports whether the authorizer allows us everything.
func (c *liveCluster) mayDoAnything() bool {
	for _, attributes := range []map[string]any{
		{"resourceAttributes": map[string]any{"group": "*", "resource": "*", "verb": "*"}},
		{"nonResourceAttributes": map[string]any{"path": "*", "verb": "*"}},
	} {
		code, body := c.send(http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": attributes})
		var review struct{ Status struct{ Allowed bool } }
		if code != http.StatusCreated || json.Unmarshal(body, &review) != nil || !review.Status.Allowed {
			return false
		}
	}
	return true
}

// resource returns the resource of a kind.
func (c *liveCluster) resource(apiVersion, kind string) (liveResource, bool) {
	kinds, asked := c.resources[apiVersion]
	if !asked {
		kinds = map[string]liveResource{}
		c.resources[apiVersion] = kinds
		var list struct{ Resources []liveResource }
		if code, body := c.send(http.MethodGet, apiPath(apiVersion), nil); code == http.StatusOK && json.Unmarshal(body, &list) == nil {
			for _, r := range list.Resources {
				if !strings.Contains(r.Name, "/") {
					kinds[r.Kind] = r
				}
			}
		}
	}
	r, served := kinds[kind]
	return r, served
}

func apiPath(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}

// path returns the path for creating objects of a kind.
func (c *liveCluster) path(kind gvk.Kind, namespace string) string {
	r, _ := c.resource(kind.APIVersion(), kind.Kind)
	if !r.Namespaced {
		return apiPath(kind.APIVersion()) + "/" + r.Name
	}
	return apiPath(kind.APIVersion()) + "/namespaces/" + namespace + "/" + r.Name
}

// hasDefinition reports whether the cluster has a CustomResourceDefinition with the same versions.
func (c *liveCluster) hasDefinition(view map[string]any) bool {
	var have, want struct {
		Spec struct {
			Scope    string
			Versions []any
		}
	}
	decoded := json.Unmarshal(manifest.JSON(view), &want)
	name, _ := view["metadata"].(map[string]any)["name"].(string)
	code, body := c.send(http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name, nil)
	return decoded == nil && code == http.StatusOK && json.Unmarshal(body, &have) == nil && have.Spec.Scope == want.Spec.Scope &&
		slices.EqualFunc(have.Spec.Versions, want.Spec.Versions, func(a, b any) bool { return bytes.Equal(manifest.JSON(a), manifest.JSON(b)) })
}

// create creates an object, and deletes it at the end of the test.
func (c *liveCluster) create(t *testing.T, object map[string]any, kind gvk.Kind, namespace, name string) {
	t.Helper()
	path := c.path(kind, namespace)
	if code, body := c.send(http.MethodPost, path, object); code != http.StatusCreated {
		t.Fatalf("%s %s/%s cannot be created: %d %s", kind, namespace, name, code, body)
	}
	t.Cleanup(func() {
		for range 5 {
			code, body := c.send(http.MethodDelete, path+"/"+name, nil)
			if code == http.StatusOK || code == http.StatusAccepted || code == http.StatusNotFound {
				return
			}
			t.Logf("%s/%s cannot be deleted yet: %d %s", path, name, code, body)
			time.Sleep(time.Second)
		}
		t.Errorf("%s/%s is left behind: delete it", path, name)
	})
}

// define creates a CustomResourceDefinition, and returns when its kind is served.
func (c *liveCluster) define(t *testing.T, definition string, k randomKind) {
	t.Helper()
	d := readText(t, k.kind, definition).Documents()[0]
	object := d.Object()
	put(object, c.id, "metadata", "labels", liveLabel)
	c.create(t, object, d.Kind(), "", d.Name())
	for range 100 {
		if code, _ := c.send(http.MethodGet, apiPath(k.apiVersion)+"/namespaces/default/"+k.resource, nil); code == http.StatusOK {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the server does not serve %s after ten seconds", k.kind)
}

// awaitPolicies returns when all policies that were written before are in force. It waits for a
// separate policy that is written last.
func (c *liveCluster) awaitPolicies(t *testing.T) {
	t.Helper()
	name := "preadmit-live-" + strings.ToLower(rand.Text()[:8])
	namespace := name
	c.create(t, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": c.metadata(namespace)}, namespaceKind, "", namespace)
	version := newestPolicyVersion(mustMinor(c.options.KubernetesVersion))
	policy := gvk.Parse(policyGroup+version, "MutatingAdmissionPolicy")
	c.create(t, map[string]any{
		"apiVersion": policy.APIVersion(), "kind": policy.Kind, "metadata": c.metadata(name),
		"spec": map[string]any{
			"matchConstraints": map[string]any{
				"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": namespace}},
				"resourceRules": []any{map[string]any{
					"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"CREATE"}, "resourceNames": []any{name},
				}},
			},
			"reinvocationPolicy": "Never",
			"mutations": []any{map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{
				"expression": `Object{data: {"in": "force"}}`,
			}}},
		},
	}, policy, "", name)
	binding := gvk.Parse(policyGroup+version, "MutatingAdmissionPolicyBinding")
	c.create(t, map[string]any{
		"apiVersion": binding.APIVersion(), "kind": binding.Kind, "metadata": c.metadata(name), "spec": map[string]any{"policyName": name},
	}, binding, "", name)
	for range 300 {
		code, body := c.send(http.MethodPost, "/api/v1/namespaces/"+namespace+"/configmaps?dryRun=All",
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}})
		var answer struct{ Data map[string]string }
		if code == http.StatusCreated && json.Unmarshal(body, &answer) == nil && answer.Data["in"] == "force" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("policies do not come into force within 30 seconds")
}

func mustMinor(version string) int {
	minor, _ := minorVersion(version)
	return minor
}

// metadata returns the metadata of an object that we create.
func (c *liveCluster) metadata(name string) map[string]any {
	return map[string]any{"name": name, "labels": map[string]any{liveLabel: c.id}}
}

// ask sends an object as a dry run and returns the object that the server would store, or its
// message. updated is the name of the object that it updates; "" creates one.
func (c *liveCluster) ask(t *testing.T, kind gvk.Kind, namespace, updated string, object map[string]any) liveAnswer {
	t.Helper()
	method, path := http.MethodPost, c.path(kind, namespace)
	if updated != "" {
		method, path = http.MethodPut, path+"/"+updated
	}
	code, header, body := c.exchange(method, path+"?dryRun=All&fieldValidation=Strict&fieldManager=preadmit", object)
	if code == 0 {
		return liveAnswer{message: string(body)}
	}
	answer := liveAnswer{code: code, warnings: warningTexts(header), object: readText(t, "answer", string(body)).Documents()[0].Object()}
	if code >= 300 {
		answer.message, _ = answer.object["message"].(string)
		return answer
	}
	metadata, _ := answer.object["metadata"].(map[string]any)
	for _, name := range []string{"uid", "creationTimestamp", "managedFields", "resourceVersion"} {
		delete(metadata, name)
	}
	return answer
}

type liveAnswer struct {
	code     int
	message  string
	warnings []string
	object   map[string]any
}

// warningTexts returns the texts of the warnings in the header of an answer.
func warningTexts(header http.Header) (texts []string) {
	unescape := strings.NewReplacer(`\"`, `"`, `\\`, `\`)
	for _, warning := range header.Values("Warning") {
		texts = append(texts, unescape.Replace(strings.TrimSuffix(strings.TrimPrefix(warning, `299 - "`), `"`)))
	}
	return texts
}

// String returns the answer as text, for answers without an object.
func (a liveAnswer) String() string { return fmt.Sprintf("%d %q", a.code, a.message) }
