// Command terraform-provider-preadmit is the preadmit provider. Terraform and OpenTofu start it.
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

// gcPercent is the value of GOGC. It lets the heap grow more than usual, because the process lives
// only for one command of Terraform. This saves a fifth of the processor time.
const gcPercent = 400

func main() {
	wait := flag.Bool("debug", false, "wait for a debugger, and print how Terraform connects to this process")
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

// stop stops the running calls of the server whenever the user presses Ctrl-C. Terraform only asks
// configured providers to stop, but also calls functions of providers that are not configured.
func stop(server tfprotov6.ProviderServer) {
	pressed := make(chan os.Signal, 1)
	signal.Notify(pressed, os.Interrupt)
	for range pressed {
		_, _ = server.StopProvider(context.Background(), &tfprotov6.StopProviderRequest{}) // it returns no errors
	}
}
