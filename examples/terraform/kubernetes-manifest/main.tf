terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 2.38"
    }
  }
}

# The plan has the objects that admission will return. Without the function, the provider fails with
# "Provider produced inconsistent result after apply" if a policy changes a value, map or list of the
# manifest. The option for writes all other values in the form in which the server returns them, too.
locals {
  policies = [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")]
  context  = [file("${path.module}/namespaces.yaml")]

  app = {
    for key, manifest in provider::preadmit::split(file("${path.module}/manifests.yaml")) :
    key => provider::preadmit::mutate(manifest, local.policies, { context = local.context, for = "kubernetes_manifest" })
  }
}

resource "kubernetes_manifest" "app" {
  for_each = local.app
  manifest = jsondecode(each.value)
}
