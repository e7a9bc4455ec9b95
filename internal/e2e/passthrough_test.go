//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// throughCall is a request that only the cloud can answer. NS stands for the namespace.
type throughCall struct{ request, contentType, body string }

const throughDeployment = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},` +
	`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

const core, apps = "/api/v1/namespaces/NS", "/apis/apps/v1/namespaces/NS"

var throughCalls = []throughCall{
	{"POST " + core + "/configmaps?dryRun=All", "", `{"metadata":{"name":"dry"}}`},
	{"GET " + core + "/configmaps/dry", "", ""},
	{"POST " + core + "/configmaps", "", `{"metadata":{"name":"c"},"data":{"a":"1"}}`},
	{"POST " + core + "/configmaps", "", `{"metadata":{"name":"c"}}`},
	{"POST " + core + "/configmaps", "", `{"metadata":{"name":"C!"}}`},
	{"POST " + core + "/configmaps", "", `{`},
	{"POST " + core + "/configmaps", "text/plain", `x`},
	{"PUT " + core + "/configmaps/c", "", `{"metadata":{"name":"c"},"data":{"a":"2"}}`},
	{"PUT " + core + "/configmaps/c", "", `{"metadata":{"name":"c","resourceVersion":"1"},"data":{"a":"2"}}`},
	{"PATCH " + core + "/configmaps/c", jsonPatch, `[{"op":"add","path":"/data/b","value":"3"}]`},
	{"PATCH " + core + "/configmaps/c", mergePatch, `{"data":{"a":null}}`},
	{"PATCH " + core + "/configmaps/c", strategicPatch, `{"data":{"e":"4"}}`},
	{"PATCH " + core + "/configmaps/c?fieldManager=e2e&force=true", applyPatch, "apiVersion: v1\nkind: ConfigMap\ndata: {f: '5'}\n"},
	{"POST " + apps + "/deployments", "", throughDeployment},
	{"GET " + apps + "/deployments/d", "", ""},
	{"PATCH " + apps + "/deployments/d/status", mergePatch, `{"status":{"replicas":1}}`},
	{"GET " + apps + "/deployments/d/scale", "", ""},
	{"PATCH " + apps + "/deployments/d/scale", mergePatch, `{"spec":{"replicas":3}}`},
	{"POST " + core + "/pods", "", `{"metadata":{"name":"p"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}}`},
	{"POST " + core + "/serviceaccounts", "", `{"metadata":{"name":"sa"}}`},
	{"POST " + core + "/serviceaccounts/sa/token", "", `{}`},
	{"POST " + core + "/pods/nope/eviction", "", `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"nope"}}`},
	{"GET " + core + "/pods/nope/log", "", ""},
	{"POST " + core + "/pods/nope/exec?command=sh", "", ""},
	{"POST " + core + "/pods/nope/nosuch", "", ""},
	{"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "",
		`{"spec":{"resourceAttributes":{"verb":"list","resource":"pods"}}}`},
	{"GET /apis/no.such.group/v1/things", "", ""},
	{"GET " + core + "/nosuch", "", ""},
	{"DELETE " + core + "/configmaps/c", "", ""},
	{"DELETE " + core + "/configmaps/c", "", ""},
	{"DELETE " + apps + "/deployments", "", ""},
	{"GET " + apps + "/deployments", "", ""},
}

// varies is what differs between two runs of the same requests.
var varies = regexp.MustCompile(`"(uid|resourceVersion|creationTimestamp|expirationTimestamp|time|token|deletionTimestamp)": ?"[^"]*"`)

// ask sends a request in a namespace and returns the status and the body without what varies.
func (c throughCall) ask(t *testing.T, a *api, namespace, token string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(strings.ReplaceAll(c.request, "NS", namespace), " ")
	req, err := http.NewRequestWithContext(t.Context(), method, a.base+path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.contentType != "" {
		req.Header.Set("Content-Type", c.contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Header["Audit-Id"]) != 1 {
		t.Errorf("%s: Audit-Id %q", c.request, resp.Header["Audit-Id"])
	}
	return resp.StatusCode, varies.ReplaceAllString(strings.ReplaceAll(string(body), namespace, "NS"), `"$1":""`)
}

func TestWhatOnlyTheCloudCanDoIsDoneThroughTheEdge(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	const direct, through = "calls-direct", "calls-through"
	cloud.create(t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, direct))
	s, _ := newKubeSite(t, inNamespace(t, cloud, through))
	for _, c := range throughCalls {
		code, want := c.ask(t, cloud, direct, cluster.AdminToken)
		gotCode, got := c.ask(t, s.local, through, cluster.AdminToken)
		if gotCode != code || got != want {
			t.Errorf("%s: %d\n%s\nwant %d\n%s", c.request, gotCode, got, code, want)
		}
	}
	t.Run("as the edge's own user", func(t *testing.T) { asTheEdge(t, s, cloud, through) })
	t.Run("with the link cut", func(t *testing.T) {
		s.cut()
		s.edge.awaitContact(false)
		for _, c := range throughCalls {
			if c.request[:3] == "GET" && !strings.Contains(c.request, "deployments") && !strings.HasSuffix(c.request, "/log") {
				continue // the edge knows itself that it isn't there
			}
			if strings.HasSuffix(c.request, "/nosuch") {
				continue
			}
			code, body := c.ask(t, s.local, through, cluster.AdminToken)
			var st metav1.Status
			if err := json.Unmarshal([]byte(body), &st); err != nil || code != 503 || st.Reason != metav1.StatusReasonServiceUnavailable ||
				st.Details == nil || st.Details.RetryAfterSeconds == 0 {
				t.Errorf("%s: %d %s", c.request, code, body)
			}
		}
	})
}

// asTheEdge sends requests without a token.
func asTheEdge(t *testing.T, s *site, cloud *api, namespace string) {
	t.Helper()
	create := throughCall{"POST " + core + "/configmaps", "", `{"metadata":{"name":"of-the-edge"}}`}
	if code, body := create.ask(t, s.local, namespace, ""); code != 403 || !strings.Contains(body, `User \"tombolo:edge:edge-1\" cannot create`) {
		t.Errorf("without a right: %d %s", code, body)
	}
	missing := throughCall{"GET " + core + "/configmaps/nope", "", ""}
	if code, body := missing.ask(t, s.local, namespace, ""); code != 404 || !strings.Contains(body, `configmaps \"nope\" not found`) {
		t.Errorf("what it may not see: %d %s", code, body)
	}
	for _, body := range []string{
		`{"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}`,
		`{"kind":"RoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},` +
			`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tombolo:edges"}]}`,
	} {
		plural := "roles"
		if strings.Contains(body, "RoleBinding") {
			plural = "rolebindings"
		}
		grant := throughCall{"POST /apis/rbac.authorization.k8s.io/v1/namespaces/NS/" + plural, "", body}
		if code, answer := grant.ask(t, cloud, namespace, cluster.AdminToken); code != 201 {
			t.Fatalf("%d %s", code, answer)
		}
	}
	eventually(t, func() error { // RBAC has a cache
		if code, body := create.ask(t, s.local, namespace, ""); code != 201 {
			return fmt.Errorf("with the right: %d %s", code, body)
		}
		return nil
	})
	if code, body := (throughCall{"GET " + core + "/secrets/x", "", ""}).ask(t, s.local, namespace, "wrong"); code != 401 {
		t.Errorf("with a token that nobody knows: %d %s", code, body)
	}
}
