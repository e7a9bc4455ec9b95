package guarantee

import (
	"encoding/json"
	"testing"
)

func TestWithRV(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"typed": {
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","resourceVersion":"5","annotations":{"resourceVersion":"5"}}}`,
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","resourceVersion":"77","annotations":{"resourceVersion":"5"}}}`,
		},
		"custom, sorted keys": {
			`{"apiVersion":"ex.io/v1","kind":"W","metadata":{"annotations":{"resourceVersion":"5"},"resourceVersion":"5"},"spec":{"resourceVersion":"5"}}`,
			`{"apiVersion":"ex.io/v1","kind":"W","metadata":{"annotations":{"resourceVersion":"5"},"resourceVersion":"77"},"spec":{"resourceVersion":"5"}}`,
		},
		"data in front": {
			`{"data":{"metadata":"x","resourceVersion":"1"},"metadata":{"resourceVersion": "5"}}`,
			`{"data":{"metadata":"x","resourceVersion":"1"},"metadata":{"resourceVersion": "77"}}`,
		},
		"none":     {`{"metadata":{"name":"x"}}`, `{"metadata":{"name":"x"}}`},
		"no JSON":  {`{"metadata":{`, `{"metadata":{`},
		"a number": {`{"metadata":{"resourceVersion":5}}`, `{"metadata":{"resourceVersion":5}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withRV(c.body, 77); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func FuzzWithRV(f *testing.F) {
	f.Add(`{"kind":"Pod","metadata":{"name":"p","resourceVersion":"5"},"x":[{"metadata":{}}]}`)
	f.Add(`{"metadata":{"resourceVersion":"\"5"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		before, err := ParseObject([]byte(body))
		after := withRV(body, 123)
		if err != nil || after == body {
			return
		}
		got, err := ParseObject([]byte(after))
		if err != nil || !json.Valid([]byte(after)) {
			t.Fatalf("%q became %q: %v", body, after, err)
		}
		if got.Key != before.Key || got.UID != before.UID {
			t.Fatalf("%q became %q", body, after)
		}
	})
}
