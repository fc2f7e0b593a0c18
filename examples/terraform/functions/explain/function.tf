terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

locals {
  explained = provider::preadmit::explain(
    file("${path.module}/namespaces.yaml"),
    [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")],
    { kubernetes_version = "1.36", request = { operation = "CREATE", user = { username = "ci" } } },
  )
}

output "changed" {
  value = local.explained.changed
}

output "why_not" {
  value = local.explained.not_applied[*].reason
}
