package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/edgehub/store"
)

// errProblems is returned when a data directory is damaged.
type errProblems struct {
	path  string
	count int
}

func (e errProblems) Error() string { return fmt.Sprintf("%s: %d problems", e.path, e.count) }

// ExitCode is the process's.
func (errProblems) ExitCode() int { return exitCorrupt }

func checkCommand() *cobra.Command {
	var dir string
	var asJSON bool
	var key keyFile
	c := &cobra.Command{
		Use: "check", Short: "Verify a data directory that no edgehub is using", Args: cobra.NoArgs,
		Long: "Verifies every object, event and position of a data directory that no edgehub is using.\n" +
			"Exit code 0: sound; 3: damaged; 1: could not be checked.",
		RunE: func(c *cobra.Command, _ []string) error {
			keys, err := key.keys()
			if err != nil {
				return err
			}
			r, err := store.CheckEncrypted(dir, keys)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(c.OutOrStdout()).Encode(r)
			} else {
				err = printReport(c.OutOrStdout(), r)
			}
			if n := len(r.Problems) + r.More; err == nil && n > 0 {
				return errProblems{r.Path, n}
			}
			return err
		},
	}
	c.Flags().StringVar(&dir, "data-dir", "", "the data directory (required)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	key.add(c)
	mustRequire(c, "data-dir")
	return c
}

func printReport(w io.Writer, r *store.Report) error {
	clean := "closed in order"
	if !r.Clean {
		clean = "not closed in order"
	}
	if _, err := fmt.Fprintf(w, "%s: %d bytes, %s, %d documents\n", r.Path, r.Size, clean, r.Documents); err != nil {
		return err
	}
	for _, res := range r.Resources {
		if _, err := fmt.Fprintf(w, "  %s: position %d, watchable from %d, %d objects, %d events, %d staged\n",
			res.Name, res.Rev, res.Oldest, res.Objects, res.Events, res.Staged); err != nil {
			return err
		}
	}
	for _, p := range r.Problems {
		if _, err := fmt.Fprintf(w, "PROBLEM %s\n", p); err != nil {
			return err
		}
	}
	return nil
}

func mustRequire(c *cobra.Command, names ...string) {
	for _, name := range names {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // a flag that is not defined: a fault of the program
		}
	}
}
