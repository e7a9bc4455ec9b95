package proc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort returns a loopback port that nothing listens on. It stays below the
// range that systems hand to outgoing connections, so that it is still free
// after a server that held it was down for a while.
func FreePort() (int, error) {
	const low, high, tries = 20000, 32000, 100
	for range tries {
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("proc: %w", err)
		}
		return port, nil
	}
	return 0, errors.New("proc: found no free loopback port")
}

// FreePorts returns n different free ports.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	seen := make(map[int]bool, n)
	for len(ports) < n {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		if !seen[port] {
			seen[port] = true
			ports = append(ports, port)
		}
	}
	return ports, nil
}
