terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source = "preadmit/preadmit"
    }
    helm = {
      source = "hashicorp/helm"
    }
    kubectl = {
      source = "alekc/kubectl"
    }
  }
}

# A chart as the cluster would take it: rendered, taken apart, mutated.
data "helm_template" "shop" {
  name      = "shop"
  namespace = "shop"
  chart     = "${path.module}/chart"
}

locals {
  policies = [for f in sort(fileset(path.module, "../policies/*.yaml")) : file("${path.module}/${f}")]
  context  = [file("${path.module}/../namespaces.yaml")]
}

resource "kubectl_manifest" "shop" {
  for_each = {
    for key, manifest in provider::preadmit::split(data.helm_template.shop.manifest) :
    key => provider::preadmit::mutate(manifest, local.policies, { context = local.context })
  }
  yaml_body = each.value
}
