// Package workbench keeps coders at hand that are dear to make.
package workbench

import (
	"runtime"
	"sync"
)

// Bench is a bounded set of coders that are used again: a new zstd encoder costs ten times what a patch does, and some
// megabytes. As many are in use at once as there are processors, whoever comes when all are waits; those that nobody uses
// are collected.
type Bench[T any] struct {
	free  sync.Pool
	slots chan struct{}
}

// New returns a bench of what build returns.
func New[T any](build func() T) *Bench[T] {
	b := &Bench[T]{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	b.free.New = func() any { return build() }
	return b
}

// With calls f with a coder that nobody else uses meanwhile.
func (b *Bench[T]) With(f func(T) error) error {
	b.slots <- struct{}{}
	defer func() { <-b.slots }()
	c := b.free.Get().(T) //nolint:forcetypeassert // what build returns
	defer b.free.Put(c)
	return f(c)
}
