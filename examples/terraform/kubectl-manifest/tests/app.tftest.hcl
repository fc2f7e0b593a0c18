mock_provider "kubectl" {}

variables {
  password = "correct horse battery staple"
}

# The plan succeeds although the role is not known, and the config is.
run "plan" {
  command = plan

  assert {
    condition     = toset(keys(kubectl_manifest.app)) == toset(["config", "role", "secret"])
    error_message = "all keys are known"
  }
  assert {
    condition     = jsondecode(kubectl_manifest.app["config"].yaml_body).metadata.labels["example.com/team"] == "payments"
    error_message = "the config is known"
  }
}

run "apply" {
  assert {
    condition     = jsondecode(kubectl_manifest.app["role"].yaml_body).data.role == terraform_data.role.output
    error_message = "the role is known now"
  }
  assert {
    condition     = issensitive(local.mutated["secret"]) && !issensitive(local.mutated["config"])
    error_message = "the Secret is sensitive, and only it"
  }
}
