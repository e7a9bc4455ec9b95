//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// version is an object as a hub sends it.
type version struct {
	rev         uint64
	sum         uint32
	data, cells string
}

// given returns all that a hub gives an edge of n resources that holds nothing and takes no patches.
func given(ctx context.Context, t *testing.T, addr, edge string, n int) (map[string]version, error) {
	t.Helper()
	conn := dialHub(t, addr)
	defer conn.Close() //nolint:errcheck // nothing is under way any more
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := hello(ctx, conn, edge)
	if err != nil {
		return nil, err
	}
	objects, names, complete := map[string]version{}, map[uint32]string{}, map[string]bool{}
	for received := uint64(0); len(complete) < n; {
		m, err := stream.Recv()
		if err != nil {
			return nil, fmt.Errorf("%d of %d resources are complete: %w", len(complete), n, err)
		}
		received += uint64(proto.Size(m))
		if u := m.GetSubscription(); u != nil {
			names[u.GetId()] = u.GetResource().GetResource() + "." + u.GetResource().GetGroup()
		}
		if c := m.GetCheckpoint(); c != nil {
			complete[names[c.GetSubscription()]] = true
		}
		for _, o := range m.GetBatch().GetOperations() {
			key := names[m.GetBatch().GetSubscription()] + " " + o.GetKey()
			delete(objects, key)
			if o.GetType() == tombolov1.OperationType_OPERATION_TYPE_PUT {
				objects[key] = version{o.GetRev(), o.GetCrc32C(), string(o.GetData()), string(o.GetCells())}
			}
		}
		ack := &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{ReceivedBytes: received}}}
		if err := stream.Send(ack); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// sameVersions names an object that two hubs do not give alike.
func sameVersions(a, b map[string]version) error {
	for key, va := range a {
		vb, ok := b[key]
		switch {
		case !ok:
			return fmt.Errorf("one hub has %s, the other has not", key)
		case va != vb:
			return fmt.Errorf("%s differs:\n%+v\n%+v", key, va, vb)
		case delta.Checksum([]byte(va.data), []byte(va.cells)) != va.sum:
			return fmt.Errorf("%s has another checksum than it says", key)
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("one hub has %d objects, the other %d", len(a), len(b))
	}
	return nil
}

// writeManyWays makes objects that have come by several versions of an API and by several managers.
func writeManyWays(t *testing.T, c *cluster.Cluster, cloud *api, round int) {
	t.Helper()
	for _, version := range []string{"v1", "v2"} {
		name := fmt.Sprintf("scaler-%s-%d", version, round)
		body := fmt.Sprintf(`{"apiVersion":"autoscaling/%s","kind":"HorizontalPodAutoscaler","metadata":{"name":%q,"namespace":"default"},
			"spec":{"maxReplicas":%d,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"x"}}}`, version, name, 2+round)
		got, err := cloud.do(t.Context(), http.MethodPost, "/apis/autoscaling/"+version+"/namespaces/default/horizontalpodautoscalers", []byte(body))
		if err != nil || got.status != http.StatusCreated {
			t.Fatalf("%s: %d %s (%v)", name, got.status, got.body, err)
		}
	}
	for i, manager := range []string{"first", "second"} {
		applied := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied","namespace":"default","labels":{%q:"%d"}},
			"data":{%q:"<a href=\"x\">&amp;</a> é %d","shared":"%d"}}`, manager, round, manager, round, i)
		runKubectl(t, c, applied, "apply", "--server-side", "--force-conflicts", "--field-manager", manager, "-f", "-")
	}
	runKubectl(t, c, "", "label", "--overwrite", "nodes,namespaces,widgets.ex.io", "--all", "-A", fmt.Sprint("round=", round))
}

// TestHubsHaveTheSameBytes: hubs that began at different times, so that one has listed what another has seen in watches,
// give edges the same bytes, cells and checksums of every object, of whatever kind and however it was written.
func TestHubsHaveTheSameBytes(t *testing.T) {
	c := cluster.New(t, cluster.Config{})
	cloud := kubeAPI(t, c)
	hubs := make([]*hub, 3)
	for i := range hubs {
		hubs[i] = newHub(t, hubConfig{name: fmt.Sprint("cloudhub-", i), kubeconfig: c.Kubeconfig, scopes: wholeScope(tabled)})
	}
	hubs[0].start()
	fillTables(t, cloud)
	writeManyWays(t, c, cloud, 0)
	hubs[1].start()
	writeManyWays(t, c, cloud, 1)
	hubs[0].stop()
	writeManyWays(t, c, cloud, 2)
	hubs[0].start()
	writeManyWays(t, c, cloud, 3)
	hubs[2].start()
	kinds := 0
	eventually(t, func() error {
		var all []map[string]version
		for i, h := range hubs {
			objects, err := given(t.Context(), t, h.sync, fmt.Sprint("edge-replica-", i), len(tabled))
			if err != nil {
				return err
			}
			all = append(all, objects)
		}
		kinds = len(all[0])
		if err := sameVersions(all[0], all[1]); err != nil {
			return fmt.Errorf("a hub that was there from the beginning but for a restart, and one that came later: %w", err)
		}
		return sameVersions(all[1], all[2])
	})
	if kinds < 2*len(tabled) {
		t.Errorf("%d objects of %d kinds: not much was compared", kinds, len(tabled))
	}
	t.Logf("%d objects of %d kinds are the same at three hubs", kinds, len(tabled))
}
