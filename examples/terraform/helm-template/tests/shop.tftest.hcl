mock_provider "kubectl" {}

mock_provider "helm" {
  # Output of Helm 3: it starts with a separator, and has a comment with the name of each template.
  mock_data "helm_template" {
    defaults = {
      manifest = <<-EOT
        ---
        # Source: shop/templates/service.yaml
        apiVersion: v1
        kind: Service
        metadata:
          name: shop
          namespace: shop
        spec:
          ports:
          - port: 80
        ---
        # Source: shop/templates/empty.yaml
        ---
        # Source: shop/templates/config.yaml
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: shop
          namespace: shop
      EOT
    }
  }
}

run "plan" {
  command = plan

  assert {
    condition     = toset(keys(kubectl_manifest.shop)) == toset(["_/Service/shop/shop", "_/ConfigMap/shop/shop"])
    error_message = "one resource for each object of the chart"
  }
  assert {
    condition     = alltrue([for m in kubectl_manifest.shop : jsondecode(m.yaml_body).metadata.labels["example.com/team"] == "payments"])
    error_message = "the policies apply to the chart"
  }
}
