terraform {
  required_version = ">= 1.8" # the first with functions; the data source works before
  required_providers {
    preadmit = {
      source  = "preadmit/preadmit"
      version = "~> 0.1"
    }
  }
}

# All arguments are optional. They are defaults for the data source. Functions do not see them.
provider "preadmit" {
  kubernetes_version = "1.36"
  namespace          = "shop"
}
