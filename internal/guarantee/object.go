package guarantee

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Object is one version of a Kubernetes object as somebody was shown it.
type Object struct {
	Key  string // "namespace/name", or "name" for cluster-scoped resources
	UID  string
	RV   uint64 // metadata.resourceVersion
	Body string // the JSON, compact, with kind and apiVersion, without a newline
}

// identity is the part of an object's JSON that tells versions apart.
type identity struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// ParseObject reads an Object from its JSON. Names may be absent (a bookmark has none); a
// resourceVersion that isn't an unsigned integer is an error.
func ParseObject(body []byte) (Object, error) {
	var id identity
	if err := json.Unmarshal(body, &id); err != nil {
		return Object{}, fmt.Errorf("parse object: %w", err)
	}
	rv, err := strconv.ParseUint(id.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return Object{}, fmt.Errorf("parse object %s: resourceVersion: %w", id.Metadata.Name, err)
	}
	return Object{Key: joinKey(id.Metadata.Namespace, id.Metadata.Name), UID: id.Metadata.UID, RV: rv, Body: string(body)}, nil
}

func joinKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func (o Object) String() string {
	return fmt.Sprintf("%s@%d uid=%s", o.Key, o.RV, o.UID)
}
