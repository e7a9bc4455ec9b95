package main

import (
	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/edgehub/store"
)

func dumpCommand() *cobra.Command {
	var dir string
	var o store.DumpOptions
	var key keyFile
	c := &cobra.Command{
		Use: "dump", Short: "Print what a data directory holds, as lines of JSON", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Keys, err = key.keys(); err != nil {
				return err
			}
			return store.Dump(dir, c.OutOrStdout(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "data-dir", "", "the data directory, which no edgehub may be using (required)")
	f.StringVar(&o.Resource, "resource", "", "only this resource, as \"pods\" or \"deployments.apps\"")
	f.StringVar(&o.Key, "key", "", "only the object with this key, \"namespace/name\" or \"name\"")
	f.BoolVar(&o.Objects, "objects", true, "the live objects")
	f.BoolVar(&o.Events, "events", false, "the events of the window")
	f.BoolVar(&o.Staged, "staged", false, "the catch-up under way")
	f.BoolVar(&o.Documents, "documents", false, "the API documents, without their bodies")
	f.BoolVar(&o.Infos, "infos", false, "small facts, such as the time of the last contact")
	f.BoolVar(&o.JSON, "json", false, "with objects, events and staged versions: the object itself")
	key.add(c)
	mustRequire(c, "data-dir")
	return c
}
