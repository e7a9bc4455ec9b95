package apidoc

// What service-account tokens are verified with: who issues them, and the public keys that sign them, as a JSON Web Key Set
// (kubernetes pkg/routes/openidmetadata.go).
const (
	Issuer = "/.well-known/openid-configuration"
	Keys   = "/openid/v1/jwks"
)
