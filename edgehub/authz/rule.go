package authz

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// allows tells whether a rule covers a request.
func allows(rule *rbacv1.PolicyRule, r *access.Request) bool {
	if !has(rule.Verbs, r.Verb) {
		return false
	}
	if !r.OfResource() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return coversPath(url, r.Path) })
	}
	return has(rule.APIGroups, r.Group) && coversResource(rule.Resources, r) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
}

// has tells whether a list has a word, or a star.
func has(list []string, word string) bool {
	for _, s := range list {
		if s == word || s == "*" {
			return true
		}
	}
	return false
}

// coversResource tells whether one of the resources of a rule is that of a request: "*", "pods", "pods/log" or "*/log".
func coversResource(resources []string, r *access.Request) bool {
	for _, s := range resources {
		if s == "*" {
			return true
		}
		if r.Subresource == "" {
			if s == r.Resource {
				return true
			}
			continue
		}
		resource, ok := strings.CutSuffix(s, r.Subresource)
		if resource, slash := strings.CutSuffix(resource, "/"); ok && slash && (resource == "*" || resource == r.Resource) {
			return true
		}
	}
	return false
}

func coversPath(url, path string) bool {
	if url == path {
		return true
	}
	return strings.HasSuffix(url, "*") && strings.HasPrefix(path, strings.TrimRight(url, "*"))
}
