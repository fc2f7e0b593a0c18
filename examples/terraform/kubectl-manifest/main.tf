terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
    kubectl = {
      source  = "alekc/kubectl"
      version = "~> 2.1"
    }
  }
}

# A value that is known only after apply, and a sensitive value. The plan still has all keys, and
# every manifest that does not contain the unknown value.
resource "terraform_data" "role" {
  input = "arn:aws:iam::123456789012:role/web"
}

variable "password" {
  type      = string
  sensitive = true
}

locals {
  policies = [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")]
  context  = [file("${path.module}/namespaces.yaml")]

  manifests = {
    config = jsonencode({
      apiVersion = "v1", kind = "ConfigMap", metadata = { name = "web", namespace = "shop" }
      data       = { greeting = "hello" }
    })
    role = jsonencode({
      apiVersion = "v1", kind = "ConfigMap", metadata = { name = "role", namespace = "shop" }
      data       = { role = terraform_data.role.output }
    })
    secret = jsonencode({
      apiVersion = "v1", kind = "Secret", metadata = { name = "db", namespace = "shop" }
      stringData = { password = var.password }
    })
  }

  mutated = {
    for key, manifest in local.manifests :
    key => provider::preadmit::mutate(manifest, local.policies, { context = local.context, for = "kubectl_manifest" })
  }
}

resource "kubectl_manifest" "app" {
  for_each  = local.mutated
  yaml_body = each.value # JSON is YAML
}
