package store

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names the child program that the test binary runs instead of the tests.
const childEnv = "STORE_TEST_CHILD"

// children are the programs that tests start in processes of their own. Their argument is a data directory.
var children = map[string]func(dir string) error{
	"apply": applyForever,
	"check": checkOnce,
	"open":  openOnce,
}

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := children[name](os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
