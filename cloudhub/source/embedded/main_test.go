package embedded_test

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// victimVar makes the test binary write to the cloud at this path until it is killed.
const victimVar = "TOMBOLO_EMBEDDED_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victimVar); path != "" {
		victim(path)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		http.DefaultClient.CloseIdleConnections()
		os.Exit(code)
	}))
}
