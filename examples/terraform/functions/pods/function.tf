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

# What will run: every image in the Pods, those that policies put there included.
output "images" {
  value = distinct(flatten([
    for key, object in provider::preadmit::pods(local.manifests, local.policies) :
    jsondecode(object).spec.containers[*].image if startswith(key, "_/Pod/")
  ]))
}
