package litesrv

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	asProtoPartial     = asProtobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asProtoPartialList = asProtobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// opened returns what is in an envelope.
func opened(t testing.TB, body string) runtime.Unknown {
	t.Helper()
	raw, ok := strings.CutPrefix(body, protobufMagic)
	var u runtime.Unknown
	if err := u.Unmarshal([]byte(raw)); !ok || err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return u
}

// protoStatus returns the Status that a body is in protobuf.
func protoStatus(t testing.TB, body string) metav1.Status {
	t.Helper()
	u := opened(t, body)
	var s metav1.Status
	if err := s.Unmarshal(u.Raw); err != nil || u.Kind != "Status" || u.APIVersion != "v1" {
		t.Fatalf("%q: %v", body, err)
	}
	return s
}

// TestMetadataListsOfBothVersionsInProtobuf decodes them with the types of apimachinery: the fields are numbered the other
// way round in v1beta1.
func TestMetadataListsOfBothVersionsInProtobuf(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1"}, thing{ns: "t1", name: "c2"})
	s := w.server()
	for version, list := range map[string]interface {
		Unmarshal([]byte) error
		GetResourceVersion() string
		GetContinue() string
	}{"v1": &metav1.PartialObjectMetadataList{}, "v1beta1": &metav1beta1.PartialObjectMetadataList{}} {
		accept := asProtobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=" + version
		u := opened(t, get(t, s, "/api/v1/configmaps?limit=1", "Accept", accept).Body.String())
		if err := list.Unmarshal(u.Raw); err != nil || u.APIVersion != "meta.k8s.io/"+version {
			t.Fatalf("%s: %q: %v", version, u.Raw, err)
		}
		if list.GetResourceVersion() != "100" || list.GetContinue() == "" {
			t.Errorf("%s: %q", version, u.Raw)
		}
	}
}

// TestAcceptsWithProtobuf says in what an object and an error are answered.
func TestAcceptsWithProtobuf(t *testing.T) {
	const yes, no, fails = asProtobuf, "application/json", "406"
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1"})
	w.load(widgets, thing{ns: "t1", name: "c1"})
	s := w.server()
	for _, c := range []struct {
		accept                 string
		builtin, custom, wrong string // wrong is the type of an error
	}{
		{asProtobuf, yes, fails, yes},
		{asProtobuf + ",application/json", yes, no, yes},
		{asProtobuf + ", */*", yes, no, yes},
		{asProtobuf + ";q=0.1,application/json", no, no, no},
		{asProtobuf + ";stream=watch", yes, fails, yes},
		{asProtobuf + ";pretty=1", yes, fails, yes},
		{asProtoPartial, yes, yes, no},
		{asProtoPartial + ",application/json", yes, yes, no},
		{asProtoPartial + "," + asProtobuf, yes, yes, yes},
		{asProtobuf + "," + asProtoPartial, yes, yes, yes},
		{asProtobuf + ";as=Table;v=v1;g=meta.k8s.io,application/json", no, no, no},
	} {
		for path, want := range map[string]string{
			"/api/v1/namespaces/t1/configmaps/c1":     c.builtin,
			"/apis/ex.io/v1/namespaces/t1/widgets/c1": c.custom,
			"/api/v1/namespaces/t1/configmaps/none":   c.wrong,
		} {
			got := get(t, s, path+"?pretty=1", "Accept", c.accept)
			if want == fails {
				if m := protoStatus(t, got.Body.String()).Message; got.Code != 406 || m != acceptedOnly {
					t.Errorf("%s as %q: %d %q", path, c.accept, got.Code, m)
				}
				want = yes
			}
			if have := got.Header().Get("Content-Type"); have != want || strings.HasPrefix(got.Body.String(), protobufMagic) != (want == yes) {
				t.Errorf("%s as %q: %s %q, want %s", path, c.accept, have, got.Body, want)
			}
		}
	}
}
