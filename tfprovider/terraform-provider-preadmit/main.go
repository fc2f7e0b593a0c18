// Command terraform-provider-preadmit is the provider of preadmit for Terraform and
// OpenTofu, which start it themselves.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"runtime/debug"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/preadmit/preadmit/tfprovider"
)

// version is set by the linker.
var version = "dev"

// gcPercent lets the heap grow further than usual: the process lives for one command of
// Terraform, and most of what policies make is garbage soon. It saves a fifth of the
// processor time.
const gcPercent = 400

func main() {
	wait := flag.Bool("debug", false, "wait for a debugger: print how Terraform finds this process")
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	err := providerserver.Serve(context.Background(), tfprovider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/preadmit/preadmit",
		Debug:   *wait,
	})
	if err != nil {
		log.Fatal(err)
	}
}
