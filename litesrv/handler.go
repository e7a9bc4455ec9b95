package litesrv

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	t, isTarget := parseTarget(r.URL.Path)
	rec := &recorder{ResponseWriter: w, verb: verbLabel(r, t, isTarget)}
	defer s.done(rec, r, start)
	defer s.recover(rec, r)
	h := w.Header()
	id := r.Header.Get("Audit-Id")
	if id == "" {
		id = newID()
	}
	h["Audit-Id"] = []string{id}
	h["Cache-Control"] = []string{"no-cache, private"}
	if s.cfg.Authenticator != nil {
		var ok bool
		if r, ok = s.enter(rec, r); !ok {
			return
		}
	}
	if isTarget && !strings.HasPrefix(r.URL.Path, "//") {
		s.resource(rec, r, t)
	} else {
		s.nonResource(rec, r)
	}
}

// recover turns a panic into an answer, or ends the connection when there is one already.
func (s *Server) recover(rec *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // it is compared by net/http too
		panic(v)
	}
	s.log.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	s.metrics.panics.Inc()
	if rec.code != 0 {
		panic(http.ErrAbortHandler)
	}
	writeStatus(rec, r, apierrors.NewInternalError(fmt.Errorf("%v", v)))
}

// done notes what a request has come to.
func (s *Server) done(rec *recorder, r *http.Request, start time.Time) {
	took := time.Since(start)
	s.metrics.requests.WithLabelValues(rec.verb, codeLabel(rec.code)).Inc()
	if rec.verb != "watch" {
		s.metrics.duration.WithLabelValues(rec.verb).Observe(took.Seconds())
	}
	s.metrics.bytes.Add(float64(rec.bytes))
	if !s.log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	s.log.LogAttrs(r.Context(), slog.LevelDebug, "request",
		slog.String("verb", rec.verb), slog.String("method", r.Method), slog.String("uri", r.URL.RequestURI()),
		slog.Int("code", rec.code), slog.Int64("bytes", rec.bytes), slog.Duration("took", took),
		slog.String("agent", r.UserAgent()), slog.String("audit", rec.Header().Get("Audit-Id")))
}

// newID returns a random version 4 UUID. It marks a request in logs and keeps no secret.
func newID() string {
	var b [16]byte
	hi, lo := rand.Uint64(), rand.Uint64() //nolint:gosec // see above
	for i := range 8 {
		b[i], b[8+i] = byte(hi>>(8*i)), byte(lo>>(8*i))
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], b[0:4])
	hex.Encode(text[9:13], b[4:6])
	hex.Encode(text[14:18], b[6:8])
	hex.Encode(text[19:23], b[8:10])
	hex.Encode(text[24:36], b[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
