mock_provider "local" {}

run "files" {
  assert {
    condition     = length(regexall("image: nginx:1.27 # pinned by the platform team\n        imagePullPolicy: Always\n", local_file.stream.content)) == 1
    error_message = "the comment is kept, the policy applied"
  }
  assert {
    condition     = jsondecode(local_file.object["_/Service/shop/web"].content).metadata.labels["example.com/team"] == "payments"
    error_message = "one file for each object"
  }
}
