package defaults

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func pod(p *corev1.Pod) {
	podSpec(&p.Spec)
	unset(&p.Spec.EnableServiceLinks, true)
	if g := p.Spec.TerminationGracePeriodSeconds; *g < 0 {
		*g = 1
	}
	for _, cs := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range cs {
			podContainer(&cs[i], p.Spec.HostNetwork)
		}
	}
	if s := &p.Status; s.PodIP == "" && len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	} else if s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP) {
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
}

// podContainer fills in what only containers of pods get, not those of templates.
func podContainer(c *corev1.Container, hostNetwork bool) {
	for name, limit := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; ok {
			continue
		}
		if c.Resources.Requests == nil {
			c.Resources.Requests = corev1.ResourceList{}
		}
		c.Resources.Requests[name] = limit.DeepCopy()
	}
	for i := range c.Ports {
		if p := &c.Ports[i]; hostNetwork {
			empty(&p.HostPort, p.ContainerPort)
		}
	}
}

func podSpec(s *corev1.PodSpec) {
	empty(&s.ServiceAccountName, s.DeprecatedServiceAccount)
	s.DeprecatedServiceAccount = s.ServiceAccountName
	empty(&s.DNSPolicy, corev1.DNSClusterFirst)
	empty(&s.RestartPolicy, corev1.RestartPolicyAlways)
	empty(&s.SchedulerName, corev1.DefaultSchedulerName)
	unset(&s.SecurityContext, corev1.PodSecurityContext{})
	unset(&s.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	for _, cs := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range cs {
			container(&cs[i])
		}
	}
	for i := range s.EphemeralContainers {
		container((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon))
	}
	for i := range s.Volumes {
		volume(&s.Volumes[i])
	}
}

func container(c *corev1.Container) {
	empty(&c.ImagePullPolicy, pullPolicy(c.Image))
	empty(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	empty(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		empty(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			empty(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil {
			probe(p)
		}
	}
	if l := c.Lifecycle; l != nil {
		for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
			if h != nil {
				httpGet(h.HTTPGet)
			}
		}
	}
}

// pullPolicy returns when an image is pulled: always if its tag is latest or left out, else if it isn't there.
func pullPolicy(image string) corev1.PullPolicy {
	if strings.Contains(image, "@") {
		return corev1.PullIfNotPresent
	}
	last := image[strings.LastIndexByte(image, '/')+1:]
	if _, tag, ok := strings.Cut(last, ":"); ok && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func probe(p *corev1.Probe) {
	empty(&p.TimeoutSeconds, 1)
	empty(&p.PeriodSeconds, 10)
	empty(&p.SuccessThreshold, 1)
	empty(&p.FailureThreshold, 3)
	httpGet(p.HTTPGet)
	if p.GRPC != nil {
		unset(&p.GRPC.Service, "")
	}
}

func httpGet(a *corev1.HTTPGetAction) {
	if a != nil {
		empty(&a.Path, "/")
		empty(&a.Scheme, corev1.URISchemeHTTP)
	}
}
