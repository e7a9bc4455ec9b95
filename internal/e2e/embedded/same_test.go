//go:build e2e

package embedded_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	merge     = "application/merge-patch+json"
	jsonPatch = "application/json-patch+json"
	strategic = "application/strategic-merge-patch+json"

	cms     = "/api/v1/namespaces/t1/configmaps"
	deploys = "/apis/apps/v1/namespaces/t1/deployments"
	widgets = "/apis/ex.io/v1/namespaces/t1/widgets"
	crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// Both answer the same, byte for byte but for what no two servers have in common.
func TestAnswersAreThoseOfKubeAPIServer(t *testing.T) {
	tw := newTwins(t)
	for _, s := range builtinSteps {
		tw.same(s)
	}
	for _, s := range collectionSteps {
		tw.same(s)
	}
	for _, s := range immutableSteps {
		tw.same(s)
	}
	// The real one makes its custom resources some time after the definition.
	tw.ours.do(t, step{"POST", crds, "", widgetDefinition})
	tw.real.do(t, step{"POST", crds, "", widgetDefinition})
	tw.real.await(t, "/apis/ex.io/v1", "widgets/scale")
	tw.real.await(t, "/openapi/v3/apis/ex.io/v1", "widgets")
	for _, s := range customSteps {
		tw.same(s)
	}
}

// await waits until a document has a text.
func (d *side) await(t *testing.T, path, text string) {
	t.Helper()
	for range 300 {
		res, err := d.client.Get(d.url + path)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusOK && strings.Contains(string(raw), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s never had %s", path, text)
}

const (
	podSpec  = `"containers":[{"name":"a","image":"b","env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"lifecycle":{"preStop":{"httpGet":{"port":1}}},"readinessProbe":{"grpc":{"port":1}}}],"volumes":[{"name":"c","configMap":{"name":"c"}},{"name":"d","downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.name"}}]}},{"name":"h","hostPath":{"path":"/x"}},{"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]`
	selected = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}`
)

var builtinSteps = []step{
	{"POST", "/api/v1/namespaces", "", `{"metadata":{"name":"t1"}}`},
	{"POST", "/api/v1/namespaces", "", `{"metadata":{"name":"t1"}}`},
	{"POST", "/api/v1/namespaces", "", `{"metadata":{"name":"T_2"}}`},
	{"POST", cms, "", `{"metadata":{"name":"a"},"data":{"a":"<b>&"}}`},
	{"POST", cms, "", `{"metadata":{"name":"a"},"data":{"a":"<b>&"}}`},
	{"POST", "/api/v1/namespaces/nope/configmaps", "", `{"metadata":{"name":"a"}}`},
	{"POST", cms + "?dryRun=All", "", `{"metadata":{"name":"dry"}}`},
	{"POST", cms + "?dryRun=x", "", `{"metadata":{"name":"dry"}}`},
	{"POST", cms + "?fieldValidation=Strict", "", `{"metadata":{"name":"b"},"foo":1,"data":{"x":"1","x":"2"}}`},
	{"POST", cms, "", `{"metadata":{"name":"w","bar":2},"foo":1,"data":{"x":"1","x":"2"}}`},
	{"POST", cms, "", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"`},
	{"POST", cms, "", `{"kind":"Foo","apiVersion":"v1","metadata":{"name":"a"}}`},
	{"POST", cms, "", `{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}}`},
	{"POST", cms, "", `{"metadata":{"name":"a"},"data":{"x":1}}`},
	{"POST", cms, "", ``},
	{"POST", cms, "", `[]`},
	{"POST", cms, "", `{"metadata":{"name":"A_b"}}`},
	{"POST", cms, "", `{"metadata":{}}`},
	{"POST", cms, "", `{"metadata":{"name":"a","namespace":"t2"}}`},
	{"POST", cms, "", `{"metadata":{"name":"a","labels":{"a b":"c d"},"annotations":{"x y":""}}}`},
	{"POST", cms, "", `{"metadata":{"name":"rv","resourceVersion":"55"}}`},
	{"POST", cms, "", `{"metadata":{"generateName":"gen-"}}`},
	{"POST", cms, "application/yaml", "metadata:\n  name: y\ndata: {a: b}\n"},
	{"POST", cms + "?fieldValidation=Strict", "application/yaml", "metadata:\n  name: z\ndata: {a: b, a: c}\n"},
	{"POST", cms, "application/yaml", "metadata:\n  name: z\ndata: {a: b, a: c}\n"},
	{"POST", cms, "application/yaml", "metadata:\n  name: {\n"},
	{"POST", cms + "/foo", "", `{"metadata":{"name":"a"}}`},
	{"POST", cms, "text/foo", `{"metadata":{"name":"a"}}`},
	{"POST", "/api/v1/namespaces/t1/nopes", "", `{"metadata":{"name":"dry"}}`},
	{"POST", "/apis/nope.io/v1/nopes", "", `{}`},
	{"POST", "/api/v1/configmaps", "", `{"metadata":{"name":"dry","namespace":"t1"}}`},

	{"PUT", cms + "/a", "", `{"metadata":{"name":"a"},"data":{"a":"2"}}`},
	{"PUT", cms + "/a", "", `{"metadata":{"name":"a"},"data":{"a":"2"}}`},
	{"PUT", cms + "/a", "", `{"metadata":{"name":"a","resourceVersion":"5"},"data":{"a":"2"}}`},
	{"PUT", cms + "/a", "", `{"metadata":{"name":"a","resourceVersion":"xx"},"data":{"a":"2"}}`},
	{"PUT", cms + "/a", "", `{"metadata":{"name":"b"},"data":{"a":"2"}}`},
	{"PUT", cms + "/a", "", `{"data":{"a":"3"}}`},
	{"PUT", cms + "/nope", "", `{"metadata":{"name":"nope"}}`},
	{"PUT", cms + "/nope", "", `{"metadata":{"name":"nope","resourceVersion":"3"}}`},
	{"PUT", cms, "", `{"metadata":{"name":"a"}}`},
	{"PUT", cms + "/a?dryRun=All", "", `{"metadata":{"name":"a"},"data":{"a":"3"}}`},
	{"PUT", "/apis/coordination.k8s.io/v1/namespaces/t1/leases/l", "", `{"metadata":{"name":"l"}}`},
	{"PUT", "/apis/coordination.k8s.io/v1/namespaces/t1/leases/l", "", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}}`},

	{"PATCH", cms + "/a", merge, `{"data":{"a":"4"}}`},
	{"PATCH", cms + "/a", merge, `{"data":{"a":"4"}}`},
	{"PATCH", cms + "/a?dryRun=All", merge, `{"data":{"a":"5"}}`},
	{"PATCH", cms + "/a?fieldValidation=Strict", strategic, `{"data":{"b":"4"},"foo":1}`},
	{"PATCH", cms + "/a", strategic, `{"data":{"b":4}}`},
	{"PATCH", cms + "/a", strategic, `{"data":{"b":"4"},"foo":1}`},
	{"PATCH", cms + "/a", merge, `{"data":{"b":"5"},"foo":1}`},
	{"PATCH", cms + "/a?fieldValidation=Ignore", merge, `[1`},
	{"PATCH", cms + "/a", merge, `{"metadata":{"name":"zz"}}`},
	{"PATCH", cms + "/a", merge, `{"metadata":{"uid":"zz"}}`},
	{"PATCH", cms + "/a", merge, `{"metadata":{"resourceVersion":"3"}}`},
	{"PATCH", cms + "/a", merge, `{"metadata":{"namespace":"zz"}}`},
	{"PATCH", cms + "/nope", merge, `{"data":{"a":"4"}}`},
	{"PATCH", cms + "/a", jsonPatch, `[{"op":"test","path":"/data/a","value":"9"}]`},
	{"PATCH", cms + "/a", jsonPatch, `[{"op":"add","path":"/data/zz","value":"9"}]`},
	{"PATCH", cms, "", `{}`},

	{"DELETE", cms + "/a", "", `{"preconditions":{"uid":"x"}}`},
	{"DELETE", cms + "/a", "", `{"preconditions":{"resourceVersion":"1"}}`},
	{"PATCH", cms + "/a", merge, `{"metadata":{"finalizers":["x.io/y"]}}`},
	{"DELETE", cms + "/a", "", ``},
	{"DELETE", cms + "/a", "", ``},
	{"POST", cms, "", `{"metadata":{"name":"a"}}`},
	{"PATCH", cms + "/a", merge, `{"metadata":{"finalizers":["x.io/y","z.io/a"]}}`},
	{"PATCH", cms + "/a", merge, `{"metadata":{"finalizers":null}}`},
	{"DELETE", cms + "/a", "", ``},
	{"DELETE", cms + "/w?dryRun=All", "", ``},
	{"DELETE", cms + "/w?propagationPolicy=Foo", "", ``},
	{"DELETE", cms + "/w", "", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`},
	{"DELETE", cms + "?labelSelector=x%3Dy", "", ``},
	{"DELETE", cms + "?fieldSelector=foo%3Dy", "", ``},
	{"DELETE", cms + "?fieldSelector=metadata.name%3Dy", "", ``},
	{"DELETE", "/api/v1/namespaces", "", ``},
	{"DELETE", "/api/v1/namespaces/kube-system", "", ``},
	{"POST", "/api/v1/namespaces/t1/serviceaccounts", "", `{"metadata":{"name":"s"}}`},
	{"DELETE", "/api/v1/namespaces/t1/serviceaccounts/s", "", ``},

	{"POST", deploys, "", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":80}}}],"volumes":[{"name":"s","secret":{"secretName":"s"}},{"name":"e"}]}}},"status":{"replicas":4}}`},
	{"PATCH", deploys + "/d", merge, `{"spec":{"replicas":2}}`},
	{"PATCH", deploys + "/d", merge, `{"metadata":{"labels":{"x":"y"}}}`},
	{"PATCH", deploys + "/d", strategic, `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"c:1"}]}}}}`},
	{"PATCH", deploys + "/d/status", merge, `{"spec":{"replicas":9},"status":{"replicas":2}}`},
	{"PATCH", deploys + "/d/scale", merge, `{"spec":{"replicas":3}}`},
	{"GET", deploys + "/d/scale", "", ``},
	{"GET", deploys + "/d/status", "", ``},
	{"PUT", deploys + "/d/scale", "", `{"metadata":{"name":"d","namespace":"t1","resourceVersion":"3"},"spec":{"replicas":4}}`},
	{"PUT", deploys + "/d/scale", "", `{"metadata":{"name":"e"},"spec":{"replicas":4}}`},
	{"PUT", deploys + "/d/scale", "", `{"metadata":{"name":"d"},"spec":{"replicas":-4}}`},
	{"PUT", deploys + "/d/scale", "", `{"metadata":{"name":"d"},"spec":{"replicas":4}}`},
	{"PATCH", deploys + "/nope/scale", merge, `{"spec":{"replicas":3}}`},
	{"GET", deploys + "/nope/scale", "", ``},
	{"GET", deploys + "/d/foo", "", ``},
	{"POST", deploys + "/d/scale", "", `{}`},
	{"GET", deploys + "/d", "", ``},
	{"DELETE", deploys + "/d", "", ``},

	{"POST", "/api/v1/nodes", "", `{"metadata":{"name":"n1","namespace":"xx"},"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]}}`},
	{"PATCH", "/api/v1/nodes/n1/status", merge, `{"metadata":{"annotations":{"a":"b"}},"spec":{"unschedulable":true},"status":{"capacity":{"cpu":"2"}}}`},
	{"POST", "/api/v1/namespaces/t1/secrets", "", `{"metadata":{"name":"s"},"stringData":{"a":"b"}}`},
	{"POST", "/api/v1/namespaces/t1/persistentvolumeclaims", "", `{"metadata":{"name":"p"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
	{"POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/t1/rolebindings", "", `{"metadata":{"name":"system:x"},"roleRef":{"kind":"ClusterRole","name":"view","apiGroup":"rbac.authorization.k8s.io"},"subjects":[{"kind":"User","name":"u"}]}`},
	{"POST", "/api/v1/namespaces/t1/pods", "", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"s",` + podSpec + `}}`},
	{"PATCH", "/api/v1/namespaces/t1/pods/p/status", strategic, `{"status":{"phase":"Running","podIP":"10.1.0.1","conditions":[{"type":"Ready","status":"True"}]}}`},
	{"PATCH", "/api/v1/namespaces/t1/pods/p", merge, `{"metadata":{"labels":{"a":"b"}}}`},
	{"POST", "/api/v1/namespaces/t1/pods", "", `{"metadata":{"name":"q"},"spec":{"hostNetwork":true,"containers":[{"name":"a","image":"r:5000/b:1","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}`},
	{"POST", "/api/v1/namespaces/t1/pods", "", `{"metadata":{"name":"r"},"spec":{"containers":[{"name":"a","image":"b:1","resources":{"requests":{"cpu":"1"}}}]}}`},
	{"POST", "/apis/apps/v1/namespaces/t1/replicasets", "", `{"metadata":{"name":"w"},"spec":{` + selected + `}}`},
	{"POST", "/apis/apps/v1/namespaces/t1/statefulsets", "", `{"metadata":{"name":"w"},"spec":{"serviceName":"s",` + selected + `}}`},
	{"POST", "/apis/apps/v1/namespaces/t1/daemonsets", "", `{"metadata":{"name":"w","annotations":{"deprecated.daemonset.template.generation":"1"}},"spec":{` + selected + `}}`},
	{"POST", "/apis/batch/v1/namespaces/t1/cronjobs", "", `{"metadata":{"name":"w"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"b"}]}}}}}}`},
	{"POST", "/api/v1/namespaces/t1/replicationcontrollers", "", `{"metadata":{"name":"w"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}`},
	{"GET", "/api/v1/namespaces/t1/replicationcontrollers/w/scale", "", ``},
	{"POST", "/api/v1/namespaces/t1/services", "", `{"metadata":{"name":"w"},"spec":{"type":"ExternalName","externalName":"x.io","ports":[{"port":80}]}}`},
	{"POST", "/apis/storage.k8s.io/v1/storageclasses", "", `{"metadata":{"name":"w"},"provisioner":"p"}`},
	{"POST", "/apis/storage.k8s.io/v1/csidrivers", "", `{"metadata":{"name":"w"},"spec":{}}`},
	{"DELETE", "/apis/storage.k8s.io/v1/storageclasses/w", "", ``},
	{"POST", "/api/v1/persistentvolumes", "", `{"metadata":{"name":"w"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`},
	{"POST", "/apis/policy/v1/namespaces/t1/poddisruptionbudgets", "", `{"metadata":{"name":"w"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}`},
	{"POST", "/apis/autoscaling/v2/namespaces/t1/horizontalpodautoscalers", "", `{"metadata":{"name":"w"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"minReplicas":1,"maxReplicas":3,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}`},
	{"POST", "/apis/discovery.k8s.io/v1/namespaces/t1/endpointslices", "", `{"metadata":{"name":"w"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":80}]}`},
	{"PATCH", "/apis/discovery.k8s.io/v1/namespaces/t1/endpointslices/w", merge, `{"metadata":{"labels":{"a":"b"}}}`},
	{"POST", "/apis/networking.k8s.io/v1/namespaces/t1/ingresses", "", `{"metadata":{"name":"w"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`},
	{"POST", "/apis/scheduling.k8s.io/v1/priorityclasses", "", `{"metadata":{"name":"w"},"value":5}`},
	{"POST", "/apis/node.k8s.io/v1/runtimeclasses", "", `{"metadata":{"name":"w"},"handler":"h"}`},
	{"POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "", `{"metadata":{"name":"w"},"webhooks":[{"name":"w.x.io","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"n","name":"s"}},"failurePolicy":"Ignore","rules":[{"operations":["CREATE"],"apiGroups":["zz"],"apiVersions":["v1"],"resources":["z"]}]}]}`},
	{"POST", "/apis/networking.k8s.io/v1/namespaces/t1/networkpolicies", "", `{"metadata":{"name":"n"},"spec":{"podSelector":{}}}`},
	{"POST", "/api/v1/namespaces/t1/events", "", `{"metadata":{"name":"e"},"involvedObject":{"namespace":"t1","name":"x"},"message":"m","type":"Normal"}`},
	{"PATCH", "/apis/events.k8s.io/v1/namespaces/t1/events/e", merge, `{"metadata":{"labels":{"a":"b"}}}`},
	{"POST", crds, "", `{"metadata":{"name":"foos.ex.io"},"spec":{"group":"ex.io","names":{"plural":"foos","kind":"Foo"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true}]}}`},
}

const widgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.ex.io"},"spec":{"group":"ex.io","names":{"plural":"widgets","kind":"Widget"},"scope":"Namespaced","versions":[` +
	`{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},` +
	`{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}}]}}`

var customSteps = []step{
	{"POST", widgets, "", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w1"},"spec":{"size":1.5,"color":"<red>"},"status":{"replicas":3}}`},
	{"POST", widgets + "?fieldValidation=Strict", "", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w2","foo":1},"spec":{"color":"red","color":"blue"}}`},
	{"POST", widgets, "", `{"metadata":{"name":"w2"}}`},
	{"POST", widgets, "", `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":"w2"}}`},
	{"POST", widgets, "", `{"apiVersion":"ex.io/v2","kind":"Widget","metadata":{"name":"w2"}}`},
	{"POST", widgets, "", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w2","labels":{"a":1}}}`},
	{"POST", widgets, "", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":3}`},
	{"POST", widgets, "", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"W_2"}}`},
	{"POST", widgets, "application/yaml", "apiVersion: ex.io/v1\nkind: Widget\nmetadata: {name: y}\n"},
	{"PATCH", widgets + "/w1", merge, `{"spec":{"color":"blue"},"status":{"replicas":1}}`},
	{"PATCH", widgets + "/w1", merge, `{"spec":{"color":"blue"}}`},
	{"PATCH", widgets + "/w1", jsonPatch, `[{"op":"add","path":"/spec/x","value":[1,2]}]`},
	{"PATCH", widgets + "/w1/status", merge, `{"spec":{"color":"green"},"status":{"replicas":1},"metadata":{"labels":{"a":"b"}}}`},
	{"PATCH", widgets + "/w1/scale", merge, `{"spec":{"replicas":4}}`},
	{"GET", widgets + "/w1/scale", "", ``},
	{"PUT", widgets + "/w1/scale", "", `{"metadata":{"name":"w1","namespace":"t1"},"spec":{"replicas":4}}`},
	{"PUT", widgets + "/w1", "", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w1"}}`},
	{"PUT", widgets + "/nope", "", `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"nope"}}`},
	{"PATCH", "/apis/ex.io/v1beta1/namespaces/t1/widgets/w1", merge, `{"spec":{"color":"blue"}}`},
	{"PATCH", "/apis/ex.io/v1beta1/namespaces/t1/widgets/w1", merge, `{"spec":{"color":"pink"}}`},
	{"PATCH", "/apis/ex.io/v1beta1/namespaces/t1/widgets/w1/status", merge, `{}`},
	{"PATCH", "/apis/ex.io/v1beta1/namespaces/t1/nopes/w1", merge, `{}`},
	{"GET", widgets, "", ``},
	{"DELETE", widgets + "/w1", "", ``},
	{"DELETE", widgets, "", ``},
	{"PATCH", crds + "/widgets.ex.io", merge, `{"spec":{"scope":"Cluster"}}`},
}
