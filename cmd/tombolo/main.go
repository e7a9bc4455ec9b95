// Command tombolo shows what Tombolo does, on one machine, and what a hub bears.
package main

import (
	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
)

// version is set by the linker.
var version = "dev"

func main() {
	root := &cobra.Command{
		Use: "tombolo", Short: "Kubernetes, readable at the edge", Version: version, Args: cobra.NoArgs,
	}
	root.AddCommand(demoCommand(), fleetCommand())
	flags.Execute(root)
}
