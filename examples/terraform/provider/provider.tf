terraform {
  required_version = ">= 1.8" # the first with functions; the data source works before
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

# There is nothing to configure.
provider "preadmit" {}
