package embedded

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
)

// post creates an object.
func (c *Cloud) post(r *request) (answer, error) {
	m, err := r.createMode()
	if err != nil {
		return answer{}, err
	}
	obj, warnings, err := codec.Decode(r.face.def(), r.body, r.mediaType(), m.validation)
	if err != nil {
		return answer{}, err
	}
	ans := answer{code: http.StatusCreated, gvk: r.face.def().GVK(), warnings: warnings}
	err = c.write(func(t *tx) error {
		t.dry = m.dry
		p, err := r.at(t)
		if err != nil {
			return err
		}
		ans.raw, err = t.create(p.face, p.namespace, obj)
		return err
	})
	return ans, err
}

// put replaces an object or a part of it.
func (c *Cloud) put(r *request) (answer, error) {
	m, err := r.updateMode()
	if err != nil {
		return answer{}, err
	}
	obj, warnings, err := codec.Decode(r.face.def(), r.body, r.mediaType(), m.validation)
	if err != nil {
		return answer{}, err
	}
	ans := answer{code: http.StatusOK, gvk: r.face.def().GVK(), warnings: warnings}
	err = c.write(func(t *tx) error {
		t.dry = m.dry
		p, err := r.at(t)
		if err != nil {
			return err
		}
		there := t.get(p.face.resource, p.key())
		if there == nil && p.face.kind.Upsert && p.sub == "" {
			ans.code = http.StatusCreated
			ans.raw, err = t.upsert(p, obj)
			return err
		}
		if there != nil {
			if err := p.checkUID(accessor(obj).GetUID(), there); err != nil {
				return err
			}
		}
		ans.raw, err = t.update(p, func([]byte) (runtime.Object, error) { return obj, nil })
		return err
	})
	return ans, err
}

// upsert creates the object that a PUT is about.
func (t *tx) upsert(p place, obj runtime.Object) ([]byte, error) {
	m := accessor(obj)
	if err := p.matches(m); err != nil {
		return nil, err
	}
	if m.GetUID() != "" || m.GetResourceVersion() != "" {
		return nil, p.notFound() // it is meant to be there
	}
	return t.create(p.face, p.namespace, obj)
}

// patch changes an object or a part of it.
func (c *Cloud) patch(r *request) (answer, error) {
	if err := codec.CheckPatch(r.face.def(), r.mediaType()); err != nil {
		return answer{}, err
	}
	m, err := r.patchMode()
	if err != nil {
		return answer{}, err
	}
	ans := answer{code: http.StatusOK, gvk: r.face.def().GVK()}
	err = c.write(func(t *tx) error {
		t.dry = m.dry
		p, err := r.at(t)
		if err != nil {
			return err
		}
		ans.raw, err = t.update(p, func(raw []byte) (runtime.Object, error) {
			obj, warnings, err := codec.Patch(p.face.def(), raw, r.mediaType(), r.body, m.validation)
			ans.warnings = warnings
			return obj, err
		})
		return err
	})
	return ans, err
}

// deleteOne deletes an object.
func (c *Cloud) deleteOne(r *request) (answer, error) {
	o, err := r.deleteOptions()
	if err != nil {
		return answer{}, err
	}
	ans := answer{code: http.StatusOK, gvk: r.face.def().GVK()}
	err = c.write(func(t *tx) error {
		t.dry = len(o.DryRun) > 0
		p, err := r.at(t)
		if err != nil {
			return err
		}
		raw, status, err := t.delete(p, o.Preconditions)
		if err != nil {
			return err
		}
		if status != nil {
			ans = statusAnswer(http.StatusOK, status)
		} else {
			ans.raw = raw
		}
		return nil
	})
	return ans, err
}
