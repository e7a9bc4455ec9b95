package watchlog

import "strconv"

// metaField is a field of a type of Kubernetes' metadata: where it stands in the order of the type's JSON.
type metaField struct {
	key    string
	zero   string      // the value that is left out; null always is
	nested []metaField // the fields of the objects in the list that the value is
}

// metaFields are the fields of ObjectMeta, in the order of apimachinery pkg/apis/meta/v1/types.go.
var metaFields = []metaField{
	{key: "name", zero: `""`},
	{key: "generateName", zero: `""`},
	{key: "namespace", zero: `""`},
	{key: "selfLink", zero: `""`},
	{key: "uid", zero: `""`},
	{key: "resourceVersion", zero: `""`},
	{key: "generation", zero: "0"},
	{key: "creationTimestamp"},
	{key: "deletionTimestamp"},
	{key: "deletionGracePeriodSeconds"},
	{key: "labels", zero: "{}"},
	{key: "annotations", zero: "{}"},
	{key: "ownerReferences", zero: "[]", nested: []metaField{
		{key: "apiVersion"}, {key: "kind"}, {key: "name"}, {key: "uid"}, {key: "controller"}, {key: "blockOwnerDeletion"},
	}},
	{key: "finalizers", zero: "[]"},
	{key: "managedFields", zero: "[]", nested: []metaField{
		{key: "manager", zero: `""`}, {key: "operation", zero: `""`}, {key: "apiVersion", zero: `""`}, {key: "time"},
		{key: "fieldsType", zero: `""`}, {key: "fieldsV1"}, {key: "subresource", zero: `""`},
	}},
}

// maxMetaFields is the number of fields of the largest type.
const maxMetaFields = 15

// AppendMetadata appends the object's metadata to dst with rev as its resourceVersion, as kube-apiserver writes it in a
// PartialObjectMetadata: in the order of the fields of ObjectMeta. Typed resources have that order already; the keys of
// custom ones are sorted, and put in that order here.
func (o *Object) AppendMetadata(dst []byte, rev uint64) []byte {
	switch {
	case o.custom && rev == o.rev:
		return appendFields(dst, o.json[o.metaStart:o.metaEnd], metaFields)
	case o.custom:
		return appendFields(dst, o.appendRawMetadata(nil, rev), metaFields)
	default:
		return o.appendRawMetadata(dst, rev)
	}
}

func (o *Object) appendRawMetadata(dst []byte, rev uint64) []byte {
	if rev == o.rev {
		return append(dst, o.json[o.metaStart:o.metaEnd]...)
	}
	dst = append(dst, o.json[o.metaStart:o.revStart]...)
	dst = strconv.AppendUint(dst, rev, 10)
	return append(dst, o.json[o.revEnd:o.metaEnd]...)
}

// appendFields appends the object raw with its members in the order of fields. Other members are left out, as are empty
// ones. What is no object stays as it is.
func appendFields(dst, raw []byte, fields []metaField) []byte {
	var values [maxMetaFields][]byte
	s := scanner{buf: raw}
	err := s.object(func(key []byte) error {
		value, err := s.value()
		for i := range fields {
			if string(key) == fields[i].key {
				values[i] = value
			}
		}
		return err
	})
	if err != nil {
		return append(dst, raw...)
	}
	dst = append(dst, '{')
	first := true
	for i := range fields {
		if v := string(values[i]); v == "" || v == "null" || v == fields[i].zero {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), fields[i].key...), `":`...)
		dst = appendField(dst, values[i], fields[i].nested)
	}
	return append(dst, '}')
}

// appendField appends a value; nested are the fields of the objects in it if it is a list of some.
func appendField(dst, raw []byte, nested []metaField) []byte {
	s := scanner{buf: raw}
	if nested == nil || !s.take('[') {
		return append(dst, raw...)
	}
	begin := len(dst)
	for c := byte('['); ; c = ',' {
		value, err := s.value()
		if err != nil {
			return append(dst[:begin], raw...)
		}
		dst = appendFields(append(dst, c), value, nested)
		if !s.take(',') {
			return append(dst, ']')
		}
	}
}
