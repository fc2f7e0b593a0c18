// Command cmpclient asks a config management plugin what Argo CD's repository server
// asks it, with Argo CD's own client, and prints the answer as JSON:
//
//	cmpclient SOCKET match|parameters|generate REPOSITORY APPLICATION [NAME=VALUE…]
//
// APPLICATION is a directory in the directory REPOSITORY. The variables are those that
// the repository server sets.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/cmp"
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: cmpclient SOCKET match|parameters|generate REPOSITORY APPLICATION [NAME=VALUE…]")
		os.Exit(2)
	}
	answer, err := ask(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stream sends a repository and receives an answer.
type stream[A any] interface {
	cmp.StreamSender
	CloseAndRecv() (A, error)
}

func ask(ctx context.Context, socket, question, repository, application string, env []string) (any, error) {
	connection, client, err := apiclient.NewConfigManagementPluginClientSet(socket).NewConfigManagementPluginClient()
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	send := func(s cmp.StreamSender) error {
		return cmp.SendRepoStream(ctx, application, repository, s, env, nil)
	}
	switch question {
	case "match":
		s, err := client.MatchRepository(ctx)
		return receive(s, err, send)
	case "parameters":
		s, err := client.GetParametersAnnouncement(ctx)
		return receive(s, err, send)
	case "generate":
		s, err := client.GenerateManifest(ctx)
		return receive(s, err, send)
	}
	return nil, fmt.Errorf("unknown question %q", question)
}

func receive[A any](s stream[A], err error, send func(cmp.StreamSender) error) (any, error) {
	if err != nil {
		return nil, err
	}
	if err := send(s); err != nil {
		return nil, err
	}
	return s.CloseAndRecv()
}
