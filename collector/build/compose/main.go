// Command compose loads a compose file the way docker compose does (schema, interpolation, consistency, paths) and
// prints the resolved project as JSON. It runs nothing and needs no Docker.
//
//	compose docker-compose.yml
//
// Variables come from the environment. Exit status 1 and the loader's own words when the file is not good.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: compose FILE")
		os.Exit(2)
	}
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv, cli.WithDefaultProfiles("*"))
	exitOn(err)
	project, err := options.LoadProject(context.Background())
	exitOn(err)
	text, err := project.MarshalJSON()
	exitOn(err)
	fmt.Println(string(text))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
