// Package access holds what it takes to decide who may do what: the user of a request, and what the request asks for in the
// words that rules use.
package access
