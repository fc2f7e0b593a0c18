terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
    helm = {
      source  = "hashicorp/helm"
      version = "~> 3.0"
    }
    kubectl = {
      source  = "alekc/kubectl"
      version = "~> 2.1"
    }
  }
}

# Renders a chart, splits it into manifests, and runs the policies on each.
data "helm_template" "shop" {
  name      = "shop"
  namespace = "shop"
  chart     = "${path.module}/chart"
}

locals {
  policies = [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")]
  context  = [file("${path.module}/namespaces.yaml")]

  # In a local, because Terraform evaluates for_each once for every instance.
  shop = {
    for key, manifest in provider::preadmit::split(data.helm_template.shop.manifest) :
    key => provider::preadmit::mutate(manifest, local.policies, { context = local.context })
  }
}

resource "kubectl_manifest" "shop" {
  for_each  = local.shop
  yaml_body = each.value
}
