//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// kubelet is a real one whose container runtime is a fake (upstream's kubemark).
type kubelet struct {
	*server
	readOnly string // URL of its read-only port
}

// newKubelet prepares a kubelet. It isn't started. Killed, it forgets everything: what it runs it learns from the
// kubeconfig's server.
func newKubelet(t *testing.T, node, kubeconfig string) *kubelet {
	t.Helper()
	ports := freePorts(t, 2)
	k := &kubelet{readOnly: "http://" + ports[1]}
	k.server = newServer(t, "kubelet", "kubemark", k.readOnly+"/healthz",
		"--morph=kubelet", "--name="+node, "--kubeconfig="+kubeconfig, "--use-host-image-service=false",
		"--kubelet-port="+portOf(ports[0]), "--kubelet-read-only-port="+portOf(ports[1]))
	k.binary = filepath.Join("..", "..", "bin", "e2e", "kubemark")
	if _, err := os.Stat(k.binary); err != nil {
		t.Fatalf("%v: run `make kube`", err)
	}
	t.Cleanup(k.sweep)
	return k
}

// sweep removes what each start left: a directory that only the log names.
func (k *kubelet) sweep() {
	k.kill()
	text, err := os.ReadFile(k.log)
	if err != nil {
		k.t.Error(err)
	}
	for _, m := range regexp.MustCompile(`Using (/tmp/hollow-kubelet\.\w+) as root dir`).FindAllSubmatch(text, -1) {
		if err := os.RemoveAll(string(m[1])); err != nil {
			k.t.Error(err)
		}
	}
}

func portOf(addr string) string { return addr[len("127.0.0.1:"):] }

// running is since when the kubelet says that it runs a pod.
func (k *kubelet) running(name string) (metav1.Time, error) {
	pods := &corev1.PodList{}
	got, err := (&api{base: k.readOnly, client: oneShot}).do(k.t.Context(), http.MethodGet, "/pods", nil)
	if err != nil {
		return metav1.Time{}, err
	}
	if err := json.Unmarshal(got.body, pods); err != nil {
		return metav1.Time{}, fmt.Errorf("%w in %.200s", err, got.body)
	}
	for _, p := range pods.Items {
		if p.Name == name {
			return runningSince(&p)
		}
	}
	return metav1.Time{}, fmt.Errorf("the kubelet knows no pod %s among %d", name, len(pods.Items))
}

// runningSince is when the only container of a pod in phase Running was started.
func runningSince(p *corev1.Pod) (metav1.Time, error) {
	if p.Status.Phase != corev1.PodRunning || len(p.Status.ContainerStatuses) != 1 || p.Status.ContainerStatuses[0].State.Running == nil {
		return metav1.Time{}, fmt.Errorf("pod %s is %s: %+v", p.Name, p.Status.Phase, p.Status.ContainerStatuses)
	}
	return p.Status.ContainerStatuses[0].State.Running.StartedAt, nil
}

// kubeletScope is what a kubelet reads.
const kubeletScope = `scopes:
- name: kubelet
  edges: ["edge-*"]
  nodes: ["kubelet-1"]
  rules:
  - {resource: pods, boundToNode: spec.nodeName}
  - {resource: nodes, boundToNode: metadata.name}
  - {resource: configmaps, namespaces: [default]}
  - {resource: secrets, namespaces: [default]}
  - {resource: services}
  - {group: node.k8s.io, resource: runtimeclasses}
  - {group: storage.k8s.io, resource: csidrivers}
  - {group: storage.k8s.io, resource: csinodes, fieldSelector: metadata.name=kubelet-1}
  - {group: coordination.k8s.io, resource: leases, namespaces: [kube-node-lease]}
`

// kubeletPod is a pod that needs a ConfigMap and a Secret.
const kubeletPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"default"},"spec":{"nodeName":"kubelet-1",
"automountServiceAccountToken":false,"containers":[{"name":"main","image":"registry.example/app:1.0",
"env":[{"name":"TEXT","valueFrom":{"configMapKeyRef":{"name":"kubelet-settings","key":"text"}}}],
"envFrom":[{"secretRef":{"name":"kubelet-key"}}],"volumeMounts":[{"name":"key","mountPath":"/key"}]}],
"volumes":[{"name":"key","secret":{"secretName":"kubelet-key"}}]}}`

// kubeletSite is a kubelet at an edge.
type kubeletSite struct {
	t       *testing.T
	cloud   *api
	kubelet *kubelet
}

// TestKubeletLivesOnItsEdge runs a node that knows only the edge: what it reports reaches the cloud, it keeps what it runs
// while the link is cut, and even starts again then.
func TestKubeletLivesOnItsEdge(t *testing.T) {
	c := sharedCluster(t)
	h := newHub(t, hubConfig{kubeconfig: c.Kubeconfig, scopes: kubeletScope})
	h.start()
	l := newLink(t, h.sync)
	e := newTLSEdge(t, "edge-1", nil, l.Addr)
	e.start()
	e.awaitContact(true)
	s := &kubeletSite{t: t, cloud: kubeAPI(t, c), kubelet: newKubelet(t, "kubelet-1", e.kubeconfig(cluster.AdminToken))}

	s.kubelet.start()
	eventually(t, s.nodeReady)
	renewed := s.leaseRenewal()
	eventually(t, func() error { return s.renewedSince(renewed) })

	s.cloud.create(t, configMaps, "default", configMap("default", "kubelet-settings", "a", "hello"))
	s.cloud.create(t, secrets, "default", secret("default", "kubelet-key", "hush"))
	s.cloud.create(t, pods, "default", kubeletPod)
	eventually(t, func() error { return s.reported(metav1.Time{}) })

	l.Cut()
	e.awaitContact(false)
	before, err := s.kubelet.running("web")
	if err != nil {
		t.Errorf("after the cut: %v", err)
	}
	renewed = s.leaseRenewal()
	s.kubelet.kill()
	s.kubelet.start()
	eventually(t, func() error { _, err := s.kubelet.running("web"); return err })

	begin := time.Now()
	l.Heal()
	eventually(t, func() error { return s.renewedSince(renewed) })
	eventually(t, s.nodeReady)
	eventually(t, func() error { return s.reported(before) })
	t.Logf("lease and status were in the cloud %s after the link was healed", time.Since(begin).Round(time.Second))
}

// nodeReady tells whether the cloud sees the node ready.
func (s *kubeletSite) nodeReady() error {
	n := &corev1.Node{}
	if err := s.read(nodes.object("kubelet-1"), n); err != nil {
		return err
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("the node is not ready: %+v", n.Status.Conditions)
}

// leaseRenewal is when the kubelet last renewed its lease, as the cloud knows it.
func (s *kubeletSite) leaseRenewal() string {
	s.t.Helper()
	var renewed string
	eventually(s.t, func() (err error) { renewed, err = s.lease(); return err })
	return renewed
}

func (s *kubeletSite) lease() (string, error) {
	var lease struct{ Spec struct{ RenewTime string } }
	err := s.read("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/kubelet-1", &lease)
	if err == nil && lease.Spec.RenewTime == "" {
		err = errors.New("the lease was never renewed")
	}
	return lease.Spec.RenewTime, err
}

func (s *kubeletSite) renewedSince(before string) error {
	now, err := s.lease()
	if err == nil && now == before {
		err = fmt.Errorf("the lease was last renewed at %s", now)
	}
	return err
}

// reported tells whether the cloud has the status of the container that the kubelet runs now, and started after before.
func (s *kubeletSite) reported(before metav1.Time) error {
	p := &corev1.Pod{}
	if err := s.read(pods.object("default/web"), p); err != nil {
		return err
	}
	cloud, err := runningSince(p)
	if err != nil {
		return err
	}
	local, err := s.kubelet.running("web")
	if err != nil {
		return err
	}
	if !cloud.Equal(&local) || !before.Before(&local) {
		return fmt.Errorf("the cloud says that the pod runs since %s, the kubelet since %s; it was restarted after %s", cloud, local, before)
	}
	return nil
}

func (s *kubeletSite) read(path string, into any) error {
	got, err := s.cloud.do(s.t.Context(), http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("GET %s: %d %.200s", path, got.status, got.body)
	}
	return json.Unmarshal(got.body, into)
}
