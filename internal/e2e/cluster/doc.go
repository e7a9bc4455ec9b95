// Package cluster runs a real etcd and a real kube-apiserver for end-to-end
// tests: two processes on loopback, their state in one directory, nothing else
// on the machine touched.
//
//	c := cluster.New(t, cluster.Config{})
//	out, err := c.Kubectl(ctx, "get", "namespaces").Output()
//
// The binaries come from `make kube`. There are no controllers, no scheduler
// and no kubelet: a Deployment makes no pods, and a Pod is what a test writes.
//
// The servers never outlive the test: they are stopped by [Cluster.Stop], and
// on Linux they die with the test process even when that is killed.
package cluster
