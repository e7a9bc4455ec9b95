package scope

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// thing is an object as the plain reference implementation knows it.
type thing struct {
	gr        schema.GroupResource
	namespace string
	name      string
	labels    map[string]string
	node      string      // of a pod
	static    bool        // a mirror of a static pod
	refers    []reference // in the order in which they were put in
	object    any         // what is encoded
}

func (t *thing) key() string { return watchlog.KeyOf(t.namespace, t.name) }

// plain is the reference implementation: it looks at everything, again and again.
type plain struct {
	rules  []Rule
	nodes  []string
	things map[schema.GroupResource]map[string]*thing
}

// holds tells whether the edge may hold a thing.
func (p plain) holds(t *thing) bool {
	return slices.ContainsFunc(p.rules, func(r Rule) bool { return p.covered(r, t) })
}

func (p plain) covered(r Rule, t *thing) bool {
	if r.Group != t.gr.Group || r.Resource != t.gr.Resource {
		return false
	}
	if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, t.namespace) {
		return false
	}
	if r.NamespaceSelector != "" {
		key, value, _ := strings.Cut(r.NamespaceSelector, "=")
		ns := p.things[namespaces][t.namespace]
		if ns == nil || ns.labels[key] != value {
			return false
		}
	}
	if r.LabelSelector != "" {
		key, value, _ := strings.Cut(r.LabelSelector, "=")
		if t.labels[key] != value {
			return false
		}
	}
	if r.BoundToNode != "" && !slices.Contains(p.nodes, t.node) {
		return false
	}
	return len(r.ReferencedBy) == 0 || p.referenced(r, t)
}

func (p plain) referenced(r Rule, t *thing) bool {
	for _, from := range r.ReferencedBy {
		for _, by := range p.things[schema.GroupResource{Resource: from}] {
			if !by.static && slices.Contains(by.refers, reference{t.gr, t.key()}) && p.holds(by) {
				return true
			}
		}
	}
	return false
}

// world makes things at random, and keeps logs of them.
type world struct {
	t      *testing.T
	rnd    *rand.Rand
	rev    uint64
	things map[schema.GroupResource]map[string]*thing
	logs   map[schema.GroupResource]*watchlog.Log
}

var graphed = []schema.GroupResource{pods, secrets, configMaps, serviceAccounts, claims, volumes, namespaces}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), rev: 1,
		things: map[schema.GroupResource]map[string]*thing{}, logs: map[schema.GroupResource]*watchlog.Log{},
	}
	for _, gr := range graphed {
		r := &watchlog.Resource{Version: "v1", Name: gr.Resource, Kind: gr.Resource, Namespaced: gr != volumes && gr != namespaces}
		if gr == pods {
			r = podResource()
		}
		w.things[gr], w.logs[gr] = map[string]*thing{}, watchlog.New(r, watchlog.Config{})
		if err := w.logs[gr].Load(watchlog.Content{Rev: 1, Floor: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) some(kind string) string { return fmt.Sprintf("%s-%d", kind, w.rnd.IntN(4)) }

// write changes, makes or deletes one thing, and returns the event.
func (w *world) write() (schema.GroupResource, *watchlog.Event) {
	w.t.Helper()
	w.rev++
	t := w.thing()
	log, op := w.logs[t.gr], watchlog.Op{Key: t.key(), Rev: w.rev}
	if w.things[t.gr][t.key()] != nil && w.rnd.IntN(3) == 0 {
		delete(w.things[t.gr], t.key())
	} else {
		data, err := json.Marshal(t.object)
		if err != nil {
			w.t.Fatal(err)
		}
		if op.Object, err = log.Decoder().Decode(data); err != nil {
			w.t.Fatal(err)
		}
		w.things[t.gr][t.key()] = t
	}
	batch := log.Snapshot().Plan([]watchlog.Op{op}, w.rev)
	if err := log.Commit(batch); err != nil {
		w.t.Fatal(err)
	}
	if len(batch.Events) != 1 {
		w.t.Fatalf("%s: %d events", t.key(), len(batch.Events))
	}
	return t.gr, batch.Events[0]
}

func (w *world) thing() *thing {
	t := &thing{gr: graphed[w.rnd.IntN(len(graphed))], namespace: w.some("ns"), labels: map[string]string{"app": w.some("app")}}
	if w.rnd.IntN(2) == 0 {
		t.gr = pods
	}
	t.name = w.some(t.gr.Resource)
	if !w.logs[t.gr].Resource().Namespaced {
		t.namespace = ""
	}
	if t.gr == namespaces {
		t.name = w.some("ns")
		t.labels = map[string]string{"site": w.some("site")}
	}
	meta := metav1.ObjectMeta{
		Name: t.name, Namespace: t.namespace, UID: types.UID(fmt.Sprint("uid-", t.name)), ResourceVersion: fmt.Sprint(w.rev), Labels: t.labels,
	}
	switch t.gr {
	case pods:
		t.object = w.pod(t, meta)
	case serviceAccounts:
		sa := &corev1.ServiceAccount{ObjectMeta: meta, Secrets: []corev1.ObjectReference{{Name: "secrets-0"}}} // which is not followed
		if w.rnd.IntN(2) == 0 {
			sa.ImagePullSecrets = []corev1.LocalObjectReference{{Name: w.mention(t, secrets)}}
		}
		t.object = sa
	case claims:
		c := &corev1.PersistentVolumeClaim{ObjectMeta: meta}
		if w.rnd.IntN(2) == 0 {
			c.Spec.VolumeName = w.some("persistentvolumes")
			t.refers = append(t.refers, reference{volumes, c.Spec.VolumeName})
		}
		t.object = c
	case volumes:
		t.object = w.volume(t, meta)
	default:
		t.object = &metav1.PartialObjectMetadata{ObjectMeta: meta}
	}
	return t
}

// mention returns a name in the thing's namespace that it is going to mention.
func (w *world) mention(t *thing, to schema.GroupResource) string {
	name := w.some(to.Resource)
	t.refers = append(t.refers, reference{to, watchlog.KeyOf(t.namespace, name)})
	return name
}

func (w *world) volume(t *thing, meta metav1.ObjectMeta) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: meta}
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: w.some("ns"), Name: "c"}
	name := w.some("secrets")
	switch w.rnd.IntN(3) {
	case 0:
		ns := w.some("ns")
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{
			NodeStageSecretRef:         &corev1.SecretReference{Namespace: ns, Name: name},
			ControllerPublishSecretRef: &corev1.SecretReference{Namespace: ns, Name: "secrets-0"}, // which no kubelet needs
		}
		t.refers = append(t.refers, reference{secrets, watchlog.KeyOf(ns, name)})
	case 1:
		v.Spec.RBD = &corev1.RBDPersistentVolumeSource{SecretRef: &corev1.SecretReference{Name: name}}
		t.refers = append(t.refers, reference{secrets, watchlog.KeyOf(v.Spec.ClaimRef.Namespace, name)})
	}
	return v
}

// pod makes a pod that mentions things in places of all sorts.
func (w *world) pod(t *thing, meta metav1.ObjectMeta) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta}
	t.node = w.some("node")
	p.Spec.NodeName = t.node
	if t.static = w.rnd.IntN(8) == 0; t.static {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	p.Status.Phase = corev1.PodPhase(w.some("phase"))
	for range w.rnd.IntN(4) {
		w.decorate(t, p)
	}
	return p
}

func (w *world) decorate(t *thing, p *corev1.Pod) {
	local := func() corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: w.mention(t, secrets)} }
	volume := func(v corev1.VolumeSource) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", len(p.Spec.Volumes)), VolumeSource: v})
	}
	switch w.rnd.IntN(13) {
	case 0:
		p.Spec.ServiceAccountName = w.some("serviceaccounts")
		t.refers = slices.DeleteFunc(t.refers, func(r reference) bool { return r.to == serviceAccounts })
		t.refers = append(t.refers, reference{serviceAccounts, watchlog.KeyOf(t.namespace, p.Spec.ServiceAccountName)})
	case 1:
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, local())
	case 2:
		volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: w.mention(t, secrets)}})
	case 3:
		c := corev1.LocalObjectReference{Name: w.mention(t, configMaps)}
		volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: c}})
	case 4:
		c := corev1.LocalObjectReference{Name: w.mention(t, configMaps)}
		volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: local()}}, {ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: c}},
		}}})
	case 5:
		volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: w.mention(t, claims)}})
	case 6:
		s := local()
		volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: &s}})
	case 7:
		t.refers = append(t.refers, reference{claims, watchlog.KeyOf(t.namespace, fmt.Sprintf("%s-v%d", t.name, len(p.Spec.Volumes)))})
		volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})
	case 8, 9, 10, 11:
		w.container(t, p)
	}
}

// container adds a container of some sort with an environment.
func (w *world) container(t *thing, p *corev1.Pod) {
	c := corev1.Container{Name: "c"}
	secret := corev1.LocalObjectReference{Name: w.mention(t, secrets)}
	config := corev1.LocalObjectReference{Name: w.mention(t, configMaps)}
	if w.rnd.IntN(2) == 0 {
		c.Env = []corev1.EnvVar{
			{Name: "a", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: secret}}},
			{Name: "b", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: config}}},
			{Name: "c", Value: "secrets-0"},
		}
	} else {
		c.EnvFrom = []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: secret}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: config}},
		}
	}
	switch w.rnd.IntN(3) {
	case 0:
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	case 1:
		p.Spec.Containers = append(p.Spec.Containers, c)
	default:
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: c.Name, Env: c.Env, EnvFrom: c.EnvFrom},
		})
	}
}
