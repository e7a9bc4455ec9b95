package defaults

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func namespace(n *corev1.Namespace) {
	empty(&n.Status.Phase, corev1.NamespaceActive)
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

func node(n *corev1.Node) {
	if n.Status.Allocatable == nil && n.Status.Capacity != nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
}

// secret also merges the write-only stringData into data.
func secret(s *corev1.Secret) {
	empty(&s.Type, corev1.SecretTypeOpaque)
	for k, v := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

func binding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	empty(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if k := subjects[i].Kind; k == rbacv1.UserKind || k == rbacv1.GroupKind {
			empty(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

const webhookTimeout int32 = 10 // seconds

func validatingWebhooks(c *admissionv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds, w.Rules)
		webhookService(w.ClientConfig.Service)
	}
}

func mutatingWebhooks(c *admissionv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		webhook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds, w.Rules)
		webhookService(w.ClientConfig.Service)
		unset(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
	}
}

func webhook(
	failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType,
	namespaces, objects **metav1.LabelSelector, timeout **int32, rules []admissionv1.RuleWithOperations,
) {
	unset(failure, admissionv1.Fail)
	unset(match, admissionv1.Equivalent)
	unset(namespaces, metav1.LabelSelector{})
	unset(objects, metav1.LabelSelector{})
	unset(timeout, webhookTimeout)
	for i := range rules {
		unset(&rules[i].Scope, admissionv1.AllScopes)
	}
}

func webhookService(s *admissionv1.ServiceReference) {
	if s != nil {
		unset(&s.Port, 443)
	}
}
