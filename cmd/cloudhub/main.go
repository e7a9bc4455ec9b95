// Command cloudhub streams what changes in a Kubernetes API to edges.
package main

import (
	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
)

// version is set by the linker.
var version = "dev"

func main() {
	root := &cobra.Command{
		Use: "cloudhub", Short: "Streams what changes in a Kubernetes API to edges", Version: version, Args: cobra.NoArgs,
	}
	root.AddCommand(runCommand(), tokenCommand(), edgeCommand())
	flags.Execute(root)
}
