package kube

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Phase says how far a resource is.
type Phase string

// The phases of a resource.
const (
	Starting Phase = "starting" // being looked up, or its first state is being read
	Live     Phase = "live"     // its log follows the cloud
	Failing  Phase = "failing"  // the cloud refuses or can't be reached; retried. The log, if there is one, may be behind
	Refused  Phase = "refused"  // could not be opened; tried again by a later Open
)

// Status says how a resource is doing.
type Status struct {
	Resource schema.GroupVersionResource // Version is empty until it is known
	Phase    Phase
	Since    time.Time // when the phase began
	Err      error     // why it is Failing or Refused
	Users    int       // how many have it open
	Rev      uint64    // the log's position; 0 before the first state
	Objects  int
}

// condition is the part of a status that requests decide.
type condition struct {
	mu    sync.Mutex // guards all below
	phase Phase
	since time.Time
	err   error
}

// set tells whether that is news: another phase than before.
func (c *condition) set(phase Phase, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	if c.phase == phase {
		return false
	}
	c.phase, c.since = phase, time.Now()
	return true
}

func (c *condition) get() (Phase, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase, c.since, c.err
}

// lostFor is how long all resources in use must have been failing for the source to be of no use.
const lostFor = 30 * time.Second

// Ready tells why edges had better ask another hub: the API server was never reached, or none of the resources in use
// could be followed for half a minute. nil when there is no such reason.
func (k *Kube) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epoch == "" {
		if k.startErr != nil {
			return fmt.Errorf("the API server can't be used yet: %w", k.startErr)
		}
		return errors.New("the API server was not reached yet")
	}
	var lost error
	for _, f := range k.feeds {
		if !f.isOpen() {
			continue
		}
		since, is := f.entries.Lost()
		if !is || time.Since(since) < lostFor {
			return nil
		}
		_, _, err := f.condition.get()
		lost = fmt.Errorf("the API server is lost since %s: %w", since.UTC().Format(time.RFC3339), err)
	}
	return lost
}
