package litesrv

import (
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// parsed returns the selection of a query on a resource.
func parsed(t testing.TB, r *watchlog.Resource, namespace, query string) selection {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	o, err := parseListOptions(values, r, "")
	if err != nil {
		t.Fatal(err)
	}
	return newSelection(r, namespace, &o)
}

func TestMatchingAllocatesNothing(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(pods, thing{"t1", "p1", `"app":"a","n":"3"`, `,"spec":{"nodeName":"n1"}`})
	o := l.Snapshot().Get("t1/p1")
	s := parsed(t, pods, "t1", "labelSelector=app%3Da,n%3E1,app+in+(a,b),%21x&fieldSelector=spec.nodeName%3Dn1,status.phase%21%3DFailed,metadata.name%21%3Dx")
	if !s.matches(o) {
		t.Fatal("the object does not match")
	}
	buf := make([]byte, 0, 4096)
	e := &watchlog.Event{Rev: 101, Shown: 101, Type: watchlog.Deleted, Object: o, Prev: o}
	json := framer{res: pods}
	proto := framer{res: pods, proto: newProtobufs(slog.New(slog.DiscardHandler))}
	for name, f := range map[string]func(){
		"match":          func() { s.matches(o) },
		"frame":          func() { _, _ = json.appendEvent(buf[:0], e, &s) },
		"protobuf frame": func() { _, _ = proto.appendEvent(buf[:0], e, &s) }, // made once
		"bookmark":       func() { _, _ = json.appendBookmark(buf[:0], 101, true) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func TestTheNarrowestIndexIsUsed(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(pods,
		thing{"t1", "p1", `"app":"a"`, `,"spec":{"nodeName":"n1"}`}, thing{"t1", "p2", `"app":"a"`, `,"spec":{"nodeName":"n1"}`},
		thing{"t1", "p3", `"app":"b"`, `,"spec":{"nodeName":"n1"}`}, thing{"t2", "p4", `"app":"a"`, `,"spec":{"nodeName":"n2"}`},
	)
	snap := l.Snapshot()
	for _, c := range []struct {
		namespace, query string
		term             watchlog.Term
	}{
		{"", "", watchlog.Everything()},
		{"t1", "", watchlog.InNamespace("t1")},
		{"", "fieldSelector=metadata.namespace%3Dt1", watchlog.InNamespace("t1")},
		{"t1", "fieldSelector=metadata.name%3Dp1", watchlog.WithKey("t1/p1")},
		{"", "fieldSelector=metadata.name%3Dp1", watchlog.Everything()},
		{"", "labelSelector=app%3Db", watchlog.WithLabel("app", "b")},
		{"", "labelSelector=app+in+(b)", watchlog.WithLabel("app", "b")},
		{"", "labelSelector=app+in+(a,b)", watchlog.Everything()},
		{"", "labelSelector=app%21%3Db", watchlog.Everything()},
		{"", "fieldSelector=spec.nodeName%3Dn2", watchlog.WithField("spec.nodeName", "n2")},
		{"", "fieldSelector=spec.host%3Dn2", watchlog.WithField("spec.nodeName", "n2")},
		{"", "fieldSelector=status.phase%3DRunning", watchlog.Everything()}, // not indexed
		{"", "fieldSelector=spec.nodeName%3Dn1&labelSelector=app%3Db", watchlog.WithLabel("app", "b")},
		{"t2", "fieldSelector=spec.nodeName%3Dn1", watchlog.InNamespace("t2")},
		{"t1", "labelSelector=app%3Dzz", watchlog.WithLabel("app", "zz")},
	} {
		s := parsed(t, pods, c.namespace, c.query)
		if got := s.term(snap); got != c.term {
			t.Errorf("%q in %q: %+v, want %+v", c.query, c.namespace, got, c.term)
		}
	}
}

// TestSelectorsAreAsInApimachinery compares, for random objects and selectors, the compiled form with the original one
// on plain maps.
func TestSelectorsAreAsInApimachinery(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(pods)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 2000 {
		x := thing{ns: pick("t1", "t2"), name: pick("p1", "p2")}
		labelSet, node, phase := labels.Set{}, pick("", "n1", "n2"), pick("Running", "Pending")
		for _, k := range []string{"a", "b", "c"} {
			if v := pick("", "1", "2", "x", "-"); v != "-" {
				labelSet[k] = v
				x.labels += `,"` + k + `":"` + v + `"`
			}
		}
		x.labels = strings.TrimPrefix(x.labels, ",")
		x.rest = `,"spec":{"nodeName":"` + node + `"},"status":{"phase":"` + phase + `"}`
		o := w.decode(l, x.json(pods, 100))
		k := pick("a", "b", "c")
		labelText := pick("", k, "!"+k, k+"=1", k+"!=1", k+" in (1,x)", k+" notin (1,x)", k+">1", k+"<2", k+"=,"+pick("a", "b")+"=x")
		fieldText := pick("", "spec.nodeName=n1", "spec.nodeName!=n1", "status.phase=Pending,spec.nodeName=", "metadata.name=p1",
			"metadata.namespace!=t1", "metadata.name!=p1,metadata.namespace=t2", "spec.hostNetwork=false")
		s := parsed(t, pods, "", url.Values{"labelSelector": {labelText}, "fieldSelector": {fieldText}}.Encode())
		ls, err := labels.Parse(labelText)
		if err != nil {
			t.Fatal(err)
		}
		expect := ls.Matches(labelSet) && fields.ParseSelectorOrDie(fieldText).Matches(fields.Set{
			"metadata.name": x.name, "metadata.namespace": x.ns, "spec.nodeName": node, "status.phase": phase, "spec.hostNetwork": "false",
		})
		if got := s.matches(o); got != expect {
			t.Fatalf("%q %q on %s: %v", labelText, fieldText, o.JSON(), got)
		}
	}
}

func TestContinueTokens(t *testing.T) {
	const text = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAyLCJzdGFydCI6Ii90MS9jMlx1MDAwMCJ9" // as kube-apiserver writes it
	if got := tokenBehind(configmaps, "t1/c2", "", 102); got != text {
		t.Errorf("got %s", got)
	}
	tok, err := decodeContinue(text)
	if err != nil || tok.Rev != 102 || tok.from("") != "t1/c2\x00" {
		t.Errorf("%+v %v", tok, err)
	}
	for _, c := range []struct{ key, namespace, start, from string }{
		{"t1/c2", "t1", "/c2\x00", "t1/c2\x00"},
		{"t1/c2", "", "/t1/c2\x00", "t1/c2\x00"},
		{"n1", "", "/n1\x00", "n1\x00"},
	} {
		tok, err := decodeContinue(tokenBehind(configmaps, c.key, c.namespace, 5))
		if err != nil || tok.Start != c.start || tok.from(c.namespace) != c.from {
			t.Errorf("%+v: %+v %v", c, tok, err)
		}
	}
}

func FuzzContinueToken(f *testing.F) {
	f.Add(token(5, "/t1/c\x00"), "t1")
	f.Add(token(-1, "c\x00"), "")
	f.Add("abc", "")
	f.Fuzz(func(t *testing.T, text, namespace string) {
		tok, err := decodeContinue(text)
		if err != nil {
			return
		}
		again, err := decodeContinue(tok.encode())
		if err != nil || again != tok {
			t.Errorf("%+v comes back as %+v, %v", tok, again, err)
		}
		if from := tok.from(namespace); namespace != "" && !strings.HasPrefix(from, namespace+"/") {
			t.Errorf("a list of %q begins at %q", namespace, from)
		}
		if tok.expired().ErrStatus.Continue == "" {
			t.Error("no way to go on")
		}
	})
}

func FuzzListOptions(f *testing.F) {
	for _, q := range []string{
		"limit=5&continue=x", "watch=abc&resourceVersion=5", "labelSelector=a in (b,c),!d", "fieldSelector=metadata.name=x\\,y",
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks", "timeoutSeconds=-1&limit=-9", "%zz&;",
	} {
		f.Add(q, "")
		f.Add(q, "x")
	}
	w := newWorld(f, 100)
	l := w.load(pods, thing{"t1", "p1", `"app":"a"`, `,"spec":{"nodeName":"n1"}`})
	o := l.Snapshot().Get("t1/p1")
	f.Fuzz(func(t *testing.T, query, name string) {
		values, _ := url.ParseQuery(query)
		options, err := parseListOptions(values, pods, name)
		if err != nil {
			if s := statusOf(err); s.Code != 400 && s.Code != 422 {
				t.Errorf("%q: %v", query, err)
			}
			return
		}
		s := newSelection(pods, "t1", &options)
		if s.matches(o) && !s.term(l.Snapshot()).Matches(pods, o) {
			t.Errorf("%q: %+v does not have an object that matches", query, s.term(l.Snapshot()))
		}
		watchTimeout(&options)
		if _, err := parseTimeout(values); err != nil && statusOf(err).Code != 400 {
			t.Error(err)
		}
	})
}
