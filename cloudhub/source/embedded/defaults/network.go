package defaults

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func service(s *corev1.Service) {
	spec := &s.Spec
	empty(&spec.Type, corev1.ServiceTypeClusterIP)
	empty(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	affinity(spec)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		empty(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if spec.Type != corev1.ServiceTypeExternalName {
		unset(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	outside := spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer ||
		spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	if outside {
		empty(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		unset(&spec.AllocateLoadBalancerNodePorts, true)
	}
}

func affinity(spec *corev1.ServiceSpec) {
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		unset(&spec.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		unset(&spec.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		unset(&spec.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
}

func endpoints(e *corev1.Endpoints) { //nolint:staticcheck // deprecated and still served
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			empty(&e.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

func endpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		unset(&s.Ports[i].Name, "")
		unset(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func networkPolicy(n *networkingv1.NetworkPolicy) {
	s := &n.Spec
	if len(s.PolicyTypes) == 0 {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(s.Egress) > 0 {
			s.PolicyTypes = append(s.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	for i := range s.Ingress {
		policyPorts(s.Ingress[i].Ports)
	}
	for i := range s.Egress {
		policyPorts(s.Egress[i].Ports)
	}
}

func policyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		unset(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}
