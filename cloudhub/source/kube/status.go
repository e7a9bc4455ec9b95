package kube

import (
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
