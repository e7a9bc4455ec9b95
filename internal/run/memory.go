package run

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcPercent is by how much of itself a heap grows until it is collected, in percent. Most of ours are the bytes of objects,
// which a collection does not read: collecting twice as often as usual costs little and saves a quarter.
const gcPercent = 50

// CollectEarly makes the runtime collect before the heap has doubled. The environment variable GOGC takes precedence.
func CollectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

const (
	// lookEvery is how often ReturnMemory looks.
	lookEvery = 5 * time.Second
	// quiet is how many bytes may be allocated between two looks by a process that counts as quiet.
	quiet = 4 << 20
	// spare is how many bytes a quiet process may keep that it does not use, beside an eighth of those that it does.
	spare = 4 << 20
)

// heap is the state of the heap, in bytes.
type heap struct {
	allocated uint64 // since the start
	live      uint64 // what the last collection has found in use
	held      uint64 // what is not the operating system's: in use, garbage, and free
}

// ReturnMemory gives memory back to the operating system when the process has become quiet, until ctx ends. The runtime
// collects only when the heap has grown by a part of itself, and keeps what it has collected: what a first sync or a large
// answer took would stay for as long as nothing else happens.
func ReturnMemory(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for before := readHeap(); ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now := readHeap()
		if now.wasteful(before) {
			runtime.GC() // pools give up what they hold at the second collection
			debug.FreeOSMemory()
			now = readHeap()
		}
		before = now
	}
}

// wasteful tells whether a process whose heap was before a moment ago is quiet and holds much more than it uses.
func (h heap) wasteful(before heap) bool {
	return h.allocated-before.allocated < quiet && h.held > h.live+h.live/8+spare
}

func readHeap() heap {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	return heap{
		allocated: s[0].Value.Uint64(), live: s[1].Value.Uint64(),
		held: s[2].Value.Uint64() + s[3].Value.Uint64() + s[4].Value.Uint64(),
	}
}
