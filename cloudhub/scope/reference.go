package scope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// The resources among which references are followed.
var (
	pods            = schema.GroupResource{Resource: "pods"}
	secrets         = schema.GroupResource{Resource: "secrets"}
	configMaps      = schema.GroupResource{Resource: "configmaps"}
	serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}
	claims          = schema.GroupResource{Resource: "persistentvolumeclaims"}
	volumes         = schema.GroupResource{Resource: "persistentvolumes"}
	namespaces      = schema.GroupResource{Resource: "namespaces"}
)

// reference is a mention of an object by another one.
type reference struct {
	to  schema.GroupResource
	key string
}

// links are the references that are followed: those by which kube-apiserver's node authorizer lets a kubelet read
// (plugin/pkg/auth/authorizer/node), and the pull secrets of a service account, which it finds in its pods.
var links = map[schema.GroupResource][]schema.GroupResource{
	pods:            {secrets, configMaps, serviceAccounts, claims},
	serviceAccounts: {secrets},
	claims:          {volumes},
	volumes:         {secrets},
}

// mentioned is what an object refers to, or why that can't be told.
type mentioned struct {
	refs []reference
	err  error
}

// references returns what an object of one of the linked resources refers to, each once. It is worked out once for each
// version of an object. It fails for one that can't be understood.
func references(from schema.GroupResource, o *watchlog.Object) ([]reference, error) {
	m, ok := o.Memo(func(o *watchlog.Object) any { return mention(from, o) }).(*mentioned)
	if !ok {
		m = mention(from, o)
	}
	return m.refs, m.err
}

func mention(from schema.GroupResource, o *watchlog.Object) *mentioned {
	m := &mentioned{}
	found := func(r reference) {
		if !slices.Contains(m.refs, r) {
			m.refs = append(m.refs, r)
		}
	}
	switch from {
	case pods:
		m.err = referencesOfPod(o, found)
	case serviceAccounts:
		m.err = secretsOfServiceAccount(o, found)
	case claims:
		m.err = volumeOfClaim(o, found)
	case volumes:
		m.err = secretsOfVolume(o, found)
	default:
		m.err = fmt.Errorf("%s: references are not followed", from)
	}
	m.refs = slices.Clip(m.refs)
	return m
}

// spec decodes an object's spec.
func spec[T any](o *watchlog.Object) (*T, error) {
	out := new(T)
	if err := json.Unmarshal(watchlog.Member(o.JSON(), "spec"), out); err != nil {
		return nil, fmt.Errorf("spec of %s: %w", o.Key(), err)
	}
	return out, nil
}

// mirrored tells whether a pod is the image of a static one. Kubelets make these, so they refer to nothing: else a node
// could name the secret that it wants.
func mirrored(o *watchlog.Object) bool {
	annotations := watchlog.Member(watchlog.Member(o.JSON(), "metadata"), "annotations")
	return watchlog.Member(annotations, corev1.MirrorPodAnnotationKey) != nil
}

// mentions collects what one object in a namespace refers to there.
type mentions struct {
	namespace string
	found     func(reference)
}

func (m mentions) add(to schema.GroupResource, name string) {
	if name != "" {
		m.found(reference{to, watchlog.KeyOf(m.namespace, name)})
	}
}

func (m mentions) secret(r *corev1.LocalObjectReference) {
	if r != nil {
		m.add(secrets, r.Name)
	}
}

func referencesOfPod(o *watchlog.Object, found func(reference)) error {
	if mirrored(o) {
		return nil
	}
	s, err := spec[corev1.PodSpec](o)
	if err != nil {
		return err
	}
	m := mentions{o.Namespace(), found}
	m.add(serviceAccounts, s.ServiceAccountName)
	for i := range s.ImagePullSecrets {
		m.secret(&s.ImagePullSecrets[i])
	}
	for i := range s.Volumes {
		if s.Volumes[i].Ephemeral != nil {
			m.add(claims, o.Name()+"-"+s.Volumes[i].Name)
		}
		m.volume(&s.Volumes[i].VolumeSource)
	}
	for i := range s.InitContainers {
		m.environment(s.InitContainers[i].Env, s.InitContainers[i].EnvFrom)
	}
	for i := range s.Containers {
		m.environment(s.Containers[i].Env, s.Containers[i].EnvFrom)
	}
	for i := range s.EphemeralContainers {
		m.environment(s.EphemeralContainers[i].Env, s.EphemeralContainers[i].EnvFrom)
	}
	return nil
}

// volume takes in a volume of a pod.
func (m mentions) volume(v *corev1.VolumeSource) {
	switch {
	case v.ConfigMap != nil:
		m.add(configMaps, v.ConfigMap.Name)
	case v.PersistentVolumeClaim != nil:
		m.add(claims, v.PersistentVolumeClaim.ClaimName)
	case v.Secret != nil:
		m.add(secrets, v.Secret.SecretName)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			m.projection(&v.Projected.Sources[i])
		}
	case v.CSI != nil:
		m.secret(v.CSI.NodePublishSecretRef)
	case v.AzureFile != nil:
		m.add(secrets, v.AzureFile.SecretName)
	case v.CephFS != nil:
		m.secret(v.CephFS.SecretRef)
	case v.Cinder != nil:
		m.secret(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		m.secret(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		m.secret(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		m.secret(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		m.secret(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		m.secret(v.StorageOS.SecretRef)
	}
}

func (m mentions) projection(p *corev1.VolumeProjection) {
	if p.Secret != nil {
		m.add(secrets, p.Secret.Name)
	}
	if p.ConfigMap != nil {
		m.add(configMaps, p.ConfigMap.Name)
	}
}

// environment takes in what a container's environment is made of.
func (m mentions) environment(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for i := range env {
		v := env[i].ValueFrom
		if v == nil {
			continue
		}
		if v.SecretKeyRef != nil {
			m.add(secrets, v.SecretKeyRef.Name)
		}
		if v.ConfigMapKeyRef != nil {
			m.add(configMaps, v.ConfigMapKeyRef.Name)
		}
	}
	for i := range from {
		if from[i].SecretRef != nil {
			m.add(secrets, from[i].SecretRef.Name)
		}
		if from[i].ConfigMapRef != nil {
			m.add(configMaps, from[i].ConfigMapRef.Name)
		}
	}
}

// secretsOfServiceAccount finds those that images are pulled with, and no tokens.
func secretsOfServiceAccount(o *watchlog.Object, found func(reference)) error {
	raw := watchlog.Member(o.JSON(), "imagePullSecrets")
	if raw == nil {
		return nil
	}
	var refs []corev1.LocalObjectReference
	if err := json.Unmarshal(raw, &refs); err != nil {
		return fmt.Errorf("imagePullSecrets of %s: %w", o.Key(), err)
	}
	m := mentions{o.Namespace(), found}
	for i := range refs {
		m.secret(&refs[i])
	}
	return nil
}

func volumeOfClaim(o *watchlog.Object, found func(reference)) error {
	s, err := spec[corev1.PersistentVolumeClaimSpec](o)
	if err != nil {
		return err
	}
	if s.VolumeName != "" {
		found(reference{volumes, s.VolumeName})
	}
	return nil
}

// secretsOfVolume finds the secrets that a kubelet needs to use a volume.
func secretsOfVolume(o *watchlog.Object, found func(reference)) error {
	s, err := spec[corev1.PersistentVolumeSpec](o)
	if err != nil {
		return err
	}
	claim := ""
	if s.ClaimRef != nil {
		claim = s.ClaimRef.Namespace
	}
	there := func(namespace, name string) {
		if namespace == "" {
			namespace = claim
		}
		if namespace != "" && name != "" {
			found(reference{secrets, watchlog.KeyOf(namespace, name)})
		}
	}
	ref := func(r *corev1.SecretReference) {
		if r != nil {
			there(r.Namespace, r.Name)
		}
	}
	switch v := &s.PersistentVolumeSource; {
	case v.CSI != nil:
		ref(v.CSI.NodePublishSecretRef)
		ref(v.CSI.NodeStageSecretRef)
		ref(v.CSI.NodeExpandSecretRef)
	case v.AzureFile != nil:
		namespace := ""
		if v.AzureFile.SecretNamespace != nil {
			namespace = *v.AzureFile.SecretNamespace
		}
		there(namespace, v.AzureFile.SecretName)
	case v.CephFS != nil:
		ref(v.CephFS.SecretRef)
	case v.Cinder != nil:
		ref(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		ref(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		ref(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		ref(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		ref(v.ISCSI.SecretRef)
	case v.StorageOS != nil && v.StorageOS.SecretRef != nil:
		there(v.StorageOS.SecretRef.Namespace, v.StorageOS.SecretRef.Name)
	}
	return nil
}

// sameReferences tells whether a version of an object certainly refers to the same as the one before, as most do: the
// changes are to a status. What is known of the one is then known of the other.
func sameReferences(from schema.GroupResource, a, b *watchlog.Object) bool {
	if !unchanged(a, b) {
		return false
	}
	was := a.Memo(func(o *watchlog.Object) any { return mention(from, o) })
	b.Memo(func(*watchlog.Object) any { return was })
	return true
}

func unchanged(a, b *watchlog.Object) bool {
	for _, member := range []string{"spec", "imagePullSecrets"} {
		if !bytes.Equal(watchlog.Member(a.JSON(), member), watchlog.Member(b.JSON(), member)) {
			return false
		}
	}
	return mirrored(a) == mirrored(b)
}
