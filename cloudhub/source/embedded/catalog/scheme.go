package catalog

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// Scheme knows the Go types of all built-in kinds. It is never changed.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(s))
	utilruntime.Must(metav1.AddMetaToScheme(s)) // for answers with metadata alone
	gv := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
	s.AddKnownTypeWithName(gv.WithKind("CustomResourceDefinition"), &Definition{})
	metav1.AddToGroupVersion(s, gv)
	return s
}
