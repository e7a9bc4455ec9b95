package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// past is what a log has seen of its cloud, by which it finds out whether the cloud was restored from a backup while it
// looked away, even when the cloud's revisions have passed the log's position since. A cloud can't be restored under an
// open watch: the API server has to be restarted.
type past struct {
	mu sync.Mutex // guards all below
	// newest is the newest version that the log was given, whatever became of it; nil when there was none. Behind it the
	// log has seen nothing but deletions and bookmarks.
	newest *watchlog.Object
	// doubted is set when a watch has ended before its time, until the cloud has shown that its past is the log's.
	doubted bool
}

func (p *past) saw(o *watchlog.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newest == nil || o.Rev() >= p.newest.Rev() {
		p.newest = o
	}
}

// read takes note of the whole state.
func (p *past) read(objects []*watchlog.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest, p.doubted = nil, false
	for _, o := range objects {
		if p.newest == nil || o.Rev() > p.newest.Rev() {
			p.newest = o
		}
	}
}

func (p *past) doubt() { p.set(true) }

func (p *past) set(doubted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubted = doubted
}

func (p *past) witness() (*watchlog.Object, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest, p.doubted
}

// errUnproven is why everything is read again: whether the cloud's past is the log's can't be told in another way.
var errUnproven = apierrors.NewResourceExpired("the cloud may have been restored meanwhile")

// since returns the revision from which a watch may go on whose position is rv. After a doubt that is the newest version
// that the log has, once the cloud says that it had this very version there: what a restored cloud may have done between
// that and rv would be missed otherwise. Deletions come again then, which the log knows.
func (lw *listWatch) since(ctx context.Context, rv string) (string, error) {
	if lw.past == nil {
		return rv, nil
	}
	newest, doubted := lw.past.witness()
	if !doubted {
		return rv, nil
	}
	if newest == nil {
		return "", errUnproven
	}
	if err := lw.verify(ctx, newest); err != nil {
		return "", err
	}
	lw.past.set(false)
	return formatRev(newest.Rev()), nil
}

// verify tells whether o was in the cloud at its own revision: nil, or errUnproven when that can't be told, or a
// failure of the request. When it was not, the cloud was restored, and the log's user hears of it.
func (lw *listWatch) verify(ctx context.Context, o *watchlog.Object) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	result := lw.client.Get().NamespaceIfScoped(o.Namespace(), o.Namespace() != "").Resource(lw.resource.Name).
		Param("fieldSelector", "metadata.name="+o.Name()).Param("resourceVersion", formatRev(o.Rev())).
		Param("resourceVersionMatch", string(metav1.ResourceVersionMatchExact)).SetHeader("Accept", mediaJSON).Do(ctx)
	body, err := result.Raw()
	if err == nil {
		err = result.Error()
	}
	if err != nil {
		if isFinal(err) {
			return errUnproven // compacted, mostly
		}
		return fmt.Errorf("version %d of %s: %w", o.Rev(), o.Key(), err)
	}
	list, err := parseList(body, lw.dec, lw.resource)
	if err != nil {
		return fmt.Errorf("version %d of %s: %w", o.Rev(), o.Key(), err)
	}
	if len(list.Items) == 1 {
		had, err := itemObject(list.Items[0])
		switch {
		case err != nil:
			return err
		case had.UID() == o.UID() && had.Rev() == o.Rev() && bytes.Equal(had.JSON(), o.JSON()):
			return nil
		case had.UID() == o.UID() && had.Rev() == o.Rev():
			return errUnproven // encoded in another way, or written anew: a list tells
		}
	}
	lw.health.rewound(fmt.Errorf("%w: it has not had %s of version %d", source.ErrRewound, o.Key(), o.Rev()))
	return errGoneBack
}

var errGoneBack = errors.New("the cloud was restored from a backup")
