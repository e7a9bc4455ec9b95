package guarantee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Watcher is a List/Watch client like an informer's: it lists, watches with bookmarks, resumes
// from its last position whenever the stream ends, lists again after a 410, and records all of it.
type Watcher struct {
	*Lister
	// WatchList takes the state from a watch with initial events instead of a list.
	WatchList bool
	// From is a position got elsewhere to start watching from, without a list; 0 = list first.
	From uint64
	// Timeout is what the client asks each watch to last; 0 = as long as the server likes. In whole seconds.
	Timeout time.Duration
	// Between is called before every stream but the first, for a client that takes its time; nil = none.
	Between func(ctx context.Context)
}

// NewWatcher registers a reader that lists and watches. Nothing is sent before Run.
func NewWatcher(h *History, cfg ReaderConfig, target Target) *Watcher {
	return &Watcher{Lister: NewLister(h, cfg, target)}
}

// pauses between attempts after a failure, so that a server that is down isn't flooded.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = 200 * time.Millisecond
)

// Run lists and watches until ctx ends. Failures are recorded and tried again.
func (w *Watcher) Run(ctx context.Context) {
	pause := firstPause
	position, listed := w.From, w.From > 0
	for n := 0; ctx.Err() == nil; n++ {
		if n > 0 && w.Between != nil {
			w.Between(ctx)
		}
		err := w.round(ctx, &position, &listed)
		if err == nil {
			pause = firstPause
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, mostPause)
	}
}

// Start runs the watcher in a goroutine; stop ends it and waits for it.
func (w *Watcher) Start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// round gets a state if there is none, and follows one stream to its end.
func (w *Watcher) round(ctx context.Context, position *uint64, listed *bool) error {
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}}
	if w.Timeout > 0 {
		query.Set("timeoutSeconds", strconv.Itoa(int(w.Timeout.Seconds())))
	}
	switch {
	case !*listed && w.WatchList:
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", "NotOlderThan")
		if w.RV != "" {
			query.Set("resourceVersion", w.RV)
		}
	case !*listed:
		rv, err := w.List(ctx)
		if err != nil {
			return err
		}
		*position, *listed = rv, true
	}
	if *listed {
		query.Set("resourceVersion", strconv.FormatUint(*position, 10))
	}
	s := stream{w: w, position: *position, filling: !*listed}
	w.Opened(*position, s.filling)
	err := s.follow(ctx, query)
	*position, *listed = s.position, !s.filling
	if errors.Is(err, errExpired) {
		w.Expired(s.position)
		*position, *listed = 0, false
		return nil
	}
	if err != nil {
		w.Failed(err.Error())
	}
	w.Ended()
	return err
}

// errExpired says that the position can't be watched any more.
var errExpired = errors.New("position expired")

// stream is one watch.
type stream struct {
	w        *Watcher
	position uint64
	filling  bool // in the initial events
}

// line is the JSON of one watch event.
type line struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// follow reads events until the stream ends. A clean end is no error; a broken one is none
// either once something came.
func (s *stream) follow(ctx context.Context, query url.Values) error {
	response, err := s.w.get(ctx, "", query)
	var status *StatusError
	if errors.As(err, &status) && status.Code == http.StatusGone {
		return errExpired
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	decoder := json.NewDecoder(response.Body)
	for n := 0; ; n++ {
		var l line
		if err := decoder.Decode(&l); err != nil {
			if n > 0 {
				return nil
			}
			return fmt.Errorf("watch %s: %w", s.w.URL, err)
		}
		if err := s.line(l); err != nil {
			return err
		}
	}
}

// line records one event.
func (s *stream) line(l line) error {
	if l.Type == "ERROR" {
		return statusError(l.Object)
	}
	o, err := ParseObject(l.Object)
	if err != nil {
		return fmt.Errorf("watch event %s: %w", l.Type, err)
	}
	switch l.Type {
	case "BOOKMARK":
		ends := endsInitialEvents(l.Object)
		s.w.Bookmark(o.RV, ends)
		s.filling = s.filling && !ends
	case string(Added), string(Modified), string(Deleted):
		s.w.Event(EventType(l.Type), o)
	default:
		return fmt.Errorf("watch event of unknown type %q", l.Type)
	}
	if !s.filling {
		s.position = o.RV
	}
	return nil
}

// statusError turns the Status of an ERROR event into an error.
func statusError(raw json.RawMessage) error {
	var status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("watch ERROR: %w", err)
	}
	if status.Code == http.StatusGone {
		return errExpired
	}
	return fmt.Errorf("watch ERROR %d: %s", status.Code, status.Message)
}

func endsInitialEvents(raw json.RawMessage) bool {
	var bookmark struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	return json.Unmarshal(raw, &bookmark) == nil && bookmark.Metadata.Annotations["k8s.io/initial-events-end"] == "true"
}
