package litesrv

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// maxWritten bounds the answer to a write that is looked into; what is larger is passed on as it comes.
const maxWritten = 4 << 20

// connects are the subresources that are streams, or that change nothing.
var connects = map[string]bool{
	"exec": true, "attach": true, "portforward": true, "proxy": true, "log": true, "token": true,
}

// sameRevision are the subresources whose answers carry the resourceVersion of the object that they are of.
var sameRevision = map[string]bool{
	"": true, "status": true, "scale": true, "finalize": true, "approval": true, "ephemeralcontainers": true, "resize": true,
}

// isWrite tells whether a request that goes to the cloud changes an object there.
func isWrite(r *http.Request, t target) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return !connects[t.subresource] && r.Header.Get("Upgrade") == "" && !r.URL.Query().Has("dryRun")
	default:
		return false
	}
}

// passWrite passes a write on. Before the answer goes to the client the log has what was written, so that all reads here,
// by whomever, see at least that. When there is no proof of that within the usual wait the answer goes out all the same,
// and the reads that follow have to find the proof: see repay. They also have to when the resource is not held here, or in
// another version: it may come here in a state from before the write.
func (s *Server) passWrite(w http.ResponseWriter, r *http.Request, t target, pass func(http.ResponseWriter)) {
	h := &heldAnswer{ResponseWriter: w}
	h.settle = func() {
		if l, err := s.cfg.Backend.Log(t.gvr()); err == nil {
			s.await(r, t, l, h)
			return
		}
		if k, ok := s.catalog().kinds[t.gvr()]; !ok || k.has("list") && k.has("watch") {
			s.debts.await(t.groupResource())
		}
	}
	pass(h)
	h.finish()
}

// await waits until the log has what was written.
func (s *Server) await(r *http.Request, t target, l *watchlog.Log, h *heldAnswer) {
	d := s.owed(r, t, l, h)
	if d.rev > 0 && l.Rev() >= d.rev {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.freshWait)
	defer cancel()
	if _, err := s.cfg.Prover.Prove(ctx, l.Resource().GroupVersionResource(), d.part, d.rev); err != nil {
		s.debts.add(l, d)
	}
}

// owed returns what has to be proved of a write. The answer to a deletion may carry the revision before it, so none is
// taken from there. Of a deletion of many, fields select nothing: the cloud may know some that its hub does not, and a
// proof that can't be found would be owed for good.
func (s *Server) owed(r *http.Request, t target, l *watchlog.Log, h *heldAnswer) debt {
	d := debt{part: Part{Namespace: t.namespace, Name: t.name}}
	if t.name == "" && r.Method == http.MethodDelete {
		d.part.LabelSelector = r.URL.Query().Get("labelSelector")
		return d
	}
	o := h.object()
	if o == nil || !sameRevision[t.subresource] {
		return d
	}
	if t.name == "" && (o.Namespace != "") == l.Resource().Namespaced {
		d.part.Namespace, d.part.Name = o.Namespace, o.Name
	}
	if r.Method != http.MethodDelete {
		if rev, err := parseRevision(o.ResourceVersion); err == nil {
			d.rev = rev
		}
	}
	return d
}

// heldAnswer is a ResponseWriter that holds the answer to a write back until settle has returned. Answers that are no
// success, or too large, pass.
type heldAnswer struct {
	http.ResponseWriter
	settle func()

	code    int // of the answer that is held; 0 before
	buf     []byte
	passing bool // nothing is held, or no longer
}

// WriteHeader holds the header of a success back.
func (h *heldAnswer) WriteHeader(code int) {
	switch {
	case h.passing || h.code == 0 && (code < 200 || code >= 300):
		h.passing = h.passing || code >= 300 || code == http.StatusSwitchingProtocols
		h.ResponseWriter.WriteHeader(code)
	case h.code == 0:
		h.code = code
	}
}

// Write holds the body of a success back.
func (h *heldAnswer) Write(p []byte) (int, error) {
	if h.code == 0 && !h.passing {
		h.code = http.StatusOK
	}
	if !h.passing && len(h.buf)+len(p) <= maxWritten {
		h.buf = append(h.buf, p...)
		return len(p), nil
	}
	h.finish()
	return h.ResponseWriter.Write(p)
}

// Flush flushes what is not held back.
func (h *heldAnswer) Flush() {
	if h.passing {
		_ = http.NewResponseController(h.ResponseWriter).Flush()
	}
}

// Unwrap is how http.ResponseController finds what the connection can do.
func (h *heldAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// finish lets the answer go.
func (h *heldAnswer) finish() {
	if h.passing {
		return
	}
	if h.code == 0 {
		h.code = http.StatusOK
	}
	h.settle()
	h.passing = true
	h.ResponseWriter.WriteHeader(h.code)
	_, _ = h.ResponseWriter.Write(h.buf) //nolint:gosec // the cloud's answer as it came; a client that has left learns nothing
	h.buf = nil
}

// object returns the metadata of the object in the answer, nil when there is none to be read.
func (h *heldAnswer) object() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	if h.Header().Get("Content-Encoding") != "" || len(h.buf) == 0 {
		return nil
	}
	if raw, ok := bytes.CutPrefix(h.buf, []byte("k8s\x00")); ok {
		var u runtime.Unknown
		if u.Unmarshal(raw) != nil || o.Unmarshal(u.Raw) != nil {
			return nil
		}
		o.Kind = u.Kind
	} else if !strings.HasPrefix(h.Header().Get("Content-Type"), "application/json") || json.Unmarshal(h.buf, o) != nil {
		return nil
	}
	if o.Kind == "Status" || o.Kind == "Table" {
		return nil
	}
	return o
}
