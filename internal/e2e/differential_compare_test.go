//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// difference is one that is allowed: what matches is replaced before bodies are compared.
type difference struct {
	why   string
	match *regexp.Regexp
	with  string
}

// allowed are all the differences in bodies that the test looks away from.
var allowed = []difference{
	{"how far a server's cache has come when it refuses a future revision", regexp.MustCompile(`(Too large resource version: \d+, current: )\d+`), "${1}N"},
	{"how far back a server's window reaches", regexp.MustCompile(`(too old resource version: \d+ )\(\d+\)`), "${1}(N)"},
	{"ages move on between two answers", regexp.MustCompile(`"(\d+[ywdhms])+"`), `"<age>"`},
	{"the same, in YAML", regexp.MustCompile(`(?m)^(\s+- )(\d+[ywdhms])+$`), `${1}<age>`},
	{"durations that look like numbers are quoted in YAML", regexp.MustCompile(`(?m)^(\s+- )"<age>"$`), `${1}<age>`},
}

var continueToken = regexp.MustCompile(`eyJ2Ijoi[A-Za-z0-9_-]+`)

// normalize removes what may differ. A continue token is the same with and without a slash before its key:
// kube-apiserver gives out both, depending on where it has read a page.
func normalize(body []byte) string {
	text := continueToken.ReplaceAllStringFunc(string(body), func(token string) string {
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return token
		}
		return "<" + strings.Replace(string(raw), `"start":"/`, `"start":"`, 1) + ">"
	})
	for _, a := range allowed {
		text = a.match.ReplaceAllString(text, a.with)
	}
	return text
}

// comparedHeaders are those of an answer that a client may look at.
var comparedHeaders = []string{
	"Content-Type", "Content-Encoding", "Vary", "Cache-Control", "Retry-After", "Warning", "X-Content-Type-Options", "Location", "Allow", "Etag",
}

// ask sends a inquiry.
func (a *api) ask(ctx context.Context, p inquiry, query string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, p.method, a.base+p.path+"?"+query, nil)
	if err != nil {
		return answer{}, err
	}
	request.Header["Accept"] = nil
	for name, value := range map[string]string{"Accept": p.accept, "User-Agent": p.agent, "Accept-Encoding": p.encoding} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	if p.encoding == "" {
		request.Header.Set("Accept-Encoding", "identity")
	}
	response, err := a.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", a.name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", a.name, err)
	}
	if body, err = decompressed(response.Header, body); err != nil {
		return answer{}, fmt.Errorf("%s: %w", a.name, err)
	}
	return answer{response.StatusCode, response.Header, body}, nil
}

// compare sends a inquiry to both and compares the answers.
func (d *differ) compare(ctx context.Context, p inquiry) error {
	switch {
	case p.kind == watching:
		return d.compareWatch(ctx, p)
	case p.kind == floating && p.object:
		return d.compareObject(ctx, p)
	case p.kind == floating:
		return d.compareList(ctx, p)
	default:
		cloud, edge, err := d.both(ctx, p)
		if err != nil {
			return err
		}
		return sameAnswer(cloud, edge)
	}
}

// both asks both at once.
func (d *differ) both(ctx context.Context, p inquiry) (cloud, edge answer, err error) {
	var wg sync.WaitGroup
	var edgeErr error
	wg.Go(func() { edge, edgeErr = d.edge.ask(ctx, p, p.query) })
	cloud, err = d.cloud.ask(ctx, p, p.query)
	wg.Wait()
	if err == nil {
		err = edgeErr
	}
	return cloud, edge, err
}

// sameAnswer compares status, headers and bodies.
func sameAnswer(cloud, edge answer) error {
	if err := sameHead(cloud, edge); err != nil {
		return err
	}
	if got, want := normalize(edge.body), normalize(cloud.body); got != want {
		return fmt.Errorf("status %d: %s", cloud.status, firstDifference(got, want))
	}
	return nil
}

func sameHead(cloud, edge answer) error {
	if cloud.status != edge.status {
		return fmt.Errorf("status %d, want %d\n  got  %.600s\n  want %.600s", edge.status, cloud.status, edge.body, cloud.body)
	}
	for _, name := range comparedHeaders {
		if got, want := edge.header.Values(name), cloud.header.Values(name); !slices.Equal(got, want) {
			return fmt.Errorf("status %d: header %s %q, want %q", cloud.status, name, got, want)
		}
	}
	return nil
}

// compareObject compares one object, which may change meanwhile. What is read without a revision, or with one that is
// not 0, must not be older than what the cloud had before.
func (d *differ) compareObject(ctx context.Context, p inquiry) error {
	for range 5 {
		before, err := d.cloud.ask(ctx, p, p.query)
		if err != nil {
			return err
		}
		edge, err := d.edge.ask(ctx, p, p.query)
		if err != nil {
			return err
		}
		after, err := d.cloud.ask(ctx, p, p.query)
		if err != nil {
			return err
		}
		if before.status != after.status || normalize(before.body) != normalize(after.body) {
			continue
		}
		err = sameAnswer(before, edge)
		if err == nil || !p.zero {
			return err
		}
	}
	return nil // it kept changing, or is read from a cache that may be behind
}

// compareList compares a list of the state at some moment: what the edge shows at its revision is what the cloud had at
// that revision.
func (d *differ) compareList(ctx context.Context, p inquiry) error {
	cloud, err := d.cloud.ask(ctx, p, p.query)
	if err != nil {
		return err
	}
	edge, err := d.edge.ask(ctx, p, p.query)
	if err != nil {
		return err
	}
	if cloud.status != http.StatusOK || edge.status != http.StatusOK {
		return sameAnswer(cloud, edge)
	}
	if err := sameHead(cloud, edge); err != nil {
		return err
	}
	rev := listRevision(edge)
	if rev == 0 {
		return fmt.Errorf("no revision in %.300s", edge.body)
	}
	d.saw(rev)
	d.offer(p, cloud, edge)
	if err := fresh(p, cloud, edge); err != nil {
		return err
	}
	exact, err := d.cloud.ask(ctx, p, exactQuery(p, rev))
	if err != nil {
		return err
	}
	if exact.status == http.StatusGone {
		d.gone.Add(1)
		return nil
	}
	return sameAnswer(exact, edge)
}

// fresh fails when a list that asks for the newest state is older than what the cloud had before. The revision that an
// edge shows may be lower when nothing of the list has changed since.
func fresh(p inquiry, cloud, edge answer) error {
	if p.asked || listRevision(edge) >= listRevision(cloud) {
		return nil
	}
	var have, had struct{ Items, Rows json.RawMessage }
	if json.Unmarshal(edge.body, &have) != nil || json.Unmarshal(cloud.body, &had) != nil {
		return nil // in an encoding whose items aren't looked into
	}
	if got, want := normalize(append(have.Items, have.Rows...)), normalize(append(had.Items, had.Rows...)); got != want {
		return fmt.Errorf("the list is behind: %s", firstDifference(got, want))
	}
	return nil
}

// offer notes the continue tokens of two answers.
func (d *differ) offer(p inquiry, answers ...answer) {
	for _, a := range answers {
		if token := continueToken.Find(a.body); token != nil {
			d.offered(p.path, string(token))
		}
	}
}

// exactQuery asks for the same part of the list as it was at a revision.
func exactQuery(p inquiry, rev uint64) string {
	q, _ := url.ParseQuery(p.query)
	token := q.Get("continue")
	q.Del("resourceVersion")
	q.Del("resourceVersionMatch")
	switch {
	case token != "": // one that reads the newest state
		raw, _ := base64.RawURLEncoding.DecodeString(token)
		at := strings.Replace(string(raw), `"rv":-1`, fmt.Sprintf(`"rv":%d`, rev), 1)
		q.Set("continue", base64.RawURLEncoding.EncodeToString([]byte(at)))
	default:
		q.Set("resourceVersion", strconv.FormatUint(rev, 10))
		q.Set("resourceVersionMatch", "Exact")
	}
	if p.zero && !strings.HasSuffix(p.path, "/events") { // those are not cached
		q.Del("limit")
	}
	return q.Encode()
}

var (
	jsonRevision = regexp.MustCompile(`"metadata": ?\{[^{}]*"resourceVersion": ?"(\d+)"`)
	yamlRevision = regexp.MustCompile(`(?m)^  resourceVersion: "(\d+)"`)
)

// listRevision is the revision of a list in any encoding, 0 when it isn't found.
func listRevision(a answer) uint64 {
	switch {
	case strings.Contains(a.header.Get("Content-Type"), "protobuf"):
		return protobufListRevision(a.body)
	case strings.Contains(a.header.Get("Content-Type"), "yaml"):
		all := yamlRevision.FindAllSubmatch(a.body, -1) // the list's own is the one that is not below an item
		if len(all) == 0 {
			return 0
		}
		return number(all[len(all)-1][1])
	default:
		var l struct {
			Metadata struct{ ResourceVersion string }
		}
		if json.Unmarshal(a.body, &l) != nil {
			return 0
		}
		return number([]byte(l.Metadata.ResourceVersion))
	}
}

func number(text []byte) uint64 {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// bodyRevision is the revision of the object in a JSON answer, 0 for a Status.
func bodyRevision(body []byte) uint64 {
	if m := jsonRevision.FindSubmatch(bytes.ReplaceAll(body, []byte("\n"), nil)); m != nil {
		return number(m[1])
	}
	return listRevision(answer{body: body})
}
