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
  policies = { for f in fileset(path.module, "policies/*.yaml") : f => file("${path.module}/${f}") }
  context  = { "namespaces.yaml" = file("${path.module}/namespaces.yaml") }
}

resource "terraform_data" "role" {
  input = "arn:aws:iam::123456789012:role/web"
}

# The role is not known until apply. If the plan of the result is unknown as a whole, this list says
# which policy uses which unknown value. Here it is empty.
output "unknowns" {
  value = provider::preadmit::unknowns({
    apiVersion = "v1"
    kind       = "ConfigMap"
    metadata   = { name = "web", namespace = "shop" }
    data       = { role = terraform_data.role.output }
  }, local.policies, { context = local.context })
}
