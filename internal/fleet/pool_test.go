package fleet

import (
	"runtime"
	"testing"
	"time"
)

func TestAVersionIsHeldOnceAndNoLongerThanByEdges(t *testing.T) {
	p := newPool()
	id := versionID{key: "ns/a", size: 10, crc: 1}
	a := p.put(&version{id: id, uid: "u"})
	if b := p.put(&version{id: id, uid: "u"}); a != b || p.get(id) != a {
		t.Error("a version is there twice")
	}
	other := id
	other.crc++
	if p.get(other) != nil {
		t.Error("another version is taken for this one")
	}
	runtime.KeepAlive(a)
	for deadline := time.Now().Add(time.Minute); p.size() > 0; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("a version that nobody holds is kept")
		}
		time.Sleep(time.Millisecond)
	}
}
