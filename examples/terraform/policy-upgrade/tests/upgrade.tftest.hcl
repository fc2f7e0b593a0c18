mock_provider "kubernetes" {}
mock_provider "kubectl" {}

run "now" {
  assert {
    condition     = kubernetes_manifest.web.manifest.metadata.labels["example.com/team"] == "payments"
    error_message = "the label of the policies in the cluster"
  }
}

run "next" {
  command = plan
  variables {
    policies = "policies-next"
  }

  assert {
    condition     = kubernetes_manifest.web.manifest.metadata.labels["example.com/team"] == "team-payments"
    error_message = "the plan has the label of the next policies"
  }
  assert {
    condition     = jsondecode(kubectl_manifest.web.yaml_body).metadata.labels["example.com/team"] == "team-payments"
    error_message = "for both resources"
  }
}
