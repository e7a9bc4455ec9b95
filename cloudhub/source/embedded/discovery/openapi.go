package discovery

import (
	"slices"
	"strings"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// object is a JSON object; encoding sorts its keys, so equal ones have equal bytes.
type object = map[string]any

// openAPI returns the OpenAPI v3 documents, one for each group and version, and their index. They are as small as clients
// can do with: kubectl finds in them which parameters the operations on a kind have (it leaves the validation of fields
// to the server then), and explains custom resources from their schemas. Built-in kinds have a stub there
// that says so, and no strategic merge patch, which makes kubectl merge by its own types.
func openAPI(gs []group) []apidoc.Document {
	var docs []apidoc.Document
	paths := object{}
	for _, g := range gs {
		for _, v := range g.versions {
			root := v.root()
			d, hash := tagged("/openapi/v3"+root, describe(v))
			docs = append(docs, d)
			paths[root[1:]] = object{"serverRelativeURL": d.Path + "?hash=" + hash}
		}
	}
	index, _ := tagged("/openapi/v3", object{"paths": paths})
	return append(docs, index)
}

// describe returns the document of one version.
func describe(v groupVersion) object {
	paths, schemas := object{}, object{}
	for _, e := range v.entries {
		collection := v.root() + "/"
		if e.face.Resource.Namespaced {
			collection += "namespaces/{namespace}/"
		}
		collection += e.face.Resource.Name
		paths[collection] = object{
			"get":  operation(e, "list", "list", nil),
			"post": operation(e, "create", "post", writeParameters),
		}
		paths[collection+"/{name}"] = object{
			"get":    operation(e, "read", "get", nil),
			"put":    operation(e, "replace", "put", writeParameters),
			"patch":  operation(e, "patch", "patch", writeParameters),
			"delete": operation(e, "delete", "delete", deleteParameters),
		}
		schemas[schemaName(e)] = schemaOf(e)
	}
	return object{
		"openapi":    "3.0.0",
		"info":       object{"title": "Kubernetes", "version": Version},
		"paths":      paths,
		"components": object{"schemas": schemas},
	}
}

var (
	writeParameters  = []object{parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")}
	deleteParameters = []object{parameter("dryRun"), parameter("propagationPolicy")}
)

func parameter(name string) object {
	return object{"name": name, "in": "query", "schema": object{"type": "string"}}
}

func operation(e entry, verb, action string, parameters []object) object {
	gvk := e.face.GVK()
	op := object{
		"operationId":         verb + strings.ReplaceAll(gvk.Group, ".", "_") + gvk.Version + gvk.Kind,
		"x-kubernetes-action": action,
		"x-kubernetes-group-version-kind": object{
			"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind,
		},
		"responses": object{"200": object{"description": "OK", "content": content(e, mediaJSON)}},
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	switch action {
	case "post", "put":
		op["requestBody"] = object{"content": content(e, mediaJSON, "application/yaml"), "required": true}
	case "patch":
		op["requestBody"] = object{"required": true, "content": object{
			"application/json-patch+json": object{}, "application/merge-patch+json": object{},
		}}
	}
	return op
}

// content says that a body is an object of the kind.
func content(e entry, mediaTypes ...string) object {
	c := object{}
	for _, m := range mediaTypes {
		c[m] = object{"schema": object{"$ref": "#/components/schemas/" + schemaName(e)}}
	}
	return c
}

// schemaName returns the name of a kind among schemas: its group turned round, its version and kind.
func schemaName(e entry) string {
	gvk := e.face.GVK()
	parts := strings.Split(gvk.Group, ".")
	slices.Reverse(parts)
	return strings.TrimPrefix(strings.Join(append(parts, gvk.Version, gvk.Kind), "."), ".")
}
