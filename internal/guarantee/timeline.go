package guarantee

import (
	"cmp"
	"slices"
	"sort"
)

// timeline is what happened to a resource: the truth readers are checked against.
type timeline struct {
	versions []*version            // by RV
	keys     map[string][]*version // by key, by RV; deletions between different uids, always
}

// at returns the version of a key that appeared at exactly rv.
func (t *timeline) at(key string, rv uint64) *version {
	versions := t.keys[key]
	i := sort.Search(len(versions), func(i int) bool { return versions[i].RV >= rv })
	if i < len(versions) && versions[i].RV == rv {
		return versions[i]
	}
	return nil
}

// newTimeline joins the versions found per key: it orders them, and puts a deletion behind each
// uid that was followed by another one or is known to be gone.
func newTimeline(found map[string]*evidence, head uint64) (*timeline, []Violation) {
	t := &timeline{keys: make(map[string][]*version, len(found))}
	var broken []Violation
	for key, e := range found {
		versions, err := e.join(head)
		if err != nil {
			broken = append(broken, Violation{Err: ErrHistory, Key: key, Detail: err.Error()})
		}
		t.keys[key] = versions
		t.versions = append(t.versions, versions...)
	}
	slices.SortFunc(t.versions, func(a, b *version) int {
		return cmp.Or(cmp.Compare(a.RV, b.RV), cmp.Compare(a.Key, b.Key))
	})
	return t, broken
}
