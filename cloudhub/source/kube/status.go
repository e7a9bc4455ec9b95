package kube

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// phase says how far a resource is.
type phase uint8

const (
	starting phase = iota // being looked up, or its first state is being read
	live                  // its log follows the cloud
	failing               // the cloud refuses or can't be reached; retried. The log, if there is one, may be behind
	refused               // could not be opened; tried again by a later Open
)

// condition is how a resource is doing.
type condition struct {
	mu    sync.Mutex // guards all below
	phase phase
	err   error // why it is failing or refused
}

// set tells whether that is news: another phase than before.
func (c *condition) set(p phase, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.phase != p
	c.phase, c.err = p, err
	return news
}

func (c *condition) get() (phase, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase, c.err
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
		_, err := f.condition.get()
		lost = fmt.Errorf("the API server is lost since %s: %w", since.UTC().Format(time.RFC3339), err)
	}
	return lost
}
