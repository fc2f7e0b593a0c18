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
  policies  = [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")]
  context   = [file("${path.module}/namespaces.yaml")]
  manifests = provider::preadmit::split(file("${path.module}/manifests.yaml"))
}

output "mutated" {
  value = {
    for key, manifest in local.manifests :
    key => provider::preadmit::mutate(manifest, local.policies, { context = local.context })
  }
}
