// Package site follows the EdgeSite and EdgeScope objects of the cloud (group tombolo.dev, deploy/crds): which edges there
// are, whether they may join, and what each may hold. They come through the hub's own source, as any other resource, so
// that it makes no difference what kind of cloud that is.
package site
