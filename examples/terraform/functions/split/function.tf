output "keys" {
  value = keys(provider::preadmit::split(file("${path.module}/manifests.yaml")))
}
