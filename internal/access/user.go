package access

import (
	"context"
	"slices"
)

// Names that the API server gives a meaning to (apiserver pkg/authentication/user/user.go).
const (
	Anonymous       = "system:anonymous"
	Authenticated   = "system:authenticated"
	Unauthenticated = "system:unauthenticated"
	Masters         = "system:masters" // a group that may do everything
)

// User is who sent a request. It is not changed once it is made.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
	// Bearer is set when the request carries a token that the cloud can judge by itself.
	Bearer bool
}

// Nobody is the user of a request without credentials.
func Nobody() *User { return &User{Name: Anonymous, Groups: []string{Unauthenticated}} }

// In tells whether the user is in a group.
func (u *User) In(group string) bool { return slices.Contains(u.Groups, group) }

type userKey struct{}

// With returns a context of requests whose user is known, whatever they carry: those on a socket that only one user can open.
func With(ctx context.Context, u *User) context.Context { return context.WithValue(ctx, userKey{}, u) }

// From returns the user of With, nil without one.
func From(ctx context.Context) *User {
	u, _ := ctx.Value(userKey{}).(*User)
	return u
}
