// Command terraform-provider-preadmit is the provider of preadmit for Terraform and
// OpenTofu, which start it themselves.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

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
	server := tfprovider.NewServer(version)
	go stop(server)
	var options []tf6server.ServeOpt
	if *wait {
		options = append(options, tf6server.WithManagedDebug())
	}
	err := tf6server.Serve("registry.terraform.io/preadmit/preadmit", func() tfprotov6.ProviderServer { return server }, options...)
	if err != nil {
		log.Fatal(err)
	}
}

// stop ends what the server is about whenever somebody presses Ctrl-C. Terraform asks
// those providers to stop that it has configured, and calls functions of others.
func stop(server tfprotov6.ProviderServer) {
	pressed := make(chan os.Signal, 1)
	signal.Notify(pressed, os.Interrupt)
	for range pressed {
		_, _ = server.StopProvider(context.Background(), &tfprotov6.StopProviderRequest{}) // it has no errors
	}
}
