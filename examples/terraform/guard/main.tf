terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

# Warns if policies in the cluster would change these manifests. Use a precondition instead of the
# check to get an error.
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
