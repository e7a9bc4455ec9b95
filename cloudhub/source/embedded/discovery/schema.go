package discovery

import (
	"reflect"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// noSchema is what kubectl explains of built-in kinds.
const noSchema = "The embedded cloud has no schemas of built-in kinds: their fields are not listed here, and any may be there. " +
	"See the API reference of Kubernetes."

// schemaOf returns the schema that a custom resource declares, or one that allows anything.
func schemaOf(e entry) object {
	s := anything()
	if e.face.Schema != nil {
		s = object{}
		for k, v := range e.face.Schema {
			s[k] = v
		}
	} else if !e.face.Resource.Custom {
		s = stub(e)
	}
	gvk := e.face.GVK()
	s["x-kubernetes-group-version-kind"] = []object{{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}}
	return s
}

// stub returns the schema of a built-in kind: the fields that nearly all have, each of which allows anything.
func stub(e entry) object {
	properties := object{"apiVersion": object{"type": "string"}, "kind": object{"type": "string"}, "metadata": unlisted()}
	t := catalog.Scheme.AllKnownTypes()[e.face.GVK()]
	for name, field := range map[string]string{"spec": "Spec", "status": "Status"} {
		if f, ok := t.FieldByName(field); ok && f.Type.Kind() == reflect.Struct {
			properties[name] = unlisted()
		}
	}
	s := unlisted()
	s["properties"] = properties
	return s
}

func anything() object { return object{"type": "object", "x-kubernetes-preserve-unknown-fields": true} }

// unlisted is anything of a built-in kind.
func unlisted() object {
	s := anything()
	s["description"] = noSchema
	return s
}
