package watchlog

import (
	"strings"
	"testing"
)

func TestMember(t *testing.T) {
	const raw = `{"a":{"b":"x}"}, "b" : [1,{"b":2}],"c":"}"}`
	for key, want := range map[string]string{"a": `{"b":"x}"}`, "b": `[1,{"b":2}]`, "c": `"}"`, "d": ""} {
		if got := string(Member([]byte(raw), key)); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
	for _, raw := range []string{``, `{}`, `[]`, `{"b"}`, `{"a":1 "b":2}`, `{"a":tru,"b":1}`, `null`} {
		if got := Member([]byte(raw), "b"); got != nil {
			t.Errorf("%s: %s", raw, got)
		}
	}
}

func TestElements(t *testing.T) {
	var got []string
	if !Elements([]byte(`["a,]",1, null,{"x":[2]}]`), func(_ int, v []byte) bool {
		got = append(got, string(v))
		return true
	}) {
		t.Error("not followed")
	}
	if s := strings.Join(got, "|"); s != `"a,]"|1|null|{"x":[2]}` {
		t.Error(s)
	}
	for raw, ok := range map[string]bool{`[]`: true, `[1`: false, `[1 2]`: false, `{}`: false, ``: false} {
		if Elements([]byte(raw), func(int, []byte) bool { return true }) != ok {
			t.Errorf("%s: %t", raw, !ok)
		}
	}
}

func TestSkipValue(t *testing.T) {
	if end, err := SkipValue([]byte(`x {"a":"}"},`), 1); err != nil || end != 11 {
		t.Errorf("%d, %v", end, err)
	}
	if _, err := SkipValue([]byte(`x`), 1); err == nil {
		t.Error("a value behind the end")
	}
}
