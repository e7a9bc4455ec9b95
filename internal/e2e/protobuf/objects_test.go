//go:build e2e

package protobuf_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// createAll writes the objects of testdata/objects.yaml.
func (c *cloud) createAll() {
	raw, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		c.Fatal(err)
	}
	kinds := map[metav1.TypeMeta]watchlog.Resource{}
	for _, r := range c.resources() {
		kinds[metav1.TypeMeta{APIVersion: r.APIVersion(), Kind: r.Kind}] = r
	}
	request, certificate := c.pems()
	for _, text := range bytes.Split(raw, []byte("\n---\n")) {
		var o map[string]any
		if err := yaml.Unmarshal(text, &o); err != nil {
			c.Fatalf("%v in %s", err, text)
		}
		if spec, _ := o["spec"].(map[string]any); spec["request"] != nil {
			spec["request"] = request
		} else if spec["trustBundle"] != nil {
			spec["trustBundle"] = string(certificate)
		}
		var head metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(text, &head); err != nil {
			c.Fatal(err)
		}
		r, ok := kinds[head.TypeMeta]
		if !ok {
			c.Fatalf("no resource of %v", head.TypeMeta)
		}
		c.create(&r, &head, o)
	}
}

// create writes an object with a label, and behind it its status.
func (c *cloud) create(r *watchlog.Resource, head *metav1.PartialObjectMetadata, o map[string]any) {
	c.Helper()
	o["metadata"].(map[string]any)["labels"] = map[string]string{"golden": ""}
	status := map[string]any{"status": o["status"]}
	c.send(http.MethodPost, collectionPath(r, head.Namespace), c.encode(o))
	if status["status"] != nil {
		c.send(http.MethodPatch, objectPath(r, head)+"/status", c.encode(status))
	}
}

func (c *cloud) encode(v any) []byte {
	c.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		c.Fatal(err)
	}
	return raw
}

// pems returns a certificate request and a certificate.
func (c *cloud) pems() (request, certificate []byte) {
	c.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.Fatal(err)
	}
	req, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		c.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		c.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: req}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
}
