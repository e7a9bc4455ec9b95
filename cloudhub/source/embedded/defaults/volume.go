package defaults

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// fileMode is what files of volumes made from objects have: 0644.
const fileMode int32 = 0o644

func volume(v *corev1.Volume) {
	s := &v.VolumeSource
	if *s == (corev1.VolumeSource{}) {
		s.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case s.Secret != nil:
		unset(&s.Secret.DefaultMode, fileMode)
	case s.ConfigMap != nil:
		unset(&s.ConfigMap.DefaultMode, fileMode)
	case s.DownwardAPI != nil:
		unset(&s.DownwardAPI.DefaultMode, fileMode)
		downward(s.DownwardAPI.Items)
	case s.Projected != nil:
		unset(&s.Projected.DefaultMode, fileMode)
		projected(s.Projected)
	case s.HostPath != nil:
		unset(&s.HostPath.Type, corev1.HostPathUnset)
	case s.Image != nil:
		empty(&s.Image.PullPolicy, pullPolicy(s.Image.Reference))
	case s.Ephemeral != nil && s.Ephemeral.VolumeClaimTemplate != nil:
		unset(&s.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
}

func downward(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if ref := items[i].FieldRef; ref != nil {
			empty(&ref.APIVersion, "v1")
		}
	}
}

func projected(p *corev1.ProjectedVolumeSource) {
	const hour = 3600
	for i := range p.Sources {
		s := &p.Sources[i]
		if s.ServiceAccountToken != nil {
			unset(&s.ServiceAccountToken.ExpirationSeconds, hour)
		}
		if s.DownwardAPI != nil {
			downward(s.DownwardAPI.Items)
		}
	}
}

func persistentVolume(v *corev1.PersistentVolume) {
	empty(&v.Status.Phase, corev1.VolumePending)
	empty(&v.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	unset(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	if v.Spec.HostPath != nil {
		unset(&v.Spec.HostPath.Type, corev1.HostPathUnset)
	}
}

func persistentVolumeClaim(c *corev1.PersistentVolumeClaim) {
	empty(&c.Status.Phase, corev1.ClaimPending)
	unset(&c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
}

func csiDriver(d *storagev1.CSIDriver) {
	s := &d.Spec
	unset(&s.AttachRequired, true)
	unset(&s.PodInfoOnMount, false)
	unset(&s.StorageCapacity, false)
	unset(&s.RequiresRepublish, false)
	unset(&s.SELinuxMount, false)
	unset(&s.PreventPodSchedulingIfMissing, false)
	unset(&s.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(s.VolumeLifecycleModes) == 0 {
		s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}
