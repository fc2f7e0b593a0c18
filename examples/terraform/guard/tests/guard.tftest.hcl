run "changes" {
  command         = plan
  expect_failures = [check.admission_changes_nothing]
}

run "no_changes" {
  command = plan
  variables {
    manifests = "admitted.yaml"
  }
}
