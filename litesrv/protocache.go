package litesrv

import (
	linked "container/list"
	"sync"
	"weak"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	// messageCacheSize bounds the messages that a server keeps, in bytes.
	messageCacheSize = 8 << 20
	// messageOverhead is what a message costs beside its bytes.
	messageOverhead = 256
)

// messageKey is what a message was made of. The object is named and not held: one that nobody else has is of no use.
type messageKey struct {
	object  weak.Pointer[watchlog.Object]
	rev     uint64 // the resourceVersion shown
	partial bool   // nothing but the metadata
}

// cachedMessage is a message that is there or being made.
type cachedMessage struct {
	key  messageKey
	once sync.Once // makes the two below
	data []byte    // never changed
	err  error
	cost int // what it counts for in the cache; 0 until it does; guarded by the cache
}

// messageCache keeps the messages that were used last, so that the readers of one object share the work of encoding it.
// It is used by any number of goroutines.
type messageCache struct {
	mu      sync.Mutex // guards all below
	entries map[messageKey]*linked.Element
	order   linked.List // of *cachedMessage, the one used last in front
	size    int         // the sum of all costs, in bytes
}

func newMessageCache() *messageCache {
	return &messageCache{entries: map[messageKey]*linked.Element{}}
}

// get returns the message of a key, which is made unless it is there. Whoever asks for one that is being made waits. The
// result must not be changed.
func (c *messageCache) get(key messageKey, encode func() ([]byte, error)) ([]byte, error) {
	m := c.entry(key)
	m.once.Do(func() {
		m.err = errUnproducible // should that panic
		m.data, m.err = encode()
		c.made(m)
	})
	return m.data, m.err
}

func (c *messageCache) entry(key messageKey) *cachedMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(*cachedMessage)
	}
	m := &cachedMessage{key: key}
	c.entries[key] = c.order.PushFront(m)
	return m
}

// made counts a message in and lets go of the oldest ones. One that was let go of while it was being made isn't counted.
func (c *messageCache) made(m *cachedMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[m.key]; e == nil || e.Value != m {
		return
	}
	m.cost = len(m.data) + messageOverhead
	c.size += m.cost
	for c.size > messageCacheSize {
		last := c.order.Remove(c.order.Back()).(*cachedMessage)
		delete(c.entries, last.key)
		c.size -= last.cost
	}
}
