package embedded

import (
	"net/http"
	"strings"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// readPart answers a GET of a subresource. Scales are made here. The others that can be updated are parts of the object
// and read as all of it, by the handler for reads, which gets everything else too.
func (a *API) readPart(w http.ResponseWriter, r *http.Request, t target) {
	f, ok := a.cloud.resources.Load().byGVR[t.resource]
	if !ok {
		a.reads.ServeHTTP(w, r)
		return
	}
	switch {
	case t.sub == "scale" && f.def().Scale != nil:
		a.readScale(w, r, f, t)
	case t.sub != "finalize" && f.def().Updatable(t.sub):
		whole := r.Clone(r.Context())
		whole.URL.Path = strings.TrimSuffix(r.URL.Path, "/"+t.sub)
		whole.URL.RawPath = ""
		a.reads.ServeHTTP(w, whole)
	case f.def().Updatable(t.sub): // that can only be written
		writeError(w, r, notAllowed())
	default:
		writeError(w, r, noSubresource(f, t))
	}
}

func (a *API) readScale(w http.ResponseWriter, r *http.Request, f face, t target) {
	form, err := negotiate(r, f)
	if err != nil {
		writeError(w, r, err)
		return
	}
	p := place{face: f, namespace: t.namespace, name: t.name}
	o := f.log().Snapshot().Get(watchlog.KeyOf(t.namespace, t.name))
	if o == nil {
		writeError(w, r, p.notFound())
		return
	}
	raw, err := scaleOf(f.def(), o.JSON())
	if err != nil {
		writeError(w, r, err)
		return
	}
	form.write(w, answer{code: http.StatusOK, raw: raw, gvk: scaleFace.GVK()})
}
