package watchlog

import (
	"sort"
	"strings"
)

// Label is one label of an object.
type Label struct{ Key, Value string }

// Labels are an object's labels, sorted by key. *Labels implements labels.Labels of k8s.io/apimachinery, so selectors
// match without an allocation.
type Labels []Label

// Has tells whether the label is set.
func (l *Labels) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get returns the label's value, "" when it is not set.
func (l *Labels) Get(key string) string {
	v, _ := l.Lookup(key)
	return v
}

// Lookup returns the label's value and whether it is set.
func (l *Labels) Lookup(key string) (string, bool) {
	i := sort.Search(len(*l), func(i int) bool { return (*l)[i].Key >= key })
	if i < len(*l) && (*l)[i].Key == key {
		return (*l)[i].Value, true
	}
	return "", false
}

// sorted returns l in key order. The API server's JSON has its maps sorted, so there is usually nothing to do.
func (l Labels) sorted() Labels {
	for i := 1; i < len(l); i++ {
		if l[i-1].Key > l[i].Key {
			sort.SliceStable(l, func(i, j int) bool { return strings.Compare(l[i].Key, l[j].Key) < 0 })
			break
		}
	}
	return l
}
