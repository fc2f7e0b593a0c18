terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

output "keys" {
  value = keys(provider::preadmit::split(file("${path.module}/manifests.yaml")))
}
