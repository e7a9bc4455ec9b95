package defaults

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const revisions int32 = 10 // how many old revisions are kept

func deployment(d *appsv1.Deployment) {
	s := &d.Spec
	unset(&s.Replicas, 1)
	unset(&s.RevisionHistoryLimit, revisions)
	unset(&s.ProgressDeadlineSeconds, 600)
	empty(&s.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		unset(&s.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		unset(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		unset(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	podSpec(&s.Template.Spec)
}

func statefulSet(d *appsv1.StatefulSet) {
	s := &d.Spec
	unset(&s.Replicas, 1)
	unset(&s.RevisionHistoryLimit, revisions)
	empty(&s.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	if s.UpdateStrategy.Type == "" {
		s.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		unset(&s.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if r := s.UpdateStrategy.RollingUpdate; r != nil && s.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		unset(&r.Partition, 0)
		unset(&r.MaxUnavailable, intstr.FromInt32(1))
	}
	unset(&s.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	empty(&s.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	empty(&s.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	for i := range s.VolumeClaimTemplates {
		persistentVolumeClaim(&s.VolumeClaimTemplates[i])
	}
	podSpec(&s.Template.Spec)
}

func daemonSet(d *appsv1.DaemonSet) {
	s := &d.Spec
	unset(&s.RevisionHistoryLimit, revisions)
	empty(&s.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if s.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		unset(&s.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		unset(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		unset(&s.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	podSpec(&s.Template.Spec)
}

func replicationController(c *corev1.ReplicationController) {
	unset(&c.Spec.Replicas, 1)
	t := c.Spec.Template
	if t == nil {
		return
	}
	if len(c.Spec.Selector) == 0 {
		c.Spec.Selector = t.Labels
	}
	if len(c.Labels) == 0 {
		c.Labels = t.Labels
	}
	podSpec(&t.Spec)
}

func job(j *batchv1.Job) {
	if len(j.Labels) == 0 {
		j.Labels = j.Spec.Template.Labels
	}
	jobSpec(&j.Spec)
	unset(&j.Spec.ManualSelector, false)
}

func jobSpec(s *batchv1.JobSpec) {
	if s.Completions == nil && s.Parallelism == nil {
		unset(&s.Completions, 1)
	}
	unset(&s.Parallelism, 1)
	limit, replace := int32(6), batchv1.TerminatingOrFailed
	if s.BackoffLimitPerIndex != nil {
		limit = math.MaxInt32
	}
	if s.PodFailurePolicy != nil {
		replace = batchv1.Failed
	}
	unset(&s.BackoffLimit, limit)
	unset(&s.PodReplacementPolicy, replace)
	unset(&s.CompletionMode, batchv1.NonIndexedCompletion)
	unset(&s.Suspend, false)
	podSpec(&s.Template.Spec)
}

func cronJob(c *batchv1.CronJob) {
	s := &c.Spec
	empty(&s.ConcurrencyPolicy, batchv1.AllowConcurrent)
	unset(&s.Suspend, false)
	unset(&s.SuccessfulJobsHistoryLimit, 3)
	unset(&s.FailedJobsHistoryLimit, 1)
	podSpec(&s.JobTemplate.Spec.Template.Spec)
}
