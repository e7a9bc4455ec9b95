package guarantee

import (
	"context"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	pod := Object{Key: "ns/p", Body: `{"metadata":{"labels":{"team":"a"}},"spec":{"nodeName":"n1","hostNetwork":true}}`}
	for name, c := range map[string]struct {
		match Match
		want  bool
	}{
		"namespace":            {InNamespace("ns"), true},
		"prefix of another":    {InNamespace("n"), false},
		"field":                {HasField("spec.nodeName", "n1"), true},
		"other value":          {HasField("spec.nodeName", "n2"), false},
		"boolean field":        {HasField("spec.hostNetwork", "true"), true},
		"absent field":         {HasField("status.phase", ""), true},
		"through no object":    {HasField("spec.nodeName.x", ""), true},
		"label":                {HasLabel("team", "a"), true},
		"other label":          {HasLabel("team", "b"), false},
		"all":                  {All(InNamespace("ns"), nil, HasLabel("team", "a")), true},
		"all but one":          {All(InNamespace("ns"), HasLabel("team", "b")), false},
		"nothing asked for":    {All(), true},
		"a field of no object": {HasField("spec", "n1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.match(pod); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestCatchUpTellsWhatIsMissing(t *testing.T) {
	s := newSmall()
	s.h.Removed("cloud", resource, "ns/a", "uid-a", 9)
	s.list(5, Answer{}, s.a)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.edge.CatchUp(ctx)
	if err == nil || !strings.Contains(err.Error(), "ns/a@5 should be gone; ns/b@7 is missing") {
		t.Errorf("got %v", err)
	}
	if err := s.edge.Await(ctx, "ns/a", 6); err == nil {
		t.Error("an older version is taken for the one awaited")
	}
	if err := s.edge.Await(ctx, "ns/c", 0); err != nil {
		t.Error(err)
	}
}
