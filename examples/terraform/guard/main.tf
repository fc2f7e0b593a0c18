terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

# Manifests that were rendered elsewhere must be what admission makes of them: a warning
# says which are not. With a precondition in place of the check it is an error.
variable "manifests" {
  type    = string
  default = "manifests.yaml"
}

check "admission_changes_nothing" {
  data "preadmit_manifests" "rendered" {
    manifest_files = ["${path.module}/${var.manifests}"]
    policy_files   = ["${path.module}/policies"]
    context_files  = ["${path.module}/namespaces.yaml"]
  }

  assert {
    condition     = length(data.preadmit_manifests.rendered.changed) == 0
    error_message = "Admission would change ${join(", ", data.preadmit_manifests.rendered.changed)}."
  }
}
