package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

func dump(t *testing.T, dir string, o DumpOptions) []string {
	t.Helper()
	var b bytes.Buffer
	if err := Dump(dir, &b, o); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}

func TestDump(t *testing.T) {
	dir := filled(t)
	s := open(t, dir, Options{})
	describe(t, s, deployments)
	update(t, s, func(tx *Tx) error {
		return tx.PutDocuments([]apidoc.Document{{Path: "/apis", Accept: "v2", MediaType: "m", Body: apidoc.Pack([]byte("{}"))}})
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	deploymentsLine := `{"kind":"resource","resource":"deployments.apps","state":{"resource":{"group":"apps","version":"v1",` +
		`"name":"deployments","kind":"Deployment","listKind":"DeploymentList","namespaced":true,"custom":false},` +
		`"epoch":"e1","scope":"s1","rev":0,"stagedRev":0,"oldest":0}}`
	podsLine := `{"kind":"resource","resource":"pods","state":{"resource":{"group":"","version":"v1","name":"pods",` +
		`"kind":"Pod","listKind":"PodList","namespaced":true,"custom":false,"fields":[{"label":"spec.nodeName",` +
		`"path":"spec.nodeName","indexed":true}]},"epoch":"e1","scope":"s1","rev":30,"stagedRev":40,"oldest":10,"gaps":["13-30"]}}`
	for name, c := range map[string]struct {
		o    DumpOptions
		want []string
	}{
		"resources": {DumpOptions{}, []string{deploymentsLine, podsLine}},
		"one":       {DumpOptions{Resource: "deployments.apps", Objects: true}, []string{deploymentsLine}},
		"objects": {DumpOptions{Resource: "pods", Objects: true, Key: "ns/d", JSON: true}, []string{podsLine,
			`{"kind":"object","resource":"pods","key":"ns/d","rev":20,"body":5,"size":151,"object":` +
				string(podJSON("d", "u4", 20, 10)) + `}`}},
		"events": {DumpOptions{Resource: "pods", Events: true, Key: "ns/b"}, []string{podsLine,
			`{"kind":"event","resource":"pods","key":"ns/b","type":"DELETED","seq":3,"rev":13,"shown":13,"body":2,"prev":2,"size":150}`}},
		"staged": {DumpOptions{Resource: "pods", Staged: true}, []string{podsLine,
			`{"kind":"staged","resource":"pods","key":"ns/c"}`,
			`{"kind":"staged","resource":"pods","key":"ns/e","rev":35,"body":6,"size":151}`}},
		"the rest": {DumpOptions{Resource: "deployments.apps", Documents: true, Infos: true}, []string{deploymentsLine,
			`{"kind":"document","key":"/apis","type":"v2","size":2,"value":"m"}`,
			`{"kind":"info","key":"hub","value":"h1"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := dump(t, dir, c.o)
			if g, w := strings.Join(got, "\n"), strings.Join(c.want, "\n"); g != w {
				t.Fatalf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
	if got := dump(t, dir, DumpOptions{Objects: true, Events: true, Staged: true, Documents: true, Infos: true}); len(got) != 2+3+4+2+1+1 {
		t.Fatalf("%d lines", len(got))
	}
}

// TestDumpFailsForWhatIsNotThere holds that a name with a typing error is no empty dump.
func TestDumpFailsForWhatIsNotThere(t *testing.T) {
	dir := filled(t)
	for name, c := range map[string]struct {
		o    DumpOptions
		want error
		text string
	}{
		"resource":                 {DumpOptions{Resource: "pod", Objects: true, Infos: true}, ErrUnknownResource, "pod: resource is not in the store"},
		"resource of a key":        {DumpOptions{Resource: "pod", Key: "ns/d"}, ErrUnknownResource, "pod: resource is not in the store"},
		"key":                      {DumpOptions{Key: "ns/none", Objects: true, Events: true, Staged: true}, ErrUnknownKey, "ns/none: key is not in the store"},
		"key of a resource":        {DumpOptions{Resource: "pods", Key: "none"}, ErrUnknownKey, "none: key is not in the store"},
		"key that only was, alive": {DumpOptions{Key: "ns/b", Objects: true}, ErrUnknownKey, "ns/b: key is not in the store"},
		"key that only was":        {DumpOptions{Key: "ns/b", Events: true}, nil, ""},
		"key that is to come":      {DumpOptions{Key: "ns/e", Objects: true}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Dump(dir, &out, c.o)
			if !errors.Is(err, c.want) || err != nil && !strings.HasSuffix(err.Error(), ": "+c.text) {
				t.Fatalf("got %v, want %q", err, c.text)
			}
		})
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestDumpReturnsTheWritersError(t *testing.T) {
	w := brokenWriter{errors.New("pipe closed")}
	if err := Dump(filled(t), w, DumpOptions{}); !errors.Is(err, w.err) {
		t.Fatal(err)
	}
}
