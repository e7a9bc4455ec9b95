package codec_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func face(t testing.TB, resource string) *catalog.Face {
	t.Helper()
	for _, k := range catalog.Builtins() {
		if k.Stored().Resource.Name == resource {
			return k.Stored()
		}
	}
	t.Fatalf("no %s", resource)
	return nil
}

func widget() *catalog.Face {
	return &catalog.Face{Served: true, Resource: watchlog.Resource{
		Group: "ex.io", Version: "v1", Name: "widgets", Kind: "Widget", ListKind: "WidgetList", Namespaced: true, Custom: true,
	}}
}

const configMap = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"t1","resourceVersion":"7"},"data":{"a":"1"}}`

func TestDecodeAndEncode(t *testing.T) {
	for name, c := range map[string]struct {
		face            *catalog.Face
		mediaType, body string
		want            string
	}{
		"built-in, kind left out": {
			face(t, "configmaps"), codec.JSON, `{"data":{"a":"<b>"},"metadata":{"name":"a"}}`,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"a":"\u003cb\u003e"}}`,
		},
		"YAML": {
			face(t, "configmaps"), codec.YAML, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: \"1\"\n",
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"a":"1"}}`,
		},
		"custom resource": {
			widget(), codec.JSON, `{"kind":"Widget","apiVersion":"ex.io/v1","spec":{"b":1.5,"a":"<"},"metadata":{"name":"a"}}`,
			`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"a":"\u003c","b":1.5}}`,
		},
		"custom resource, YAML": {
			widget(), codec.YAML, "apiVersion: ex.io/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 9007199254740993}\n",
			`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":9007199254740993}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj, warnings, err := codec.Decode(c.face, []byte(c.body), c.mediaType, metav1.FieldValidationStrict)
			if err != nil || len(warnings) > 0 {
				t.Fatal(warnings, err)
			}
			got, err := codec.Encode(c.face, obj)
			if err != nil || string(got) != c.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, got, c.want)
			}
		})
	}
}

func TestDecodeProtobuf(t *testing.T) {
	in := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
	body, err := in.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := codec.Decode(face(t, "configmaps"), body, codec.Protobuf, ""); err == nil {
		t.Error("protobuf without its envelope was accepted")
	}
	if _, _, err := codec.Decode(widget(), body, codec.Protobuf, ""); apierrors.ReasonForError(err) != metav1.StatusReasonUnsupportedMediaType {
		t.Errorf("protobuf for a custom resource: %v", err)
	}
}

func TestFieldValidation(t *testing.T) {
	const builtin = `{"metadata":{"name":"w","bar":2},"foo":1,"data":{"x":"1","x":"2"}}`
	const custom = `{"kind":"Widget","apiVersion":"ex.io/v1","metadata":{"name":"w","bar":2},"spec":{"x":"1","x":"2"}}`
	for name, c := range map[string]struct {
		face     *catalog.Face
		body     string
		warnings string
		strict   string
	}{
		"built-in": {
			face(t, "configmaps"), builtin,
			`unknown field "metadata.bar",unknown field "foo",duplicate field "data.x"`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.bar", unknown field "foo", duplicate field "data.x"`,
		},
		"custom": {
			widget(), custom,
			`duplicate field "spec.x",unknown field "metadata.bar"`,
			`Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec.x", unknown field "metadata.bar"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"", metav1.FieldValidationWarn} {
				_, warnings, err := codec.Decode(c.face, []byte(c.body), codec.JSON, v)
				if got := strings.Join(warnings, ","); err != nil || got != c.warnings {
					t.Errorf("%q: %v\ngot  %s\nwant %s", v, err, got, c.warnings)
				}
			}
			obj, warnings, err := codec.Decode(c.face, []byte(c.body), codec.JSON, metav1.FieldValidationIgnore)
			if err != nil || len(warnings) != 0 {
				t.Errorf("Ignore: %v %v", warnings, err)
			}
			if raw, _ := codec.Encode(c.face, obj); strings.Contains(string(raw), "bar") {
				t.Errorf("the unknown field is still there: %s", raw)
			}
			_, _, err = codec.Decode(c.face, []byte(c.body), codec.JSON, metav1.FieldValidationStrict)
			if err == nil || err.Error() != c.strict || !apierrors.IsBadRequest(err) {
				t.Errorf("Strict:\ngot  %v\nwant %v", err, c.strict)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	cm := face(t, "configmaps")
	for name, c := range map[string]struct {
		face            *catalog.Face
		mediaType, body string
		want            string
	}{
		"another kind": {
			cm, codec.JSON, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`,
			`Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (v1.ConfigMap): unknown conversion`,
		},
		"cut short": {
			cm, codec.JSON, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"`,
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"kind":"ConfigMap","apiVersio ...)`,
		},
		"empty": {
			cm, codec.JSON, ``,
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`,
		},
		"wrong type": {
			cm, codec.JSON, `{"metadata":{"name":"a"},"data":{"x":1}}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
		},
		"unknown media type": {
			cm, "text/foo", `{}`,
			`the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf`,
		},
		"another kind of custom resource": {
			widget(), codec.JSON, `{"kind":"Foo","apiVersion":"ex.io/v1","metadata":{"name":"w2"}}`,
			`Foo.ex.io "w2" is invalid: kind: Invalid value: "Foo": must be Widget`,
		},
		"another version of custom resource": {
			widget(), codec.JSON, `{"kind":"Widget","apiVersion":"ex.io/v2","metadata":{"name":"w2"}}`,
			`the API version in the data (ex.io/v2) does not match the expected API version (ex.io/v1)`,
		},
		"another version": {
			face(t, "deployments"), codec.JSON, `{"kind":"Deployment","apiVersion":"apps/v1beta1","metadata":{"name":"w2"}}`,
			`the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)`,
		},
		"custom resource without kind": {
			widget(), codec.JSON, `{"metadata":{"name":"w2"}}`,
			`the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"w2"}}' ({"metadata":{"name":"w2"}})`,
		},
		"metadata of a custom resource is no object": {
			widget(), codec.JSON, `{"kind":"Widget","apiVersion":"ex.io/v1","metadata":3}`,
			`Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go value of type v1.ObjectMeta`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := codec.Decode(c.face, []byte(c.body), c.mediaType, "")
			if err == nil || err.Error() != c.want {
				t.Errorf("\ngot  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestPatch(t *testing.T) {
	cm := face(t, "configmaps")
	const podJSON = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"1","resources":{}},{"name":"b","image":"1","resources":{}}]},"status":{}}`
	for name, c := range map[string]struct {
		face           *catalog.Face
		current        string
		patchType      types.PatchType
		patch, val     string
		want, warnings string
	}{
		"merge": {cm, configMap, types.MergePatchType, `{"data":{"a":null,"b":"2"}}`, "", strings.Replace(configMap, `"a":"1"`, `"b":"2"`, 1), ""},
		"json":  {cm, configMap, types.JSONPatchType, `[{"op":"replace","path":"/data/a","value":"2"}]`, "", strings.Replace(configMap, `"a":"1"`, `"a":"2"`, 1), ""},
		"strategic merges lists by key": {
			face(t, "pods"), podJSON, types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"b","image":"2"}]}}`, "",
			strings.Replace(podJSON, `"b","image":"1"`, `"b","image":"2"`, 1), "",
		},
		"unknown field warns": {cm, configMap, types.MergePatchType, `{"foo":1,"data":{"a":"2","a":"1"}}`, "", configMap, `duplicate field "data.a",unknown field "foo"`},
		"ignored":             {cm, configMap, types.MergePatchType, `{"foo":1}`, "Ignore", configMap, ""},
		"custom":              {widget(), `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w"}}`, types.MergePatchType, `{"spec":{"a":1}}`, "Strict", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":1}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			obj, warnings, err := codec.Patch(c.face, []byte(c.current), string(c.patchType), []byte(c.patch), c.val)
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.Encode(c.face, obj)
			if err != nil || string(got) != c.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, got, c.want)
			}
			if w := strings.Join(warnings, ","); w != c.warnings {
				t.Errorf("warnings %q, want %q", w, c.warnings)
			}
		})
	}
}

func TestPatchRefuses(t *testing.T) {
	cm := face(t, "configmaps")
	for name, c := range map[string]struct {
		patchType  types.PatchType
		patch, val string
		code       int32
		want       string // what the message has
	}{
		"malformed merge":      {types.MergePatchType, `[1`, "", 400, "unexpected end of JSON input"},
		"failed test":          {types.JSONPatchType, `[{"op":"test","path":"/data/a","value":"9"}]`, "", 422, "the server rejected our request"},
		"json patch no list":   {types.JSONPatchType, `{"a":1}`, "", 400, "error decoding patch"},
		"unknown, strict":      {types.MergePatchType, `{"foo":1}`, "Strict", 422, `strict decoding error: unknown field "foo"`},
		"duplicate, strict":    {types.MergePatchType, `{"data":{"a":"1","a":"1"}}`, "Strict", 422, `strict decoding error: duplicate field "data.a"`},
		"wrong type":           {types.MergePatchType, `{"data":{"a":4}}`, "", 422, "cannot unmarshal number"},
		"another kind":         {types.MergePatchType, `{"kind":"Pod"}`, "", 422, "unknown conversion"},
		"strategic, malformed": {types.StrategicMergePatchType, `{`, "", 400, "unexpected end"},
		"strategic, strict":    {types.StrategicMergePatchType, `{"data":{"b":"4"},"foo":1}`, "Strict", 422, `"map[data:map[b:4] foo:1]": strict decoding error: unknown field "foo"`},
		"strategic, wrong":     {types.StrategicMergePatchType, `{"data":{"b":4}}`, "", 422, "cannot convert int64 to string"},
		"strategic, kind":      {types.StrategicMergePatchType, `{"kind":"Pod"}`, "", 422, "unknown conversion"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := codec.Patch(cm, []byte(configMap), string(c.patchType), []byte(c.patch), c.val)
			status, ok := err.(apierrors.APIStatus) //nolint:errorlint // it must be one itself
			if !ok {
				t.Fatalf("no Status: %v", err)
			}
			if s := status.Status(); s.Code != c.code || !strings.Contains(s.Message, c.want) {
				t.Errorf("got %d %s, want %d %s", s.Code, s.Message, c.code, c.want)
			}
		})
	}
}

func TestCheckPatchNamesWhatIsAccepted(t *testing.T) {
	err := codec.CheckPatch(face(t, "pods"), string(types.ApplyYAMLPatchType))
	if err == nil || !strings.HasSuffix(err.Error(), "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json") {
		t.Errorf("apply on pods: %v", err)
	}
	err = codec.CheckPatch(widget(), string(types.StrategicMergePatchType))
	if err == nil || !strings.HasSuffix(err.Error(), "application/json-patch+json, application/merge-patch+json") {
		t.Errorf("strategic merge on a custom resource: %v", err)
	}
	if err := codec.CheckPatch(widget(), string(types.MergePatchType)); err != nil {
		t.Error(err)
	}
}

func TestConvertBetweenVersionsOfACustomResource(t *testing.T) {
	f := widget()
	obj, _, err := codec.Decode(f, []byte(`{"kind":"Widget","apiVersion":"ex.io/v1","metadata":{"name":"a"},"spec":{"a":1}}`), codec.JSON, "")
	if err != nil {
		t.Fatal(err)
	}
	other := *f
	other.Resource.Version = "v2"
	conv, err := codec.Convert(obj, &other)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := codec.Encode(&other, conv)
	if want := `{"apiVersion":"ex.io/v2","kind":"Widget","metadata":{"name":"a"},"spec":{"a":1}}`; string(got) != want {
		t.Errorf("got %s", got)
	}
	if obj.GetObjectKind().GroupVersionKind().Version != "v1" {
		t.Error("the original changed its version")
	}
}

// Whatever a client sends, decoding it must neither panic nor return an object that can't be encoded.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(configMap), true)
	f.Add([]byte(`{"metadata":{"labels":{"a":1}}}`), false)
	f.Add([]byte("metadata:\n  name: a\n"), false)
	cm, wd := face(f, "configmaps"), widget()
	f.Fuzz(func(t *testing.T, body []byte, yaml bool) {
		mediaType := codec.JSON
		if yaml {
			mediaType = codec.YAML
		}
		for _, face := range []*catalog.Face{cm, wd} {
			obj, _, err := codec.Decode(face, body, mediaType, "")
			if err != nil {
				continue
			}
			raw, err := codec.Encode(face, obj)
			if err != nil {
				t.Fatalf("%q: %v", body, err)
			}
			if _, err := codec.DecodeStored(face, raw); err != nil {
				t.Fatalf("%q became %s: %v", body, raw, err)
			}
		}
	})
}

// The same for patches.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"data":{"a":"2"}}`), uint8(0))
	f.Add([]byte(`[{"op":"remove","path":"/data"}]`), uint8(1))
	f.Add([]byte(`{"$retainKeys":["data"],"data":null}`), uint8(2))
	cm := face(f, "configmaps")
	f.Fuzz(func(t *testing.T, patch []byte, n uint8) {
		kinds := codec.PatchTypes(cm)
		obj, _, err := codec.Patch(cm, []byte(configMap), kinds[int(n)%len(kinds)], patch, "")
		if err != nil {
			return
		}
		if _, err := codec.Encode(cm, obj); err != nil {
			t.Fatalf("%q: %v", patch, err)
		}
	})
}
