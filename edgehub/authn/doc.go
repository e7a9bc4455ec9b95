// Package authn tells who sends requests to an edge's local API: by client certificate, by the cloud's tokens, or nobody.
package authn
