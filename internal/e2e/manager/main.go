// Command manager is a controller as operators write them: a controller-runtime manager with a cache, leader election and
// status updates. It keeps a ConfigMap for every Gauge, and says in the Gauge's status which value it has seen. The
// end-to-end tests run it against an edge.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var gauges = schema.GroupVersionKind{Group: "ex.io", Version: "v1", Kind: "Gauge"}

func main() {
	namespace := flag.String("namespace", "", "of the Gauges") // --kubeconfig is controller-runtime's own flag
	flag.Parse()
	ctrl.SetLogger(klog.NewKlogr())
	if err := run(ctrl.SetupSignalHandler(), *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, namespace string) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	lease, renew, retry := 15*time.Second, 10*time.Second, time.Second
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},

		LeaderElection: true, LeaderElectionID: "gauges", LeaderElectionNamespace: namespace,
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	})
	if err != nil {
		return err
	}
	gauge := &unstructured.Unstructured{}
	gauge.SetGroupVersionKind(gauges)
	err = ctrl.NewControllerManagedBy(mgr).For(gauge).Owns(&corev1.ConfigMap{}).Complete(&reconciler{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// reconciler keeps a ConfigMap of the same name for every Gauge.
type reconciler struct{ client.Client }

// Reconcile brings one ConfigMap, and the status of its Gauge, up to date.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	gauge := &unstructured.Unstructured{}
	gauge.SetGroupVersionKind(gauges)
	shown := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	if err := r.Get(ctx, request.NamespacedName, gauge); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, shown))
		}
		return ctrl.Result{}, err
	}
	value, _, err := unstructured.NestedString(gauge.Object, "spec", "value")
	if err != nil {
		return ctrl.Result{}, err
	}
	_, err = controllerutil.CreateOrUpdate(ctx, r.Client, shown, func() error {
		shown.Data = map[string]string{"value": value}
		return controllerutil.SetControllerReference(gauge, shown, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen, _, _ := unstructured.NestedString(gauge.Object, "status", "value"); seen == value {
		return ctrl.Result{}, nil
	}
	if err := unstructured.SetNestedField(gauge.Object, value, "status", "value"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Update(ctx, gauge)
}
