package embedded_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"
)

func TestTypedClients(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) { typedClient(t, contentType) })
	}
}

func typedClient(t *testing.T, contentType string) {
	r := newRig(t)
	ctx := t.Context()
	deployments := r.clientset(contentType).AppsV1().Deployments("default")
	replicas := int32(2)
	d, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
			},
		},
	}, metav1.CreateOptions{FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways || d.Spec.Template.Spec.Containers[0].ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("created: %+v", d)
	}
	stale := d.DeepCopy()
	d.Labels = map[string]string{"x": "y"}
	if d, err = deployments.Update(ctx, d, metav1.UpdateOptions{}); err != nil || d.Labels["x"] != "y" {
		t.Fatalf("updated: %+v, %v", d, err)
	}
	stale.Labels = map[string]string{"x": "z"}
	if _, err := deployments.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("stale update: %v", err)
	}
	d.Status.ReadyReplicas = 1
	if d, err = deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil || d.Status.ReadyReplicas != 1 {
		t.Errorf("status: %+v, %v", d, err)
	}
	scale, err := deployments.GetScale(ctx, "d", metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 2 {
		t.Fatalf("scale: %+v, %v", scale, err)
	}
	scale.Spec.Replicas = 5
	if scale, err = deployments.UpdateScale(ctx, "d", scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 5 {
		t.Errorf("scaled: %+v, %v", scale, err)
	}
	if _, err := deployments.UpdateScale(ctx, "d", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d", ResourceVersion: "1"}}, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("stale scale: %v", err)
	}
	d, err = deployments.Patch(ctx, "d", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}}`), metav1.PatchOptions{})
	if err != nil || d.Spec.Template.Spec.Containers[0].Image != "i:2" || *d.Spec.Replicas != 5 {
		t.Errorf("patched: %+v, %v", d, err)
	}
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ResourceVersion != d.ResourceVersion {
		t.Errorf("listed: %+v, %v", list, err)
	}
	uid := types.UID("other")
	if err := deployments.Delete(ctx, "d", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); !apierrors.IsConflict(err) {
		t.Errorf("deleted with another uid: %v", err)
	}
	policy := metav1.DeletePropagationForeground
	if err := deployments.Delete(ctx, "d", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Error(err)
	}
	if _, err := deployments.Get(ctx, "d", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its deletion: %v", err)
	}
	if err := deployments.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=b"}); err != nil {
		t.Error(err)
	}
}

func TestAKubeletsWrites(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	core := r.clientset("application/vnd.kubernetes.protobuf").CoreV1()
	if _, err := core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := core.Nodes().Patch(ctx, "n", types.StrategicMergePatchType,
		[]byte(`{"metadata":{"annotations":{"a":"b"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Error(err)
	}
	pod, err := core.Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Status.Phase != corev1.PodPending || pod.Status.QOSClass != corev1.PodQOSBestEffort || *pod.Spec.TerminationGracePeriodSeconds != 30 {
		t.Errorf("created: %+v", pod)
	}
	pod, err = core.Pods("default").Patch(ctx, "p", types.StrategicMergePatchType,
		[]byte(`{"metadata":{"uid":"`+string(pod.UID)+`"},"status":{"phase":"Running","podIP":"10.1.0.1","$setElementOrder/conditions":[{"type":"Ready"}],"conditions":[{"type":"Ready","status":"True"}]}}`),
		metav1.PatchOptions{}, "status")
	if err != nil || pod.Status.Phase != corev1.PodRunning || len(pod.Status.PodIPs) != 1 {
		t.Errorf("status: %+v, %v", pod, err)
	}
	log := r.log("", "v1", "pods")
	p := log.Snapshot().Get("default/p")
	for label, want := range map[string]string{"spec.nodeName": "n", "status.phase": "Running", "spec.restartPolicy": "Always", "status.podIP": "10.1.0.1"} {
		if got := p.Field(log.Resource().FieldIndex(label)); got != want {
			t.Errorf("%s is %q", label, got)
		}
	}
	zero := int64(0)
	if err := core.Pods("default").Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &pod.UID}}); err != nil {
		t.Error(err)
	}
}

func TestDynamicClient(t *testing.T) {
	r := newWidgets(t)
	ctx := t.Context()
	c := r.dynamic().Resource(schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: "widgets"}).Namespace("default")
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": map[string]any{"n": int64(1)},
	}}
	w, err := c.Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		w.Object["spec"] = map[string]any{"n": int64(2)}
		w, err = c.Update(ctx, w, metav1.UpdateOptions{})
		return err
	})
	if err != nil || w.GetGeneration() != 2 {
		t.Errorf("updated: %v, %v", w, err)
	}
	w.Object["status"] = map[string]any{"ok": true}
	if w, err = c.UpdateStatus(ctx, w, metav1.UpdateOptions{}); err != nil || w.Object["status"] == nil {
		t.Errorf("status: %v, %v", w, err)
	}
	if list, err := c.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("listed: %v, %v", list, err)
	}
	if err := c.Delete(ctx, "w", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := c.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestMetadataClient(t *testing.T) {
	r := newRig(t)
	r.must("POST", configMaps, "", `{"metadata":{"name":"a"}}`)
	c, err := metadata.NewForConfig(r.config("application/json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default").
		Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if err != nil || p.Labels["a"] != "b" {
		t.Errorf("patched: %+v, %v", p, err)
	}
}

func TestDiscoveryClient(t *testing.T) {
	r := newWidgets(t)
	c, err := discovery.NewDiscoveryClientForConfig(r.config("application/json"))
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := c.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	resources := map[string]metav1.APIResource{}
	for _, l := range lists {
		for _, res := range l.APIResources {
			resources[l.GroupVersion+" "+res.Name] = res
		}
	}
	if wd := resources["ex.io/v1 widgets"]; wd.SingularName != "widget" || !wd.Namespaced || strings.Join(wd.ShortNames, ",") != "wd" {
		t.Errorf("widgets: %+v", wd)
	}
	if _, ok := resources["ex.io/v2 widgets/status"]; ok {
		t.Error("v2 has a status subresource")
	}
	if s := resources["apps/v1 deployments/scale"]; s.Kind != "Scale" || s.Group != "autoscaling" {
		t.Errorf("deployments/scale: %+v", s)
	}
	v, err := c.ServerVersion()
	if err != nil || v.Major != "1" || v.Minor != "37" || !strings.HasSuffix(v.GitVersion, "+tombolo-embedded") {
		t.Errorf("version: %+v, %v", v, err)
	}
}
