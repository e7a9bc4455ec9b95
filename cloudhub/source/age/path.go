package age

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"k8s.io/client-go/util/jsonpath"
)

// plainPath is a JSON path that only names members.
var plainPath = regexp.MustCompile(`^(\.[A-Za-z0-9_-]+)+$`)

// Path is an age since the time at a JSON path, as a CRD's column of type date has it (apiextensions-apiserver
// pkg/registry/customresource/tableconvertor); nil for a path that can't be read. Only for one that does more than name
// members is the object decoded.
func Path(path string) Rule {
	if plainPath.MatchString(path) {
		return Of(strings.Split(path[1:], ".")...)
	}
	p := jsonpath.New("age").AllowMissingKeys(true)
	if p.Parse("{"+path+"}") != nil {
		return nil
	}
	var mu sync.Mutex // a path that is followed has state
	return func(object []byte, _ string) (Age, bool) {
		var content any
		if json.Unmarshal(object, &content) != nil {
			return Age{}, false
		}
		mu.Lock()
		defer mu.Unlock()
		results, err := p.FindResults(content)
		if err != nil || len(results) == 0 || len(results[0]) == 0 || !results[0][0].CanInterface() {
			return Age{}, false
		}
		t, ok := results[0][0].Interface().(string)
		return Age{Since: t, Format: Plain}, ok && IsTime(t)
	}
}
