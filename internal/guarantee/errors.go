package guarantee

import "errors"

// The guarantees, one error each. Every [Violation] wraps exactly one of them.
var (
	// ErrOrdered: a watcher saw events of a resource out of RV order, an older version of an
	// object after a newer one, a bookmark or a list behind what the same server showed before.
	ErrOrdered = errors.New("ordered: events of a resource arrive in resourceVersion order")
	// ErrUnique: an event arrived twice on one watch, or a list holds a key twice.
	ErrUnique = errors.New("unique: no event arrives twice on one watch")
	// ErrGapless: a matching change behind the position a watch started from was not delivered
	// although later ones or a bookmark behind it were, or a list lacks a change its RV covers.
	ErrGapless = errors.New("gapless: a watch delivers every matching change or says 410")
	// ErrResumable: a position inside the window was answered with 410.
	ErrResumable = errors.New("resumable: a position inside the window can be watched from anywhere")
	// ErrDurableBeforeVisible: after a restart a server is behind what it had shown before.
	ErrDurableBeforeVisible = errors.New("durable before visible: a restart never moves a server backwards")
	// ErrFaithful: bytes, uid, event type or resourceVersion are not the cloud's.
	ErrFaithful = errors.New("faithful: bytes and resourceVersions are the cloud's")
	// ErrConvergent: the cloud is quiet and connected, and a reader still hasn't its state.
	ErrConvergent = errors.New("convergent: once connected and quiet, the state equals the cloud's scope")
	// ErrDeletesSurvive: an object that is gone is still shown, is shown again, or was
	// replaced by one with another uid without a DELETED.
	ErrDeletesSurvive = errors.New("deletes survive: what was deleted disappears, with a DELETED for watchers")
	// ErrIsolated: a reader was shown an object or a version outside its scope or selector.
	ErrIsolated = errors.New("isolated: a reader sees only what its scope allows")
	// ErrBounded: a measured quantity exceeded its limit.
	ErrBounded = errors.New("bounded: memory and disk stay below their limits")
	// ErrStaleIsSaid: a disconnected server answered a list without saying that it may be behind.
	ErrStaleIsSaid = errors.New("stale is said: an answer that may be behind says so")
	// ErrNoFakeSuccess: a write was acknowledged, and the cloud never had it.
	ErrNoFakeSuccess = errors.New("no fake success: a write that did not happen is an error")
	// ErrHistory is no guarantee: the recorded writes contradict one another, so the
	// history can't be judged. The recorder, or the cloud itself, is wrong.
	ErrHistory = errors.New("history: the recorded writes contradict one another")
)
