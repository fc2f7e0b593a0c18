terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
    local = {
      source  = "hashicorp/local"
      version = "~> 2.5"
    }
  }
}

# The rendered manifests pattern: what runs in the cluster is in Git, admission included.
# Each file is written as it was, comments and all, but for what policies change.
data "preadmit_manifests" "app" {
  manifest_files = ["${path.module}/manifests.yaml"]
  policy_files   = ["${path.module}/policies"]
  context_files  = ["${path.module}/namespaces.yaml"]
  outputs        = ["yaml"]
}

# The stream is sensitive because it may hold Secrets. Here it holds none.
resource "local_file" "stream" {
  filename = "${path.root}/rendered/app.yaml"
  content  = length(data.preadmit_manifests.app.sensitive_results) == 0 ? nonsensitive(data.preadmit_manifests.app.yaml) : ""

  lifecycle {
    precondition {
      condition     = length(data.preadmit_manifests.app.sensitive_results) == 0
      error_message = "Secrets do not belong into Git."
    }
  }
}

# Or one file for each object.
resource "local_file" "object" {
  for_each = data.preadmit_manifests.app.results
  filename = "${path.root}/rendered/${replace(each.key, "/", "_")}.json"
  content  = each.value
}
