package store

import (
	"log/slog"
	"os"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Options says how a store is opened. The zero value is valid.
type Options struct {
	// Window bounds the events kept for each resource, as in the logs that are loaded from the store. Give both the same.
	Window watchlog.Config
	// Logger is told what nobody asked about, damage above all. Nil means slog.Default.
	Logger *slog.Logger
	// Keys and Encryption say what is encrypted in the file, and with what. Without Keys a file that has something encrypted
	// can't be opened (ErrNoKey); what is encrypted otherwise than Encryption says is written anew by Open.
	Keys       *Keys
	Encryption Encryption
	// Probe verifies the file at path in another process. It is called for a file that was not closed in order, while
	// no process has it open for writing, and should run Check. Nil as the result vouches for the file, an error that
	// wraps ErrCorrupt condemns it; any other says that the probe could not be made, and Open verifies the file itself,
	// as it does when Probe is nil.
	Probe func(path string) error
	// LockTimeout is how long to wait for another process to let go of the file. 0 means one second.
	LockTimeout time.Duration
	// Failpoint is called at every durable step with its name, see the Step constants. Its error takes the place of the
	// step's. Nil outside of tests.
	Failpoint func(step string) error

	// openFile opens the file for writing, for tests that fail its writes. Nil means os.OpenFile.
	openFile func(name string, flag int, perm os.FileMode) (*os.File, error)
}

// The steps that Options.Failpoint is called with.
const (
	StepCreate    = "create"    // a fresh file is complete, and not yet at its place
	StepSetAside  = "set-aside" // a corrupt file is found, and not yet renamed
	StepEncrypt   = "encrypt"   // a file encrypted anew is complete, and not yet at its place
	StepCommit    = "commit"    // an update is about to be committed; an error rolls it back
	StepCommitted = "committed" // an update is on disk; an error stands for one of the last fsync
	StepConfirm   = "confirm"   // an update whose last fsync failed is about to be confirmed
	StepClose     = "close"     // the mark that the file is closed in order is about to be committed
)

// Defaults of watchlog.Config.
const (
	defaultMaxBytes  = 64 << 20
	defaultMaxEvents = 1_000_000
)

const defaultLockTimeout = time.Second

func (o Options) withDefaults() Options {
	if o.Window.MaxBytes == 0 {
		o.Window.MaxBytes = defaultMaxBytes
	}
	if o.Window.MaxEvents == 0 {
		o.Window.MaxEvents = defaultMaxEvents
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = defaultLockTimeout
	}
	return o
}

// step calls the failpoint of a step, if there is one.
func (o *Options) step(name string) error {
	if o.Failpoint == nil {
		return nil
	}
	return o.Failpoint(name)
}
