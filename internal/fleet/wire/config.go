package wire

import (
	"crypto/tls"
	"net"
)

// Config is how connections are made. The zero value is for plaintext.
type Config struct {
	// TLS is nil for plaintext. Without a ServerName the host that is dialed is the server's name.
	TLS *tls.Config
	// Wrap, if set, is given the socket, and returns what is used in its place.
	Wrap func(net.Conn) net.Conn
	// UserAgent is told to the server.
	UserAgent string
	// MaxMessage bounds a message that is received, in bytes. 0 means 4 MiB.
	MaxMessage int
	// Window bounds what the server may send ahead of what was taken, in bytes, 64 KiB at least.
	Window int
}

const (
	// initialWindow is every window's size until something else is said (RFC 9113, section 6.9.2).
	initialWindow = 65535
	// maxWindow is the largest size of a window.
	maxWindow = 1<<31 - 1
	// frameSize bounds the frames of both sides until something else is said, and those of the server always.
	frameSize = 16 << 10
	// maxHeaders bounds a list of headers or trailers. A status with its details is one.
	maxHeaders = 64 << 10
	// defaultMaxMessage is that of gRPC.
	defaultMaxMessage = 4 << 20
)

func (c *Config) window() int {
	return min(max(c.Window, initialWindow), maxWindow)
}

func (c *Config) maxMessage() int {
	if c.MaxMessage == 0 {
		return defaultMaxMessage
	}
	return c.MaxMessage
}
