package tfprovider

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/internal/settings"
)

// deployment returns a manifest of 1.6 kB, as charts render it.
func deployment(name string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  namespace: shop
  labels:
    app.kubernetes.io/name: %[1]s
    app.kubernetes.io/instance: %[1]s
    app.kubernetes.io/managed-by: Helm
    helm.sh/chart: web-1.2.3
  annotations:
    example.com/contact: "team-shop@example.com"
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: %[1]s
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: %[1]s
    spec:
      serviceAccountName: %[1]s
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: web
        image: registry.example.com/shop/%[1]s:2.31.0
        args: ["--listen=:8080", "--config=/etc/web/config.yaml"]
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: LOG_LEVEL
          value: info
        readinessProbe:
          httpGet: {path: /healthz, port: http}
          periodSeconds: 5
        livenessProbe:
          httpGet: {path: /healthz, port: http}
          initialDelaySeconds: 20
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits: {memory: 256Mi}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        - name: config
          mountPath: /etc/web
      volumes:
      - name: config
        configMap:
          name: %[1]s
`, name)
}

// deploymentPolicy returns a policy that adds its own label to Deployments.
func deploymentPolicy(i int) string {
	return strings.NewReplacer(
		"label.example.com", fmt.Sprintf("label-%d.example.com", i),
		`""`, "apps", "[configmaps, secrets]", "[deployments]", `"mutated"`, fmt.Sprintf(`"mutated-%d"`, i),
	).Replace(labelPolicy)
}

// large returns a configuration with a thousand manifests and ten policies, which a data source
// reads.
func large(b *testing.B, provider, source string) string {
	var policies, manifests strings.Builder
	for i := range 10 {
		policies.WriteString(deploymentPolicy(i) + "---\n")
	}
	for i := range 1000 {
		manifests.WriteString(deployment(fmt.Sprintf("web-%d", i)) + "---\n")
	}
	return configuration(b, map[string]string{
		"policies.yaml":  policies.String(),
		"manifests.yaml": manifests.String(),
		"main.tf": fmt.Sprintf("terraform {\n  required_providers {\n    %[1]s = {\n      source = %[2]q\n    }\n  }\n}\n", provider, source) + `
			locals {
				manifests = [for m in split("---\n", file("${path.module}/manifests.yaml")) : m if m != ""]
			}
			data "` + provider + `_manifests" "x" {
				manifests = local.manifests
				` + map[string]string{"preadmit": `policies  = [file("${path.module}/policies.yaml")]`}[provider] + `
			}
			output "size" { value = length(data.` + provider + `_manifests.x.results) }
		`,
	})
}

// BenchmarkPlan plans a thousand manifests with ten policies, and for comparison with a data source
// that only copies its strings. cpu-s is the processor time of Terraform and the provider.
func BenchmarkPlan(b *testing.B) {
	for provider, source := range map[string]string{"preadmit": "preadmit/preadmit", "echo": "example/echo"} {
		b.Run(provider, func(b *testing.B) {
			benchmarkPlan(b, large(b, provider, source), "1000")
		})
	}
}

// benchmarkPlan plans a configuration and checks that the output contains a text.
func benchmarkPlan(b *testing.B, directory, want string) {
	c := newCLI(b, directory)
	var used time.Duration
	for b.Loop() {
		command := exec.Command(c.client, "plan")
		command.Dir, command.Env = c.directory, append(os.Environ(), c.environment...)
		if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), want) {
			b.Fatalf("%v\n%s", err, output)
		}
		used += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op")
}

// BenchmarkInstances plans a resource for each of a thousand manifests with ten policies: with the
// function in a local, with the function in the resource (one call per instance), and without the
// function.
func BenchmarkInstances(b *testing.B) {
	for form, body := range map[string]string{
		"local": `
			locals { admitted = { for key, m in local.manifests : key => provider::preadmit::mutate(m, local.policies) } }
			resource "terraform_data" "x" {
				for_each = local.admitted
				input    = each.value
			}`,
		"inline": `
			resource "terraform_data" "x" {
				for_each = local.manifests
				input    = provider::preadmit::mutate(each.value, local.policies)
			}`,
		"none": `
			resource "terraform_data" "x" {
				for_each = local.manifests
				input    = each.value
			}`,
	} {
		b.Run(form, func(b *testing.B) {
			directory := large(b, "preadmit", "preadmit/preadmit")
			writeFiles(b, map[string]string{directory + "/main.tf": required + `
				locals {
					manifests = { for i, m in split("---\n", file("${path.module}/manifests.yaml")) : "web-${i}" => m if m != "" }
					policies  = [file("${path.module}/policies.yaml")]
				}
			` + body})
			benchmarkPlan(b, directory, "1000 to add")
		})
	}
}

// BenchmarkObjects is BenchmarkInstances for objects. The first forms show that the cost is Terraform's:
// they call no function, or one that copies its argument.
func BenchmarkObjects(b *testing.B) {
	const policies = ", local.policies)"
	for form, parts := range map[string][2]string{
		"none":            {"yamldecode(m)", "each.value"},
		"copy":            {"provider::echo::copy(yamldecode(m))", "each.value"},
		"admit":           {"provider::preadmit::admit(yamldecode(m)" + policies, "each.value"},
		"mutate a text":   {"provider::preadmit::mutate(jsonencode(yamldecode(m))" + policies, "jsondecode(each.value)"},
		"admit in a body": {"m", "provider::preadmit::admit(yamldecode(each.value)" + policies},
	} {
		b.Run(form, func(b *testing.B) {
			directory := large(b, "preadmit", "preadmit/preadmit")
			writeFiles(b, map[string]string{directory + "/main.tf": strings.Replace(required, "    preadmit = {", "    echo = {\n      source = \"example/echo\"\n    }\n    preadmit = {", 1) + `
				locals {
					policies = [file("${path.module}/policies.yaml")]
					objects  = { for i, m in split("---\n", file("${path.module}/manifests.yaml")) : "web-${i}" => ` + parts[0] + ` if m != "" }
				}
				resource "terraform_data" "x" {
					for_each = local.objects
					input    = ` + parts[1] + `
				}
			`})
			benchmarkPlan(b, directory, "1000 to add")
		})
	}
}

// BenchmarkRead is the part of BenchmarkPlan inside of the provider.
func BenchmarkRead(b *testing.B) {
	c := config{}
	for i := range 10 {
		c.texts[settings.Policies] = append(c.texts[settings.Policies], text{name: fmt.Sprint(i), data: deploymentPolicy(i)})
	}
	for i := range 1000 {
		c.texts[settings.Manifests] = append(c.texts[settings.Manifests], text{name: fmt.Sprint(i), data: deployment(fmt.Sprintf("web-%d", i))})
	}
	sets := newCache(cacheSize)
	for b.Loop() {
		a := admit(b.Context(), sets, &c)
		if outputs := a.outputs(a.keys()); a.failed() || len(outputs["changed"].([]string)) != 1000 {
			b.Fatal(a.problems)
		}
	}
}

// BenchmarkStart starts the provider like Terraform, until it prints its address.
func BenchmarkStart(b *testing.B) {
	binary := filepath.Join(binaries(b), "terraform-provider-preadmit")
	for b.Loop() {
		command := exec.Command(binary)
		command.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=6")
		output, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || !strings.Contains(line, "|6|") {
			b.Fatalf("%v: %s", err, line)
		}
		b.StopTimer()
		if err := command.Process.Kill(); err != nil {
			b.Fatal(err)
		}
		_ = command.Wait() // the benchmark killed it
		b.StartTimer()
	}
}
