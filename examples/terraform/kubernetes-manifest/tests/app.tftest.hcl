mock_provider "kubernetes" {}

run "plan" {
  command = plan

  assert {
    condition     = toset(keys(kubernetes_manifest.app)) == toset(["apps/Deployment/shop/web", "_/Service/shop/web"])
    error_message = "the keys are those of the manifests"
  }
  assert {
    condition     = kubernetes_manifest.app["apps/Deployment/shop/web"].manifest.spec.template.spec.containers[0].imagePullPolicy == "Always"
    error_message = "the policy on images is in the plan"
  }
  assert {
    condition     = kubernetes_manifest.app["_/Service/shop/web"].manifest.metadata.labels["example.com/team"] == "payments"
    error_message = "the label that the namespace knows is in the plan"
  }
}
