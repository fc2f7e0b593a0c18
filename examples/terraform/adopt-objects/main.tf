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
    kubectl = {
      source  = "alekc/kubectl"
      version = "~> 2.1"
    }
  }
}

locals {
  policies  = [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")]
  context   = [file("${path.module}/namespaces.yaml")]
  manifests = provider::preadmit::split(file("${path.module}/manifests.yaml"))
}

resource "kubernetes_manifest" "web" {
  manifest = jsondecode(provider::preadmit::mutate(local.manifests["apps/Deployment/shop/web"], local.policies, {
    context = local.context, for = "kubernetes_manifest"
  }))
  # Another client has created the object and owns its fields. Without this, a later change of one of
  # them is a conflict.
  field_manager {
    force_conflicts = true
  }
}

resource "kubectl_manifest" "web" {
  yaml_body = provider::preadmit::mutate(local.manifests["_/Service/shop/web"], local.policies, {
    context = local.context, for = "kubectl_manifest"
  })
}
