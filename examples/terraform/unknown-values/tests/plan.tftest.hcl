mock_provider "kubernetes" {}

run "plan" {
  command = plan

  assert {
    condition     = alltrue([for key, uses in output.unknowns : length(uses) == 0])
    error_message = "no result is unknown as a whole"
  }
  assert {
    condition     = kubernetes_manifest.app["account"].manifest.metadata.labels["example.com/team"] == "payments"
    error_message = "the label is in the plan of an object with an unknown role"
  }
  assert {
    condition     = kubernetes_manifest.app["account"].manifest.data.region == "eu-west-1"
    error_message = "other values of the same map are known"
  }
  assert {
    condition     = kubernetes_manifest.app["password"].manifest.kind == "Secret" && keys(kubernetes_manifest.app["password"].manifest.data) == ["password"]
    error_message = "the keys of stringData are in data, as the server stores them"
  }
  assert {
    condition     = kubernetes_manifest.app["named"].manifest.metadata.labels["example.com/team"] == "payments"
    error_message = "an object with a generated name has its label in the plan"
  }
  assert {
    condition     = kubernetes_manifest.app["web"].manifest.spec.template.spec.containers[0].imagePullPolicy == "Always"
    error_message = "the container has its pull policy in the plan"
  }
}

run "apply" {
  command = apply

  assert {
    condition     = kubernetes_manifest.app["password"].manifest.data.password == base64encode("open sesame")
    error_message = "the password is known after apply"
  }
}
