// Command argocd-cmp-server is the server of config management plugins, as it runs in a
// sidecar of Argo CD's repository server, without the rest of Argo CD.
package main

import (
	"os"

	"github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
)

func main() {
	if err := commands.NewCommand().Execute(); err != nil {
		os.Exit(1)
	}
}
