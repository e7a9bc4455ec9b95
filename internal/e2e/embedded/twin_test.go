//go:build e2e

package embedded_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// twins are the embedded cloud and a real cluster that get the same requests.
type twins struct {
	*testing.T
	ours, real *side
}

// side is one of them.
type side struct {
	url    string
	client *http.Client
	names  map[string]string // what was called by uids and resourceVersions, by the order in which they appeared
	next   string            // the last continue token; CONTINUE in the path of a step stands for it
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	// Without the plugins that change objects: the embedded cloud has none.
	c := cluster.New(t, cluster.Config{APIServerArgs: []string{"--disable-admission-plugins=ServiceAccount," +
		"DefaultTolerationSeconds,Priority,StorageObjectInUseProtection,TaintNodesByCondition,DefaultStorageClass"}})
	client, err := c.AdminClient()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &twins{t, newSide(newRig(t).url, http.DefaultClient), newSide(c.URL, client)}
}

func newSide(url string, c *http.Client) *side {
	return &side{url: url, client: c, names: map[string]string{}}
}

// step is a request that both get.
type step struct{ method, path, contentType, body string }

// same sends a request to both and holds the answers against each other.
func (tw *twins) same(s step) {
	tw.Helper()
	ours, want := tw.ours.do(tw.T, s), tw.real.do(tw.T, s)
	if ours != want {
		tw.Errorf("%s %s %s\nours %s\nreal %s", s.method, s.path, s.body, ours, want)
	}
	for i := len(tw.ours.names); i < len(tw.real.names); i++ {
		tw.ours.name(fmt.Sprint("none", i)) // so that one difference is not one in all that follows
	}
	for i := len(tw.real.names); i < len(tw.ours.names); i++ {
		tw.real.name(fmt.Sprint("none", i))
	}
}

// do sends a request and returns code, type, warnings and body of the answer, without what differs between any two
// servers.
func (d *side) do(t *testing.T, s step) string {
	t.Helper()
	path := strings.ReplaceAll(s.path, "CONTINUE", d.next)
	req, err := http.NewRequestWithContext(t.Context(), s.method, d.url+path, strings.NewReader(s.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "twin")
	if s.contentType == "" {
		s.contentType = "application/json"
	}
	req.Header.Set("Content-Type", s.contentType)
	res, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(string(raw), "\n")
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		text = d.neutral(text)
	}
	return fmt.Sprint(res.StatusCode, " ", res.Header.Get("Content-Type"), " ", res.Header.Values("Warning"), " ", text)
}

var (
	uids      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	versions  = regexp.MustCompile(`("resourceVersion":"|in record \()\d+`)
	suffixes  = regexp.MustCompile(`"gen-[a-z0-9]{5}"`)
	tokens    = regexp.MustCompile(`"continue":"[\w-]+"`)
	tokenRevs = regexp.MustCompile(`"rv":(\d+)`)
	schemes   = regexp.MustCompile(`in scheme \\"[^"]*\\"`)
)

// neutral returns JSON without field managers, and with times, uids, resourceVersions and generated names replaced.
// Equal uids and versions stay equal.
func (d *side) neutral(text string) string {
	var out bytes.Buffer
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := copyJSON(&out, dec); err != nil {
		return text
	}
	text = times.ReplaceAllString(out.String(), "TIME")
	text = suffixes.ReplaceAllString(text, `"gen-SUFFIX"`)
	text = schemes.ReplaceAllString(text, "in SCHEME")
	text = tokens.ReplaceAllStringFunc(text, d.token)
	text = uids.ReplaceAllStringFunc(text, d.name)
	return versions.ReplaceAllStringFunc(text, func(s string) string {
		i := strings.LastIndexAny(s, "\"(") + 1
		return s[:i] + d.name(s[i:])
	})
}

// token notes a continue token and returns what it says, with its revision in the form of a resourceVersion.
func (d *side) token(member string) string {
	_, quoted, _ := strings.Cut(member, ":")
	d.next = strings.Trim(quoted, `"`)
	raw, err := base64.RawURLEncoding.DecodeString(d.next)
	if err != nil {
		return member
	}
	return `"continue":` + tokenRevs.ReplaceAllString(string(raw), `"resourceVersion":"$1"`)
}

func (d *side) name(s string) string {
	if _, ok := d.names[s]; !ok {
		d.names[s] = fmt.Sprintf("#%d", len(d.names))
	}
	return d.names[s]
}

// copyJSON copies one value, in its order, without members called managedFields.
func copyJSON(out *bytes.Buffer, dec *json.Decoder) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return writeJSON(out, tok)
	}
	out.WriteRune(rune(delim))
	for first := true; dec.More(); {
		var skip bool
		mark := out.Len()
		if !first {
			out.WriteByte(',')
		}
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			if err := writeJSON(out, key); err != nil {
				return err
			}
			out.WriteByte(':')
			skip = key == "managedFields"
		}
		if err := copyJSON(out, dec); err != nil {
			return err
		}
		if skip {
			out.Truncate(mark)
			continue
		}
		first = false
	}
	end, err := dec.Token()
	if err != nil {
		return err
	}
	out.WriteRune(rune(end.(json.Delim)))
	return nil
}

func writeJSON(out *bytes.Buffer, v any) error {
	raw, err := json.Marshal(v)
	out.Write(raw)
	return err
}
