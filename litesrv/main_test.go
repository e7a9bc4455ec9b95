package litesrv

import (
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// detector makes every client-go reflector compare what it got from a WatchList with an exact LIST at the same revision,
// and panic when they differ. client-go reads it when it is loaded, so the tests start over with it.
const detector = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"

func TestMain(m *testing.M) {
	if os.Getenv(detector) == "" {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		panic(syscall.Exec(self, os.Args, append(os.Environ(), detector+"=true")))
	}
	goleak.VerifyTestMain(m)
}
