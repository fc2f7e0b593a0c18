run "admitted" {
  command = plan

  assert {
    condition     = contains(output.changed, "apps/Deployment/shop/web")
    error_message = "The policies of the snapshot change nothing: ${join(", ", output.changed)}"
  }
  assert {
    condition     = alltrue([for manifest in values(output.app) : yamldecode(manifest).metadata.labels["example.com/team"] == "payments"])
    error_message = "A manifest does not have the team of the Namespace in the snapshot."
  }
}
