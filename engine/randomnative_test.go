package engine

import (
	"fmt"
	"slices"
	"strings"
)

// nativePolicy is a random MutatingAdmissionPolicy, for wider cases than those of [random.policy]: other
// kinds, updates, params, and expressions that are made for the objects.
type nativePolicy struct {
	random
	kind   randomKind
	update bool
	// params says that the policy has params, of the kind of the custom resources.
	params bool
}

// gadget is the kind of the custom resources of random cases, which [gadgetDefinition] defines.
var gadget = randomKind{"live.preadmit.dev/v1", "Gadget", "live.preadmit.dev", "gadgets", nil}

// nativeKinds are the kinds of wider cases.
var nativeKinds = slices.Concat(randomKinds, slices.DeleteFunc(slices.Clone(kyvernoKinds[len(randomKinds):]), func(k randomKind) bool {
	return k.kind == clusterKind || k.kind == "Widget"
}), []randomKind{
	gadget, gadget, gadget,
	{"apps/v1", "ReplicaSet", "apps", "replicasets", []string{"spec", "template", "spec"}},
	{"autoscaling/v2", "HorizontalPodAutoscaler", "autoscaling", "horizontalpodautoscalers", nil},
	{"policy/v1", "PodDisruptionBudget", "policy", "poddisruptionbudgets", nil},
	{"v1", "PersistentVolumeClaim", "", "persistentvolumeclaims", nil},
	{"v1", "Secret", "", "secrets", nil},
})

// gadgetDefinition has two versions of one schema with most of what a server does with custom resources:
// defaults, pruning, kinds of lists and maps, and validation.
var gadgetDefinition = gadgetVersions + strings.NewReplacer("name: v1", "name: v1beta1", "storage: true", "storage: false").Replace(gadgetVersions[strings.Index(gadgetVersions, "  - name: v1"):])

const gadgetVersions = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.live.preadmit.dev}
spec:
  group: live.preadmit.dev
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            x-kubernetes-validations:
            - {rule: "!has(self.parts) || self.parts.size() < 5", message: too many parts}
            - {rule: "!has(self.size) || !has(oldSelf.size) || self.size >= oldSelf.size", message: must not shrink}
            properties:
              size: {type: integer, default: 2, minimum: 0, maximum: 1000000}
              ratio: {type: number, multipleOf: 0.25}
              note: {type: string, nullable: true, maxLength: 20}
              mode: {type: string, enum: [fast, slow, ""], default: slow}
              port: {x-kubernetes-int-or-string: true, default: http}
              when: {type: string, format: date-time}
              data: {type: string, format: byte}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              limits: {type: object, additionalProperties: {x-kubernetes-int-or-string: true, pattern: "^[0-9.]+[a-zA-Z]*$"}}
              labels: {type: object, maxProperties: 3, additionalProperties: {type: string}}
              selector: {type: object, x-kubernetes-map-type: atomic, properties: {app: {type: string}, tier: {type: string, default: web}}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    count: {type: integer, default: 1}
                    image: {type: string}
                    tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
                    options: {type: object, nullable: true, default: {level: 1}, properties: {level: {type: integer, default: 3}, strict: {type: boolean}}}
              endpoints:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items: {type: object, required: [port], properties: {port: {type: integer}, protocol: {type: string, default: TCP}, host: {type: string}}}
              zones: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              containers: {type: array, x-kubernetes-list-type: atomic, items: {type: object, properties: {name: {type: string}, image: {type: string, default: nginx}}}}
              matrix: {type: array, maxItems: 3, items: {type: array, items: {type: integer}}}
`

func init() {
	for kind, more := range map[string][]string{
		"Gadget": {
			"spec: {size: 3, ratio: 0.5, parts: [{name: a, count: 1}, {name: b, tags: [x, z]}], zones: [z1, z2], free: {mode: fast, nested: {deep: [true, 1.0]}}}",
			"spec: {port: 80, parts: [{name: c0, image: nginx, options: {}}], endpoints: [{port: 80, host: a}, {port: 53, protocol: UDP}], containers: [{name: c0}, {name: c1, image: \"nginx:latest\"}]}",
			"spec: {size: 0, parts: [], note: null, matrix: [[1, 2], [3]], zones: [], mode: \"\", selector: {app: web}}",
			"spec: {parts: [{name: a, options: null}, {name: b, options: {level: 5, strict: true}}], limits: {cpu: 1, memory: 1Gi}, labels: {a: b, c: \"\"}, when: \"2024-01-01T00:00:00Z\", data: YWJj}",
			"spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}, unknown: 1, selector: {}}",
			`spec: {free: {f: 1.0, e: 1e3, big: 9007199254740993, neg: -1.5, nothing: null, list: [null, 1, x, {a: null}], "a b": 1, "": 2}, parts: [{name: "1", count: -1}], port: "80"}`,
			`spec: {note: "\u00e9\u4e2d\n two", mode: fast, free: {text: "true", more: "1e3"}, zones: ["", "é"], limits: {cpu: 0.5, memory: "1"}}`,
			"{}", "spec: {}", "status: {phase: Ready}", "spec: null",
		},
		"HorizontalPodAutoscaler": {
			"spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}",
			"spec: {minReplicas: 2, maxReplicas: 4, scaleTargetRef: {kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}], behavior: {scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}}}",
		},
		"PodDisruptionBudget":   {"spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}", "spec: {maxUnavailable: 50%, selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}, unhealthyPodEvictionPolicy: AlwaysAllow}"},
		"PersistentVolumeClaim": {"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", "spec: {accessModes: [ReadWriteMany, ReadWriteOnce], storageClassName: \"\", volumeMode: Block, resources: {requests: {storage: 0.5Gi}, limits: {storage: 1024Mi}}}"},
		"Secret":                {"data: {a: YWJj}", "stringData: {a: b, c: \"1\"}\ntype: example.com/x", "{}", "type: kubernetes.io/tls\ndata: {tls.crt: YQ==, tls.key: Yg==}", "immutable: true\ndata: {a: YWJj}\nstringData: {a: over}"},
	} {
		bodies[kind] = more
	}
}

// textCalls are expressions of texts that call the functions of a server; $ is another text.
var textCalls = []string{
	`$.lowerAscii()`, `$.upperAscii()`, `$.substring(1)`, `$.substring(0, 2)`, `$.charAt(0)`, `string($.indexOf("e"))`, `string($.lastIndexOf("e", 1))`, `$.find("[a-m]+")`, `$.findAll("[aeiou]").join("-")`, `$.findAll("[a-z]", 2).join()`,
	`$.split("").join(".")`, `$.split("e", 2)[0]`, `"%s has %d".format([$, size($)])`, `"%q|%.1f|%x|%e".format([$, 1.25, 255, 2.0])`, `strings.quote($)`, `(" " + $ + "\t").trim()`, `$.replace("a", "b", 1)`, `$.reverse()`,
	`string(quantity("1.5Gi").asInteger())`, `string(quantity("500m").isLessThan(quantity("1")))`, `string(quantity("2").add(quantity("500m")).asApproximateFloat())`, `string(quantity("1").sub(1).sign())`, `string(isQuantity($))`,
	`string(isURL($))`, `url("https://a.example.com:80/x?y=z").getHostname()`, `url("https://[::1]:80/x%20y").getEscapedPath()`, `string(url("https://a/?x=1&x=2").getQuery().x.size())`,
	`string(ip("10.0.0.1").family())`, `string(ip("::1").isLoopback())`, `string(cidr("10.0.0.0/8").containsIP("10.1.1.1"))`, `string(cidr("10.0.0.1/8").masked())`, `string(isIP($))`, `string(isCIDR("10.0.0.0/33"))`, `string(ip.isCanonical("::0:1"))`,
	`string(sets.contains([$], ["web"]))`, `string(sets.equivalent([1, 2], [2, 1, 1]))`, `string(sets.intersects([$], ["web", "app"]))`, `string([3, 1].sum())`, `string([1, 2].isSorted())`, `string([1, 2, 2].lastIndexOf(2))`, `string([1.5, 0.5].min())`, `[$, "b"].max()`,
	`string(format.dns1123Label().validate($).hasValue())`, `format.named("qualifiedName").value().validate("A!").value()[0]`, `format.uri().validate($).optMap(x, x.join()).orValue("valid")`,
	`string(semver("1.2.3").isLessThan(semver("1.10.0-rc.1")))`, `string(semver("v1.2", true).minor())`, `string(isSemver($))`, `string(timestamp("2024-02-29T12:30:00Z").getDayOfYear())`, `string(timestamp("2024-02-29T12:30:00Z") + duration("36h"))`, `string(timestamp("2024-02-29T12:30:00Z").getHours("Europe/Berlin"))`,
	`string(duration("90m"))`, `string(duration("1h30m").getMinutes())`, `string(int("7") + 1)`, `string(1.5e10)`, `string(double(3))`, `string(b"abc")`, `string(bytes($).size())`, `string(uint(3) * 2u)`, `string(7 % -3)`, `string(1 / 0)`, `string(-5 / 2)`,
	`type($) == string ? "s" : "n"`, `optional.of($).orValue("x")`, `optional.none().or(optional.of($)).value()`, `object.?metadata.?labels.?nope.optMap(x, x + "!").orValue("none")`, `object.?metadata.?labels.?app.optFlatMap(x, optional.ofNonZeroValue(x)).orValue("zero")`, `[?object.?metadata.?labels.?app].join()`, `{?"a": object.?metadata.?labels.?app}.map(k, k).join()`,
	`object.metadata.?labels.orValue({}).transformList(k, v, k + v).join()`, `string(object.metadata.?labels.orValue({}).transformMapEntry(k, v, {v: k}).size())`, `string(object.metadata.?labels.orValue({}).exists(k, v, k == "app" && v != ""))`, `string(["a", "b"].transformList(i, v, i > 0, v).size())`, `cel.bind(x, $, x + x)`,
	`string([1, 2, 3].exists_one(x, x > 2))`, `string({"a": 1}.all(k, k == "a"))`, `[1, 2].map(x, x > 1, string(x)).join()`, `string($.matches("^w.b$"))`, `$.endsWith("b") ? $ : "not"`, `string("é".size())`, `"a\u00e9".upperAscii()`,
	`request.resource.resource`, `request.kind.version + "/" + request.requestKind.kind`, `request.namespace == "" ? "" : "in"`, `request.dryRun ? "dry" : "wet"`, `request.?subResource.orValue("none")`, `request.operation`, `string(request.userInfo.groups.size() > 0)`, `string(has(request.options))`,
	`namespaceObject.metadata.labels["tier"]`, `string(has(namespaceObject.metadata.annotations))`, `string(namespaceObject.?spec.hasValue())`, `authorizer.group("apps").resource("deployments").namespace("x").check("get").allowed() ? "may" : "not"`, `string(authorizer.serviceAccount("a", "b").path("/x").check("get").reason().size())`,
	`object.metadata.?generateName.orValue("no")`, `string(object.metadata.?uid.hasValue())`, `string(object.?status.hasValue())`, `string(has(object.metadata.creationTimestamp))`, `string(object.metadata.?generation.orValue(-1))`,
}

// oldCalls are expressions of texts that read the object before an update.
var oldCalls = []string{
	`oldObject == null ? "new" : oldObject.metadata.name`, `string(oldObject.?metadata.?labels.?app.orValue("none"))`, `oldObject.metadata.?labels.orValue({}) == object.metadata.?labels.orValue({}) ? "same" : "other"`,
	`string(has(oldObject.metadata.uid) && !has(object.metadata.uid))`, `string(oldObject.metadata.generation)`, `string(has(oldObject.spec) && oldObject.spec == object.spec)`, `string(has(object.metadata.resourceVersion))`, `string(oldObject.metadata.?managedFields.hasValue())`,
}

// paramCalls are expressions of texts that read params, which are gadgets.
var paramCalls = []string{
	`params.metadata.name`, `string(params.spec.size)`, `params.?spec.?note.orValue("no")`, `params.spec.mode + params.metadata.labels["app"]`, `string(params == null)`, `string(has(params.spec.parts) && params.spec.parts.size() > 1)`, `string(params.spec.port)`,
	`params.spec.?zones.orValue([]).join("-")`, `string(params.metadata.namespace == object.metadata.namespace)`, `params.apiVersion`,
}

// versions are the versions of the kind, one of which the policy selects.
func (p nativePolicy) versions() []string {
	if p.kind.kind == gadget.kind {
		return []string{"v1", "v1", "v1beta1", "*"}
	}
	return []string{p.kind.apiVersion[strings.Index(p.kind.apiVersion, "/")+1:], "*"}
}

// text returns an expression of a text.
func (p nativePolicy) text(s model) string {
	calls := textCalls
	switch {
	case p.params && p.chance(40):
		calls = paramCalls
	case p.update && p.chance(40):
		calls = oldCalls
	case p.chance(30):
		return s.celText()
	}
	path, value := s.celPath()
	if _, isText := value.(string); !isText {
		path = "object.metadata.name"
	}
	return strings.ReplaceAll(oneOf(p.random, calls...), "$", path)
}

// condition returns an expression of a condition.
func (p nativePolicy) condition(s model) string {
	switch p.IntN(4) {
	case 0:
		return p.random.condition()
	case 1:
		return s.test()
	}
	return "(" + p.text(s) + ") " + oneOf(p.random, `!= "x"`, `!= ""`, `in ["web", "true", "same", "none"]`, `< "p"`, `!= "true" || object.metadata.name != "o1"`)
}

// mutation returns an expression of a mutation of a type.
func (p nativePolicy) mutation(s model, patchType string) string {
	var text string
	if patchType == "JSONPatch" {
		if text = s.celPatch(); p.chance(30) {
			text = p.patch(p.kind)
		}
		return replaceOne(p.random, text, `"new"`, p.text(s))
	}
	switch p.IntN(4) {
	case 0:
		text = p.apply(p.kind)
	case 1:
		text = fmt.Sprintf(`Object{metadata: Object.metadata{%s: {"team": %s}}}`, oneOf(p.random, "labels", "annotations", "annotations"), p.text(s))
	default:
		text = s.literal("Object", "", s.object)
	}
	text = replaceOne(p.random, text, `"new"`, p.text(s))
	if p.chance(20) {
		return p.condition(s) + " ? " + text + " : Object{}"
	}
	return text
}

// replaceOne replaces the first part of a text that is like another, in half of the cases.
func replaceOne(r random, text, old, by string) string {
	if r.chance(50) {
		return text
	}
	return strings.Replace(text, old, by, 1)
}

// documents returns the policy and its binding.
func (p nativePolicy) documents(name string) string {
	s := model{r: p.random, object: p.object(p.kind)}
	operations := "[CREATE]"
	if p.update {
		operations = oneOf(p.random, "[UPDATE]", "[CREATE, UPDATE]", `["*"]`)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %s}
spec:
  failurePolicy: %s
  reinvocationPolicy: %s
  matchConstraints:
    matchPolicy: %s
    resourceRules:
    - {apiGroups: [%q], apiVersions: [%q], operations: %s, resources: [%q]}
`, name, oneOf(p.random, "Fail", "Fail", "Ignore"), oneOf(p.random, "Never", "IfNeeded"), oneOf(p.random, "Equivalent", "Exact"),
		oneOf(p.random, p.kind.group, "*"), oneOf(p.random, p.versions()...), operations, p.kind.resource)
	if p.chance(10) {
		b.WriteString("    objectSelector: " + oneOf(p.random, "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: NotIn, values: [skip]}]}", "{matchExpressions: [{key: team, operator: DoesNotExist}]}") + "\n")
	}
	if p.chance(5) {
		fmt.Fprintf(&b, "    excludeResourceRules: [{apiGroups: [\"*\"], apiVersions: [\"*\"], operations: [\"*\"], resources: [%q], resourceNames: [o1, o2]}]\n", oneOf(p.random, p.kind.resource, "*"))
	}
	if p.params {
		fmt.Fprintf(&b, "  paramKind: {apiVersion: %s, kind: %s}\n", gadget.apiVersion, gadget.kind)
	}
	if p.chance(40) {
		fmt.Fprintf(&b, "  matchConditions:\n  - {name: c, expression: %q}\n", p.condition(s))
	}
	fmt.Fprintf(&b, "  variables:\n  - {name: team, expression: %q}\n  - {name: twice, expression: %q}\n  mutations:\n", p.text(s), oneOf(p.random, "variables.team + variables.team", `[variables.team]`, p.text(s)))
	for range 1 + p.IntN(3) {
		patchType, field := "ApplyConfiguration", "applyConfiguration"
		if p.chance(45) {
			patchType, field = "JSONPatch", "jsonPatch"
		}
		fmt.Fprintf(&b, "  - patchType: %s\n    %s: {expression: %q}\n", patchType, field, p.mutation(s, patchType))
	}
	fmt.Fprintf(&b, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: %[1]s}\nspec:\n  policyName: %[1]s\n", name)
	if p.chance(10) {
		b.WriteString("  matchResources: {objectSelector: {matchLabels: {app: web}}}\n")
	}
	if p.params {
		fmt.Fprintf(&b, "  paramRef: {%s, parameterNotFoundAction: %s}\n", oneOf(p.random, "name: settings", "name: settings", "name: settings, namespace: default", "selector: {matchLabels: {app: settings}}", "name: missing"), oneOf(p.random, "Allow", "Deny"))
	}
	return b.String()
}

// nativeManifest returns an object of a kind for wider cases.
func (r random) nativeManifest(k randomKind, name string) string {
	text := r.manifest(k, name)
	if k.kind == gadget.kind && r.chance(20) {
		text = strings.Replace(text, k.apiVersion, k.apiVersion+"beta1", 1)
	}
	if k.kind == "Job" {
		text += "      restartPolicy: " + oneOf(r, "Never", "OnFailure") + "\n"
	}
	return text
}
