// Command terraform-provider-preadmit is the provider of preadmit for Terraform and
// OpenTofu, which start it themselves.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/preadmit/preadmit/tfprovider"
)

// version is set by the linker.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "wait for a debugger: print how Terraform finds this process")
	flag.Parse()
	err := providerserver.Serve(context.Background(), tfprovider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/preadmit/preadmit",
		Debug:   *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
