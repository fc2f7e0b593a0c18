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

# These values are not known before apply: a role, a password and a generated name.
resource "terraform_data" "role" {
  input = "arn:aws:iam::123456789012:role/web"
}

resource "terraform_data" "password" {
  input = "open sesame"
}

resource "terraform_data" "suffix" {
  input = "7f3a"
}

locals {
  policies = [for f in sort(fileset(path.module, "policies/*.yaml")) : file("${path.module}/${f}")]
  options  = { context = [file("${path.module}/namespaces.yaml")], for = "kubernetes_manifest" }

  # Objects, not texts: in a text, one unknown value makes the whole text unknown.
  objects = {
    account = {
      apiVersion = "v1", kind = "ConfigMap", metadata = { name = "account", namespace = "shop" }
      data       = { role = terraform_data.role.output, region = "eu-west-1" }
    }
    password = {
      apiVersion = "v1", kind = "Secret", metadata = { name = "password", namespace = "shop" }, type = "Opaque"
      stringData = { password = terraform_data.password.output }
    }
    named = {
      apiVersion = "v1", kind = "ConfigMap", metadata = { name = "web-${terraform_data.suffix.output}", namespace = "shop" }
      data       = { greeting = "hello" }
    }
    web = {
      apiVersion = "apps/v1", kind = "Deployment", metadata = { name = "web", namespace = "shop" }
      spec = {
        selector = { matchLabels = { app = "web" } }
        template = {
          metadata = { labels = { app = "web" }, annotations = { "example.com/role" = terraform_data.role.output } }
          spec = {
            containers = [{
              name = "web", image = "nginx:1.27"
              env  = [{ name = "PASSWORD", value = terraform_data.password.output }]
            }]
          }
        }
      }
    }
  }
}

resource "kubernetes_manifest" "app" {
  for_each = local.objects
  manifest = provider::preadmit::admit(each.value, local.policies, local.options)
}

# Empty lists: no result is unknown as a whole. Otherwise they say which policy uses which value.
output "unknowns" {
  value = { for key, object in local.objects : key => provider::preadmit::unknowns(object, local.policies, local.options) }
}
