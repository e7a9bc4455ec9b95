package defaults_test

import (
	"encoding/json"
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/defaults"
)

const (
	// what a container and a pod's spec become, as kube-apiserver 1.37 answers
	container = `{"name":"a","image":"b","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}`
	podSpec   = `{"containers":[` + container + `],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}`
	template  = `{"metadata":{},"spec":` + podSpec + `}`
)

func bare() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
}

var sets = map[string]struct {
	obj  runtime.Object
	want string
}{
	"pod": {
		&corev1.Pod{Spec: bare().Spec},
		`{"metadata":{},"spec":` + podSpec[:len(podSpec)-1] + `,"enableServiceLinks":true},"status":{}}`,
	},
	"deployment": {
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: bare()}},
		`{"metadata":{},"spec":{"replicas":1,"selector":null,"template":` + template + `,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600},"status":{}}`,
	},
	"replica set": {
		&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: bare()}},
		`{"metadata":{},"spec":{"replicas":1,"selector":null,"template":` + template + `},"status":{"replicas":0}}`,
	},
	"stateful set": {
		&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: bare()}},
		`{"metadata":{},"spec":{"replicas":1,"selector":null,"template":` + template + `,"serviceName":"","podManagementPolicy":"OrderedReady","updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0,"maxUnavailable":1}},"revisionHistoryLimit":10,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}},"status":{"replicas":0,"availableReplicas":0}}`,
	},
	"daemon set": {
		&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: bare()}},
		`{"metadata":{},"spec":{"selector":null,"template":` + template + `,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}},"revisionHistoryLimit":10},"status":{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}}`,
	},
	"replication controller": {
		&corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: bare().Spec,
		}}},
		`{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":1,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":` + podSpec + `}},"status":{"replicas":0}}`,
	},
	"job": {
		&batchv1.Job{Spec: batchv1.JobSpec{Template: bare()}},
		`{"metadata":{},"spec":{"parallelism":1,"completions":1,"backoffLimit":6,"manualSelector":false,"template":` + template + `,"completionMode":"NonIndexed","suspend":false,"podReplacementPolicy":"TerminatingOrFailed"},"status":{}}`,
	},
	"cron job": {
		&batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: bare()}}}},
		`{"metadata":{},"spec":{"schedule":"* * * * *","concurrencyPolicy":"Allow","suspend":false,"jobTemplate":{"metadata":{},"spec":{"template":` + template + `}},"successfulJobsHistoryLimit":3,"failedJobsHistoryLimit":1},"status":{}}`,
	},
	"namespace": {
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		`{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"}},"spec":{},"status":{"phase":"Active"}}`,
	},
	"secret": {
		&corev1.Secret{Data: map[string][]byte{"a": []byte("old"), "b": []byte("b")}, StringData: map[string]string{"a": "new"}},
		`{"metadata":{},"data":{"a":"bmV3","b":"Yg=="},"type":"Opaque"}`,
	},
	"service": {
		&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		`{"metadata":{},"spec":{"ports":[{"protocol":"TCP","port":80,"targetPort":80}],"type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster"},"status":{"loadBalancer":{}}}`,
	},
	"load balancer": {
		&corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, SessionAffinity: corev1.ServiceAffinityClientIP}},
		`{"metadata":{},"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP","externalTrafficPolicy":"Cluster","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}},"allocateLoadBalancerNodePorts":true,"internalTrafficPolicy":"Cluster"},"status":{"loadBalancer":{}}}`,
	},
	"endpoint slice": {
		&discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{}}},
		`{"metadata":{},"addressType":"","endpoints":null,"ports":[{"name":"","protocol":"TCP"}]}`,
	},
	"network policy": {
		&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{{}}}}}},
		`{"metadata":{},"spec":{"podSelector":{},"egress":[{"ports":[{"protocol":"TCP"}]}],"policyTypes":["Ingress","Egress"]}}`,
	},
	"role binding": {
		&rbacv1.RoleBinding{Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}, {Kind: "ServiceAccount", Name: "s"}}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}},
		`{"metadata":{},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"},{"kind":"ServiceAccount","name":"s"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}}`,
	},
	"storage class": {
		&storagev1.StorageClass{Provisioner: "p"},
		`{"metadata":{},"provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}`,
	},
	"priority class": {
		&schedulingv1.PriorityClass{Value: 5},
		`{"metadata":{},"value":5,"preemptionPolicy":"PreemptLowerPriority"}`,
	},
	"volume": {
		&corev1.PersistentVolume{},
		`{"metadata":{},"spec":{"persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"},"status":{"phase":"Pending"}}`,
	},
	"volume claim": {
		&corev1.PersistentVolumeClaim{},
		`{"metadata":{},"spec":{"resources":{},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}`,
	},
	"webhook": {
		&admissionv1.ValidatingWebhookConfiguration{Webhooks: []admissionv1.ValidatingWebhook{{Name: "w", ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "n", Name: "s"}}}}},
		`{"metadata":{},"webhooks":[{"name":"w","clientConfig":{"service":{"namespace":"n","name":"s","port":443}},"failurePolicy":"Fail","matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},"sideEffects":null,"timeoutSeconds":10,"admissionReviewVersions":null}]}`,
	},
	"no defaults": {&corev1.ConfigMap{}, `{"metadata":{}}`},
}

func TestSet(t *testing.T) {
	for name, c := range sets {
		t.Run(name, func(t *testing.T) {
			defaults.Set(c.obj)
			once, err := json.Marshal(c.obj)
			if err != nil || string(once) != c.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, once, c.want)
			}
			defaults.Set(c.obj)
			if twice, _ := json.Marshal(c.obj); string(twice) != string(once) {
				t.Errorf("a second time it became %s", twice)
			}
		})
	}
}

func TestSetKeepsWhatIsSet(t *testing.T) {
	zero, no := int32(0), false
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &zero, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}}}
	defaults.Set(d)
	if *d.Spec.Replicas != 0 || d.Spec.Strategy.RollingUpdate != nil {
		t.Errorf("deployment: %+v", d.Spec)
	}
	p := &corev1.Pod{Spec: corev1.PodSpec{EnableServiceLinks: &no, RestartPolicy: corev1.RestartPolicyNever}}
	defaults.Set(p)
	if *p.Spec.EnableServiceLinks || p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("pod: %+v", p.Spec)
	}
}

func TestPodContainers(t *testing.T) {
	var c corev1.Container
	err := json.Unmarshal([]byte(`{"name":"a","image":"reg:5000/b@sha256:1","ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":1}},"resources":{"limits":{"cpu":"1"},"requests":{"memory":"1Mi"}},"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}`), &c)
	if err != nil {
		t.Fatal(err)
	}
	p := &corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{c}, Volumes: []corev1.Volume{
		{Name: "e"}, {Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}},
	}}}
	defaults.Set(p)
	got := p.Spec.Containers[0]
	if got.Resources.Requests.Cpu().String() != "1" || got.Resources.Requests.Memory().String() != "1Mi" {
		t.Errorf("requests: %v", got.Resources.Requests)
	}
	if got.Ports[0] != (corev1.ContainerPort{ContainerPort: 80, HostPort: 80, Protocol: "TCP"}) {
		t.Errorf("port: %+v", got.Ports[0])
	}
	if l := got.LivenessProbe; l.PeriodSeconds != 10 || l.HTTPGet.Path != "/" || l.HTTPGet.Scheme != "HTTP" {
		t.Errorf("probe: %+v", l)
	}
	if got.Env[0].ValueFrom.FieldRef.APIVersion != "v1" || got.ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("container: %+v", got)
	}
	if v := p.Spec.Volumes; v[0].EmptyDir == nil || *v[1].Secret.DefaultMode != 0o644 {
		t.Errorf("volumes: %+v", v)
	}
}

func TestPullPolicy(t *testing.T) {
	want := map[string]corev1.PullPolicy{
		"a": "Always", "a:latest": "Always", "a:1": "IfNotPresent", "r:5000/a": "Always", "r:5000/a:1": "IfNotPresent", "a@sha256:x": "IfNotPresent",
	}
	got := map[string]corev1.PullPolicy{}
	for image := range want {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
		defaults.Set(p)
		got[image] = p.Spec.Containers[0].ImagePullPolicy
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
