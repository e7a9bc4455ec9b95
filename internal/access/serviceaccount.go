package access

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

const (
	accountPrefix = "system:serviceaccount:"
	accountsGroup = "system:serviceaccounts"
)

// ServiceAccount returns the service account whose user name this is (apiserver pkg/authentication/serviceaccount/util.go).
func ServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, accountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	if !ok || len(validation.ValidateNamespaceName(namespace, false)) > 0 || len(validation.ValidateServiceAccountName(name, false)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// ServiceAccountUser returns the user name of a service account.
func ServiceAccountUser(namespace, name string) string { return accountPrefix + namespace + ":" + name }

// ServiceAccountGroups returns the groups of the service accounts of a namespace.
func ServiceAccountGroups(namespace string) []string {
	return []string{accountsGroup, accountsGroup + ":" + namespace}
}
