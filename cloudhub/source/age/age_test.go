package age

import "testing"

func TestTimesAreFoundWhereTheServerFindsThem(t *testing.T) {
	const object = `{"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"},"status":{"zero":"0001-01-01T00:00:00Z","none":null,` +
		`"text":"soon","zone":"2026-01-02T03:04:05.5+01:00","list":[{"type":"A","at":"2026-01-02T00:00:00Z"},{"type":"B","at":"2026-01-03T00:00:00Z"}]}}`
	for path, want := range map[string]string{
		".metadata.creationTimestamp":               "2026-01-02T03:04:05Z",
		".status.zone":                              "2026-01-02T03:04:05.5+01:00",
		".status.zero":                              "",
		".status.none":                              "",
		".status.text":                              "",
		".status.absent":                            "",
		".status":                                   "",
		`.status.list[1].at`:                        "2026-01-03T00:00:00Z",
		`.status.list[?(@.type=="A")].at`:           "2026-01-02T00:00:00Z",
		`.status.list[?(@.type=="C")].at`:           "",
		`.status['zone']`:                           "2026-01-02T03:04:05.5+01:00",
		`.metadata.creationTimestamp.further.below`: "",
	} {
		a, ok := Path(path)([]byte(object), "")
		if ok != (want != "") || ok && a.Since != want {
			t.Errorf("%s: %q, %t", path, a.Since, ok)
		}
	}
	if Path(".a[") != nil {
		t.Error("a path that can't be read has a rule")
	}
}

func TestAgesAreCells(t *testing.T) {
	for want, a := range map[string]Age{
		`{"since":"t","format":"%s"}`:                     {Since: "t", Format: Plain},
		`{"since":"t","format":"\"%s"}`:                   {Since: "t", Format: `"%s`},
		`{"since":"t","format":"%s ago","ahead":"in %s"}`: {Since: "t", Format: "%s ago", Ahead: "in %s"},
	} {
		if got := string(a.Append(nil)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
