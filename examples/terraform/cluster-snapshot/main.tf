terraform {
  required_version = ">= 1.8"
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

# cluster/ is what `preadmit snapshot -o cluster/` has written: the policies of the cluster, its
# namespaces, and preadmit.yaml with its version.
data "preadmit_manifests" "app" {
  manifest_files = ["${path.module}/manifests.yaml"]
  policy_files   = ["${path.module}/cluster"]
}

# The functions take texts. fileset finds the files of the snapshot.
locals {
  cluster = [for f in sort(fileset(path.module, "cluster/**/*.yaml")) : file("${path.module}/${f}")]
  app = {
    for key, manifest in provider::preadmit::split(file("${path.module}/manifests.yaml")) :
    key => provider::preadmit::mutate(manifest, local.cluster, {})
  }
}

output "changed" {
  value = data.preadmit_manifests.app.changed
}

output "app" {
  value = local.app
}
