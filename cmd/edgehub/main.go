// Command edgehub keeps a site's part of a Kubernetes API readable, whatever the link to the cloud does.
package main

import (
	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
)

// version is set by the linker.
var version = "dev"

func main() {
	root := &cobra.Command{
		Use: "edgehub", Short: "Keeps a site's part of a Kubernetes API readable, online and offline", Version: version,
		Args: cobra.NoArgs,
	}
	root.AddCommand(joinCommand(), runCommand(), checkCommand(), dumpCommand())
	flags.Execute(root)
}
