// Package enroll gives edges their certificates: the first one for a join token, the others for the one before.
//
// What a certificate says is decided here alone, by the token or by the certificate that is renewed. Of a request only the
// public key counts, once its signature has shown that who asks has the private one.
//
// A token is "id.secret". Only a hash of the secret is kept. It is for one edge, for a time, and for one key: that of the
// first request with it. A Register says whose it is, once and for all, so that this holds for all replicas together.
//
// A revocation bars what was issued to an edge until then, tokens included. What is issued later, for a token made later, is
// not touched by it: certificates begin no earlier than the last revocation of their edge.
package enroll
