// Package authz decides who may do what by the roles and bindings that the edge holds, as kube-apiserver's RBAC authorizer does
// (kubernetes plugin/pkg/auth/authorizer/rbac and pkg/registry/rbac/validation). What it decides by is the newest that the edge
// has of them: it looks at each decision whether they have changed, and only then reads them anew.
//
// Rights only ever add up, so an edge that holds a part of the roles and bindings refuses more than the cloud, and never less.
package authz
