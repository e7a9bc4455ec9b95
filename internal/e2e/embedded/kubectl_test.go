//go:build e2e

package embedded_test

import (
	"strings"
	"testing"
)

const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: cm
data:
  color: red
`

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: a
        image: img:1
      - name: b
        image: img:1
`

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.ex.io
spec:
  group: ex.io
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        type: object
        description: A widget is a thing.
        properties:
          spec:
            type: object
            properties:
              color: {type: string, description: what it looks like}
`

const widget = `apiVersion: ex.io/v1
kind: Widget
metadata:
  name: w
spec:
  color: red
`

// What people do with kubectl works without any flag that relaxes it.
func TestKubectl(t *testing.T) {
	r := newRig(t)

	r.run("configmap/cm created", configMap, "create", "-f", "-")
	r.fails(`configmaps "cm" already exists`, configMap, "create", "-f", "-")
	r.run("configmap/cm replaced", strings.Replace(configMap, "red", "green", 1), "replace", "-f", "-")
	r.run("green", "", "get", "cm", "cm", "-o", "jsonpath={.data.color}")
	r.run("configmap/cm patched", "", "patch", "cm", "cm", "-p", `{"data":{"color":"red"}}`)
	r.run("configmap/cm patched (no change)", "", "patch", "cm", "cm", "-p", `{"data":{"color":"red"}}`)
	r.run("configmap/cm patched", "", "patch", "cm", "cm", "--type=json", "-p", `[{"op":"add","path":"/data/size","value":"1"}]`)
	r.run("configmap/cm labeled", "", "label", "cm", "cm", "a=b")
	r.run("configmap/cm annotated", "", "annotate", "cm", "cm", "a=b")
	r.run("configmap/cm edited", "", "edit", "cm", "cm")
	r.run("blue", "", "get", "cm", "cm", "-o", "jsonpath={.data.color}")
	r.run("configmap/cm", "", "get", "cm", "-l", "a=b", "-o", "name")
	r.fails("unknown field \"spec\"", configMap+"spec: {}\n", "apply", "-f", "-")
	r.run(`configmap "cm" deleted from default namespace`, "", "delete", "cm", "cm")

	r.run("deployment.apps/web created", deployment, "apply", "-f", "-")
	r.run("deployment.apps/web unchanged", deployment, "apply", "-f", "-")
	r.run("deployment.apps/web configured", strings.Replace(deployment, "name: b\n        image: img:1", "name: b\n        image: img:2", 1), "apply", "-f", "-")
	r.run("img:1 img:2", "", "get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[*].image}")
	r.run("deployment.apps/web scaled", "", "scale", "deploy", "web", "--replicas=5")
	r.run("deployment.apps/web image updated", "", "set", "image", "deploy/web", "a=img:3")
	r.run("5 img:3 4", "", "get", "deploy", "web", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image} {.metadata.generation}")
	r.run("deployment.apps/web restarted", "", "rollout", "restart", "deploy/web")
	r.run(`deployment.apps "web" deleted from default namespace`, "", "delete", "deploy", "web")

	r.run("namespace/t1 created", "", "create", "namespace", "t1")
	r.run("secret/s created", "", "create", "secret", "generic", "s", "--from-literal=a=b", "-n", "t1")
	r.run(`namespace "t1" deleted`, "", "delete", "namespace", "t1")
	r.fails(`namespaces "t1" not found`, "", "create", "secret", "generic", "s", "-n", "t1")
	r.fails("may not be deleted", "", "delete", "namespace", "default")
}

func TestKubectlWithCustomResources(t *testing.T) {
	r := newRig(t)

	r.run("customresourcedefinition.apiextensions.k8s.io/widgets.ex.io created", definition, "apply", "-f", "-")
	r.run("customresourcedefinition.apiextensions.k8s.io/widgets.ex.io condition met", "", "wait", "--for=condition=established", "crd/widgets.ex.io", "--timeout=10s")
	r.run("customresourcedefinition.apiextensions.k8s.io/widgets.ex.io unchanged", definition, "apply", "-f", "-")
	r.run("widget.ex.io/w created", widget, "apply", "-f", "-")
	r.run("widget.ex.io/w unchanged", widget, "apply", "-f", "-")
	r.run("widget.ex.io/w configured", strings.Replace(widget, "red", "green", 1), "apply", "-f", "-")
	r.run("green", "", "get", "wd", "w", "-o", "jsonpath={.spec.color}")
	r.run("widget.ex.io/w labeled", "", "label", "wd", "w", "a=b")
	r.run("widget.ex.io/w scaled", "", "scale", "wd", "w", "--replicas=3")
	r.run("widget.ex.io/w patched", "", "patch", "wd", "w", "--subresource=status", "--type=merge", "-p", `{"status":{"replicas":3}}`)
	r.run("widget.ex.io/w", "", "get", "all", "-o", "name")
	out, err := r.try("", "explain", "widgets.spec.color")
	if err != nil || !strings.Contains(out, "what it looks like") {
		t.Errorf("explain: %v\n%s", err, out)
	}
	r.run(`widget.ex.io "w" deleted from default namespace`, "", "delete", "wd", "--all")
	r.run(`customresourcedefinition.apiextensions.k8s.io "widgets.ex.io" deleted`, "", "delete", "crd", "widgets.ex.io")
	r.fails("NotFound", "", "get", "wd") // kubectl has it in its cache
}

// The commands that people use less often.
func TestKubectlOtherCommands(t *testing.T) {
	r := newRig(t)

	r.run("node/n1 created", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`, "create", "-f", "-")
	r.run("node/n1 tainted", "", "taint", "node", "n1", "a=b:NoSchedule")
	r.run("node/n1 cordoned", "", "cordon", "n1")
	r.run("pod/p created", "", "run", "p", "--image=img:1", "--labels=app=p", `--overrides={"spec":{"nodeName":"n1"}}`)
	r.run("service/p exposed", "", "expose", "pod", "p", "--port=80")
	r.run("pod/p", "", "get", "pods", "--field-selector=spec.nodeName=n1,status.phase=Pending", "-o", "name")
	r.run("p n1", "", "get", "pods", "-A", "-o", `jsonpath={.items[*].metadata.name} {.items[*].spec.nodeName}`)
	out, err := r.try("", "drain", "n1", "--force")
	if err != nil || !strings.Contains(out, "node/n1 drained") {
		t.Errorf("drain: %v\n%s", err, out)
	}
	r.run("node/n1 uncordoned", "", "uncordon", "n1")

	r.run("deployment.apps/web created\nconfigmap/cm created", deployment+"---\n"+configMap, "apply", "-f", "-")
	out, err = r.try(strings.Replace(configMap, "red", "blue", 1), "diff", "-f", "-")
	if err == nil || !strings.Contains(out, "+  color: blue") {
		t.Errorf("diff: %v\n%s", err, out)
	}
	r.run("configmap/cm configured (server dry run)", strings.Replace(configMap, "red", "blue", 1), "apply", "--dry-run=server", "-f", "-")
	r.run("horizontalpodautoscaler.autoscaling/web autoscaled", "", "autoscale", "deploy", "web", "--max=3")
	r.run("deployment.apps/web env updated", "", "set", "env", "deploy/web", "A=B")
	r.run("job.batch/j created", "", "create", "job", "j", "--image=img:1")
	r.run("cronjob.batch/c created", "", "create", "cronjob", "c", "--image=img:1", "--schedule=* * * * *")
	r.run("job.batch/k created", "", "create", "job", "k", "--from=cronjob/c")
	r.run("ingress.networking.k8s.io/i created", "", "create", "ingress", "i", "--rule=x.io/*=p:80")
	r.run("clusterrole.rbac.authorization.k8s.io/system:x created", "", "create", "clusterrole", "system:x", "--verb=get", "--resource=pods")
	r.run("clusterrolebinding.rbac.authorization.k8s.io/b created", "", "create", "clusterrolebinding", "b", "--clusterrole=system:x", "--user=u")
	r.run("serviceaccount/sa created", "", "create", "serviceaccount", "sa")
	r.run("deployment.apps \"web\" deleted from default namespace\nconfigmap \"cm\" deleted from default namespace", deployment+"---\n"+configMap, "delete", "-f", "-")

	for _, path := range []string{"pods", "pods.spec", "deployments.metadata", "configmaps"} {
		out, err = r.try("", "explain", path)
		if err != nil || !strings.Contains(out, "The embedded cloud has no schemas") {
			t.Errorf("explain %s: %v\n%s", path, err, out)
		}
	}
	out, err = r.try("", "version")
	if err != nil || !strings.Contains(out, "Server Version: v1.37.2+tombolo-embedded") {
		t.Errorf("version: %v\n%s", err, out)
	}
	out, err = r.try("", "api-resources", "--verbs=create", "-o", "name")
	if n := len(strings.Fields(out)); err != nil || n != 62 {
		t.Errorf("api-resources: %v, %d resources\n%s", err, n, out)
	}
}

func TestKubectlServerSideApplyIsRefusedClearly(t *testing.T) {
	r := newRig(t)
	r.fails("accepted media types include: application/json-patch+json, application/merge-patch+json", configMap, "apply", "--server-side", "-f", "-")
}
