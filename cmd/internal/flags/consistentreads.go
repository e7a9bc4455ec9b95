package flags

import (
	"fmt"

	"github.com/spf13/cobra"
)

// ConsistentReads is the flag that says how an edge answers reads that ask for the newest state.
type ConsistentReads string

// Add adds the flag to a command.
func (r *ConsistentReads) Add(c *cobra.Command) {
	c.Flags().StringVar((*string)(r), "consistent-reads", "cloud",
		"how reads without a resourceVersion are answered: cloud (the hub proves that nothing is missing; with a Warning when "+
			"there is no proof) or local (what is here, always with a Warning)")
}

// Validate tells what is wrong with the flag.
func (r *ConsistentReads) Validate() error {
	if *r != "cloud" && *r != "local" {
		return fmt.Errorf("--consistent-reads %q: cloud or local is needed", *r)
	}
	return nil
}

// Local tells whether such reads do without the cloud.
func (r *ConsistentReads) Local() bool { return *r == "local" }
