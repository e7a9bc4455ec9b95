package litesrv

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// atOnce are reads at a revision that kube-apiserver asks etcd for, without a wait.
var atOnce = []string{
	"/api/v1/namespaces/t1/configmaps?fieldSelector=metadata.name%%3Dc1&resourceVersionMatch=Exact&resourceVersion=%d",
	"/api/v1/namespaces/t1/configmaps?fieldSelector=metadata.name%%3Dc1&resourceVersionMatch=Exact&limit=1&resourceVersion=%d",
	"/api/v1/namespaces/t1/configmaps?fieldSelector=metadata.name%%3Dnone&limit=1&resourceVersion=%d",
	"/api/v1/namespaces/t1/events?resourceVersion=%d",
	"/api/v1/namespaces/t1/events?resourceVersionMatch=Exact&resourceVersion=%d",
	"/api/v1/events?limit=2&resourceVersion=%d",
	"/api/v1/namespaces/t1/events/c1?resourceVersion=%d",
}

// atOnceWorld is a world of ConfigMaps and Events at 105.
func atOnceWorld(t *testing.T) *world {
	w := newWorld(t, 105)
	w.load(configmaps, thing{ns: "t1", name: "c1"})
	w.load(coreEvents, thing{ns: "t1", name: "c1"})
	return w
}

func futureAnswer(rev uint64) string {
	return failure(504, "Timeout", fmt.Sprintf("Timeout: Too large resource version: %d, current: 105", rev), tooLargeCauses)
}

// TestNoWaitForWhatIsReadFromEtcd compares such reads with others of the same object, for which a revision may come.
func TestNoWaitForWhatIsReadFromEtcd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := atOnceWorld(t).server()
		start := time.Now()
		for _, path := range atOnce {
			answer := get(t, s, fmt.Sprintf(path, 110))
			want(t, answer, 504, futureAnswer(110))
			if took := time.Since(start); took != 0 || answer.Header().Get("Retry-After") != "" {
				t.Fatalf("%s: after %v, %v", path, took, answer.Header())
			}
		}
		for _, query := range []string{"resourceVersion=110", "resourceVersion=110&limit=1&resourceVersionMatch=NotOlderThan"} {
			start = time.Now()
			answer := get(t, s, "/api/v1/namespaces/t1/configmaps?fieldSelector=metadata.name%3Dc1&"+query)
			if took := time.Since(start); answer.Code != 504 || took != freshWait || answer.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: %d after %v, %v", query, answer.Code, took, answer.Header())
			}
		}
	})
}

// TestWhatWasJustWrittenIsThere: a revision that the log is a moment behind is there once the cloud was asked.
func TestWhatWasJustWrittenIsThere(t *testing.T) {
	for _, path := range atOnce {
		w := atOnceWorld(t)
		p := &fakeProver{}
		s := w.server(func(c *Config) {
			c.Prover = p
			c.Beyond = func(http.ResponseWriter, *http.Request) bool {
				t.Errorf("%s: the cloud is asked for what is here", path)
				return false
			}
		})
		p.prove = func(Part, uint64) (uint64, error) {
			for _, l := range w.logs {
				w.write(l, thing{ns: "t1", name: "c1"})
			}
			return w.now(), nil
		}
		answer := get(t, s, fmt.Sprintf(path, 106))
		if asked := p.take(); answer.Code != http.StatusOK || len(asked) != 1 {
			t.Errorf("%s: %d %s, asked %v", path, answer.Code, answer.Body, asked)
		}
	}
}

// TestWhatIsNotHereIsTheClouds: a revision that no proof brings is the cloud's to answer, if that is there and can be asked
// for no more than the edge's part.
func TestWhatIsNotHereIsTheClouds(t *testing.T) {
	for _, path := range atOnce {
		path = fmt.Sprintf(path, 110)
		w := atOnceWorld(t)
		p := &fakeProver{prove: func(Part, uint64) (uint64, error) { return 0, errNoProof }}
		narrowed := true
		s := w.server(teapotWithin, func(c *Config) {
			c.Prover = p
			cloud := c.Beyond
			c.Beyond = func(w http.ResponseWriter, r *http.Request) bool { return narrowed && cloud(w, r) }
		})
		if answer := get(t, s, path); answer.Code != http.StatusTeapot || len(p.take()) != 1 {
			t.Errorf("%s: %d", path, answer.Code)
		}
		narrowed, s.freshWait = false, 10*time.Millisecond
		answer := get(t, s, path)
		if asked := p.take(); answer.Code != http.StatusGatewayTimeout || answer.Header().Get("Retry-After") != "" || len(asked) != 2 {
			t.Errorf("%s: %d %s, asked %v", path, answer.Code, answer.Body, asked)
		}
		narrowed = true
		w.cut(time.Time{})
		want(t, get(t, s, path), 504, futureAnswer(110))
		if asked := p.take(); len(asked) != 0 {
			t.Errorf("%s: asked %v without a cloud", path, asked)
		}
	}
}

// TestOnlyTheCloudAnswersAtOnce: when it can't be asked for the edge's part, a revision that it has is waited for where the
// log can come to it.
func TestOnlyTheCloudAnswersAtOnce(t *testing.T) {
	w := atOnceWorld(t)
	l := w.logs[configmaps.GroupVersionResource()]
	p := &fakeProver{prove: func(part Part, minRev uint64) (uint64, error) {
		for part == (Part{}) && l.Rev() < minRev {
			w.bookmark(l)
		}
		return l.Rev(), nil
	}}
	s := w.server(func(c *Config) { c.Prover = p })
	answer := get(t, s, fmt.Sprintf(atOnce[0], 110))
	if asked := p.take(); answer.Code != http.StatusOK || len(asked) != 2 {
		t.Errorf("%d %s, asked %v", answer.Code, answer.Body, asked)
	}
}

// TestATokenOfAFutureRevisionHasNotExpired: it is refused as what it is.
func TestATokenOfAFutureRevisionHasNotExpired(t *testing.T) {
	s := atOnceWorld(t).server()
	want(t, get(t, s, "/api/v1/namespaces/t1/events?continue="+token(110, "/c1\x00")), 504, futureAnswer(110))
}

// TestWatchFromAStateThatIsNotHereIsTheClouds: so is a watch of Events that begins with a state which the log can't tell to
// be that new. It stays an error in the stream when the cloud can't be asked.
func TestWatchFromAStateThatIsNotHereIsTheClouds(t *testing.T) {
	const watch = "/api/v1/namespaces/t1/events?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=110"
	s := atOnceWorld(t).server(teapotWithin, func(c *Config) {
		c.Prover = &fakeProver{prove: func(Part, uint64) (uint64, error) { return 105, nil }}
	})
	if answer := get(t, s, watch); answer.Code != http.StatusTeapot {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	s = atOnceWorld(t).server()
	if answer := get(t, s, watch); answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), `"type":"ERROR"`) {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
