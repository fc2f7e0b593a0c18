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

# The rendered manifests pattern: Git has the manifests as they run in the cluster, with the changes
# of policies. Files keep their comments.
data "preadmit_manifests" "app" {
  manifest_files = ["${path.module}/manifests.yaml"]
  policy_files   = ["${path.module}/policies"]
  context_files  = ["${path.module}/namespaces.yaml"]
  outputs        = ["yaml"]
}

# The stream is sensitive because it may contain Secrets. Here it does not.
resource "local_file" "stream" {
  filename = "${path.root}/rendered/app.yaml"
  content  = length(data.preadmit_manifests.app.sensitive_results) == 0 ? nonsensitive(data.preadmit_manifests.app.yaml) : ""

  lifecycle {
    precondition {
      condition     = length(data.preadmit_manifests.app.sensitive_results) == 0
      error_message = "Do not write Secrets to Git."
    }
  }
}

# Alternatively, one file for each object.
resource "local_file" "object" {
  for_each = data.preadmit_manifests.app.results
  filename = "${path.root}/rendered/${replace(each.key, "/", "_")}.json"
  content  = each.value
}
