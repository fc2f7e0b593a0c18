terraform {
  required_version = ">= 1.0"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

data "preadmit_manifests" "app" {
  manifest_files = ["${path.module}/manifests.yaml"]
  policy_files   = ["${path.module}/policies"]
  context_files  = ["${path.module}/namespaces.yaml"]
}

# One resource for each manifest. Use each.value, not data.….results[each.key].
resource "terraform_data" "app" {
  for_each = data.preadmit_manifests.app.results
  input    = jsondecode(each.value)
}

output "changed" {
  value = data.preadmit_manifests.app.changed
}
