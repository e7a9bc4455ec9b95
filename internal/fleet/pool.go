package fleet

import (
	"runtime"
	"sync"
	"weak"
)

// pool gives all edges that hold the same version of an object the same one. A version that no edge holds any more goes
// with the garbage.
type pool struct {
	mu       sync.Mutex
	versions map[versionID]weak.Pointer[version] // guarded by mu
}

func newPool() *pool { return &pool{versions: map[versionID]weak.Pointer[version]{}} }

// get returns a version, nil when no edge holds it.
func (p *pool) get(id versionID) *version {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.versions[id].Value()
}

// put adds a version and returns the one to be held: v, or an equal one that another edge has added meanwhile.
func (p *pool) put(v *version) *version {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.versions[v.id].Value(); known != nil {
		return known
	}
	p.versions[v.id] = weak.Make(v)
	runtime.AddCleanup(v, p.forget, v.id)
	return v
}

// forget removes a version that nobody holds.
func (p *pool) forget(id versionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.versions[id].Value() == nil { // else it has come again
		delete(p.versions, id)
	}
}

// size returns how many versions are held, or not swept yet.
func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.versions)
}
