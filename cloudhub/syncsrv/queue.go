package syncsrv

import (
	"runtime"
	"sync"
)

// queue is where jobs wait for a worker. There are two lines: the urgent one for what was woken, and the bulk one for what
// has said that it has more to do. Urgent turns go first, so that whatever is brought to one edge never delays what
// happened for another; every bulkEvery-th turn is one of bulk all the same, so that neither line stands still. At least
// one worker is free for urgent turns. Both lines are first come, first served.
//
// Workers are there while there is something to do: an idle queue has no goroutine.
type queue struct {
	workers int              // at most; 0: nothing is run
	spawn   func(run func()) // starts a worker, whom somebody waits for

	mu     sync.Mutex // guards all below, and all jobs but their work
	lines  [2]line    // by kind
	active int        // workers
	inBulk int        // of these, those in a bulk turn
	streak int        // urgent turns since the last bulk one
}

// kind is a kind of turn.
type kind uint8

const (
	urgent kind = iota
	bulk
)

// bulkEvery is how many turns there are for one of bulk, while there is always something urgent.
const bulkEvery = 8

// runner is what a job does. A turn is short, and never waits for anybody. It tells whether there is more to do, in a bulk
// turn; what is small and urgent it does in any turn.
type runner interface{ turn(k kind) (more bool) }

// job is a runner's place in a queue. It is run by one worker at a time. Who wakes it while it runs has it run again.
type job struct {
	work runner

	wanted  [2]bool       // it is to have a turn of this kind
	inLine  [2]bool       // it is in this line
	running bool          // a worker has it
	over    bool          // it is not run any more
	left    chan struct{} // closed when the worker has left; nil unless finish waits
}

// line is a first-come-first-served line of jobs.
type line struct {
	jobs []*job
	head int // jobs[:head] have gone
}

func (l *line) empty() bool { return l.head == len(l.jobs) }

func (l *line) push(j *job) {
	if l.head > len(l.jobs)/2 {
		n := copy(l.jobs, l.jobs[l.head:])
		clear(l.jobs[n:])
		l.jobs, l.head = l.jobs[:n], 0
	}
	l.jobs = append(l.jobs, j)
}

func (l *line) pop() *job {
	j := l.jobs[l.head]
	l.jobs[l.head] = nil
	if l.head++; l.empty() {
		l.jobs, l.head = l.jobs[:0], 0
	}
	return j
}

// wake has the job run soon. It never waits, and may be called by anybody, also in the job's own turn.
func (q *queue) wake(j *job) { q.want(j, urgent) }

// later gives the job a bulk turn.
func (q *queue) later(j *job) { q.want(j, bulk) }

func (q *queue) want(j *job, k kind) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.wanted[k] || j.over {
		return
	}
	j.wanted[k] = true
	if !j.running {
		q.enterLocked(j, k)
		q.startLocked()
	}
}

func (q *queue) enterLocked(j *job, k kind) {
	if j.wanted[k] && !j.inLine[k] {
		j.inLine[k] = true
		q.lines[k].push(j)
	}
}

// finish ends the job: when it returns, no worker has it, and none will. It must not be called in the job's turn.
func (q *queue) finish(j *job) {
	q.mu.Lock()
	j.over = true
	var left chan struct{}
	if j.running {
		left = make(chan struct{})
		j.left = left
	}
	q.mu.Unlock()
	if left != nil {
		<-left
	}
}

func (q *queue) startLocked() {
	if q.active < q.workers {
		q.active++
		q.spawn(q.run)
	}
}

// run is a worker.
func (q *queue) run() {
	for {
		j, k := q.take()
		if j == nil {
			return
		}
		q.done(j, k, j.work.turn(k))
		// What the turn has sent goes out by a goroutine of the connection. It gets its chance here: else the sends of
		// thousands of turns would pile up, each with its buffer, and all go out at the end.
		runtime.Gosched()
	}
}

// take returns the next job and the kind of its turn, nil when the worker is to end.
func (q *queue) take() (*job, kind) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		k := q.nextLocked()
		if q.lines[k].empty() || k == bulk && !q.bulkMayLocked() {
			q.active--
			return nil, k
		}
		j := q.lines[k].pop()
		j.inLine[k] = false
		if j.over || j.running { // what runs in a turn of the other kind comes back behind that
			continue
		}
		j.running, j.wanted[k] = true, false
		if k == bulk {
			q.inBulk++
			q.streak = 0
		} else {
			q.streak++
		}
		return j, k
	}
}

// nextLocked returns the kind of the next turn, if there is any.
func (q *queue) nextLocked() kind {
	if q.lines[urgent].empty() || q.streak >= bulkEvery-1 && !q.lines[bulk].empty() && q.bulkMayLocked() {
		return bulk
	}
	return urgent
}

func (q *queue) bulkMayLocked() bool { return q.inBulk < max(1, q.workers-1) }

// done puts the job in line again if need be.
func (q *queue) done(j *job, k kind, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if k == bulk {
		q.inBulk--
	}
	j.running = false
	if j.over {
		if j.left != nil {
			close(j.left)
		}
		return
	}
	j.wanted[bulk] = j.wanted[bulk] || more
	q.enterLocked(j, urgent)
	q.enterLocked(j, bulk)
}
