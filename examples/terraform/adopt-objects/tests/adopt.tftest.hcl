mock_provider "kubernetes" {}
mock_provider "kubectl" {}

# A mock imports nothing.
override_resource {
  target = kubernetes_manifest.web
}

override_resource {
  target = kubectl_manifest.web
}

run "plan" {
  command = plan

  assert {
    condition     = kubernetes_manifest.web.manifest.spec.template.spec.containers[0].imagePullPolicy == "Always"
    error_message = "the plan has the pull policy that the cluster set"
  }
  assert {
    condition     = jsondecode(kubectl_manifest.web.yaml_body).metadata.labels["example.com/team"] == "payments"
    error_message = "the plan has the label that the cluster set"
  }
}
