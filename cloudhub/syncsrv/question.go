package syncsrv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// Prover proves that the logs of a source are as far as the cloud.
type Prover interface {
	// Prove returns a position that the log of gr has reached and at which its objects in the part are the cloud's as of
	// some moment since the call; with minRev set, minRev or later, or where the cloud is.
	Prove(ctx context.Context, gr schema.GroupResource, part source.Part, minRev uint64) (uint64, error)
}

const (
	// proofLimit bounds the answer to one question.
	proofLimit = 3 * time.Second
	// maxQuestions is how many questions of an edge are looked into at once; others fail.
	maxQuestions = 64
	// questionRate and questionBurst bound the questions of an edge, per second. Edges keep to somewhat less.
	questionRate, questionBurst = 1000, 2000
	// maxSelector is how many bytes a selector may have.
	maxSelector = 16 << 10
)

// questions are those of one edge. They belong to whose turn the session is.
type questions struct {
	open int           // looked into at the moment
	rate *rate.Limiter // nil before the first
}

// mayAsk tells whether the edge has not asked too much.
func (q *questions) mayAsk() bool {
	if q.rate == nil {
		q.rate = rate.NewLimiter(questionRate, questionBurst)
	}
	return q.open < maxQuestions && q.rate.Allow()
}

// answer is what a question has come to, to be sent once the edge has been sent everything up to rev.
type answer struct{ id, rev uint64 }

var (
	errNotLive      = errors.New("the subscription is not caught up")
	errTooManyAsked = errors.New("the edge asks too much at once")
	errNoProver     = errors.New("the hub's source has no proofs")
)

// question looks into a question. What keeps it from an answer is told to the edge, and ends nothing.
func (s *session) question(ctx context.Context, q *tombolov1.Question) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	u := s.sub(q.GetSubscription())
	part, err := s.admitQuestion(u, q)
	if err != nil {
		return s.sendAnswer(answer{id: q.GetId()}, err)
	}
	s.questions.open++
	prover, this := s.srv.cfg.Prover, u.id
	s.srv.wg.Go(func() {
		start := time.Now()
		pctx, cancel := context.WithTimeout(ctx, proofLimit)
		rev, err := prover.Prove(pctx, u.gr, part, q.GetMinRev())
		cancel()
		s.srv.metrics.question(time.Since(start), err)
		s.postLight(func(ctx context.Context) error {
			s.questions.open--
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return u.proved(this, answer{q.GetId(), rev}, err)
		})
	})
	return nil
}

// admitQuestion returns the part that a question is about.
func (s *session) admitQuestion(u *subscription, q *tombolov1.Question) (source.Part, error) {
	part := source.Part{
		Namespace: q.GetNamespace(), Name: q.GetName(), Labels: q.GetLabelSelector(), Fields: q.GetFieldSelector(),
	}
	switch {
	case u == nil || u.phase != live:
		return part, errNotLive
	case s.srv.cfg.Prover == nil:
		return part, errNoProver
	case !s.questions.mayAsk():
		return part, errTooManyAsked
	case len(part.Namespace) > maxText || len(part.Name) > maxText:
		return part, fmt.Errorf("a name has more than %d bytes", maxText)
	case len(part.Labels) > maxSelector || len(part.Fields) > maxSelector:
		return part, fmt.Errorf("a selector has more than %d bytes", maxSelector)
	}
	if _, err := labels.Parse(part.Labels); err != nil {
		return part, fmt.Errorf("label selector: %w", err)
	}
	if _, err := fields.ParseSelector(part.Fields); err != nil {
		return part, fmt.Errorf("field selector: %w", err)
	}
	return u.narrow(part), nil
}

// narrow returns a part that has all objects which are in both part and the edge's scope, and as few others as one request
// can tell. A part that is one object stays as it is.
func (u *subscription) narrow(part source.Part) source.Part {
	sel, ok := u.scope.Narrow(u.gr)
	if !ok || part.Name != "" {
		return part
	}
	if part.Namespace == "" {
		part.Namespace = sel.Namespace
	}
	part.Labels, part.Fields = both(part.Labels, sel.Labels), both(part.Fields, sel.Fields)
	return part
}

// both returns a selector for what two selectors select.
func both(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	default:
		return a + "," + b
	}
}

// proved takes over what a question about the subscription, when it had the id this, has come to.
func (u *subscription) proved(this uint32, a answer, err error) error {
	if err == nil && (u.id != this || u.phase != live) {
		err = errNotLive
	}
	if err != nil {
		return u.s.sendAnswer(a, err)
	}
	u.answers = append(u.answers, a)
	return nil
}

// answer sends the answers that are due: those whose position the edge has been sent everything up to. A subscription
// that is no longer live has none.
func (u *subscription) answer() error {
	waiting := u.answers[:0]
	for _, a := range u.answers {
		var err error
		switch {
		case u.phase != live:
			err = u.s.sendAnswer(a, errNotLive)
		case u.readRev < a.rev || u.stepOpen:
			waiting = append(waiting, a)
		default:
			u.sentRev = max(u.sentRev, a.rev) // the edge takes it for an advance
			err = u.s.sendAnswer(a, nil)
		}
		if err != nil {
			return err
		}
	}
	u.answers = waiting
	return nil
}

func (s *session) sendAnswer(a answer, failure error) error {
	m := &tombolov1.Answer{Id: a.id, Rev: a.rev}
	if failure != nil {
		m.Rev, m.Failure = 0, failure.Error()
	}
	return s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Answer{Answer: m}})
}
