terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source = "preadmit/preadmit"
    }
    kubernetes = {
      source = "hashicorp/kubernetes"
    }
  }
}

# The plan is what admission will return. Without the function, the provider fails after
# apply, "Provider produced inconsistent result", unless every field that a policy may
# write is listed in computed_fields.
locals {
  policies = [for f in sort(fileset(path.module, "../policies/*.yaml")) : file("${path.module}/${f}")]
  context  = [file("${path.module}/../namespaces.yaml")]

  app = {
    for key, manifest in provider::preadmit::split(file("${path.module}/../manifests.yaml")) :
    key => provider::preadmit::mutate(manifest, local.policies, { context = local.context })
  }
}

resource "kubernetes_manifest" "app" {
  for_each = local.app
  manifest = jsondecode(each.value)
}
