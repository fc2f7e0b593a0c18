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
  policies = [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")]
  manifests = merge(
    provider::preadmit::split(file("${path.module}/manifests.yaml")),
    provider::preadmit::split(file("${path.module}/namespaces.yaml")), # context for the others
  )
}

locals {
  report = provider::preadmit::report(local.manifests, local.policies)
}

# Warnings do not stop the plan in a check block. In a precondition, they do.
check "policies" {
  assert {
    condition     = length(local.report.warnings) == 0
    error_message = join("\n", local.report.warnings)
  }
}

output "mutated" {
  value = local.report.results
}

output "changed" {
  value = local.report.changed
}
