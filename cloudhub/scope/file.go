package scope

import (
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// File is a scopes file: which edges may hold what. It is immutable.
type File struct {
	Scopes []Group `json:"scopes"`
}

// Group is a set of rules for the edges whose names match. An edge gets the union of all groups that match its name.
type Group struct {
	// Name is unique in the file, for messages.
	Name string `json:"name"`
	// Edges are edge names, or patterns as in path.Match.
	Edges []string `json:"edges"`
	// Nodes are the nodes that the edge stands for, for boundToNode; none means one that is called as the edge is.
	Nodes []string `json:"nodes,omitempty"`
	Rules []Rule   `json:"rules"`
}

// Rule lets an edge hold objects of one resource that satisfy all its conditions. In its namespaces and selectors, and in
// a group's nodes, $(EDGE_NAME) stands for the edge's name.
type Rule struct {
	Group    string `json:"group,omitempty"` // "" is the core group
	Resource string `json:"resource"`        // the plural
	// OnDemand is set for what the edge gets once a client of it has asked, instead of in any case. Only then Resource may
	// be "*", every resource of the group that the hub can list and watch but secrets, and Group "*", every group. Where
	// another rule gives the edge a resource in any case, rules on demand say nothing of it.
	OnDemand   bool     `json:"onDemand,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"` // with Resource "*", cluster-scoped resources are left out
	// NamespaceSelector limits the rule to namespaces whose labels it selects. It excludes Namespaces.
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
	// LabelSelector and FieldSelector are as in kubectl.
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
	// BoundToNode is a field, such as spec.nodeName, whose value must be one of the edge's nodes.
	BoundToNode string `json:"boundToNode,omitempty"`
	// ReferencedBy limits the rule to what objects of these resources refer to, which the edge may hold by its other rules:
	// pods, serviceaccounts, persistentvolumeclaims, persistentvolumes.
	ReferencedBy []string `json:"referencedBy,omitempty"`
}

// edgeName is replaced by the edge's name in nodes, namespaces and selectors.
const edgeName = "$(EDGE_NAME)"

// plainName is what an edge may be called: nothing that means something in a selector, so that a name can't widen one.
var plainName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// Load reads a scopes file. The error names the file and, as that of Parse, what is wrong in it.
func Load(file string) (*File, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the operator says where
	if err != nil {
		return nil, err
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}

// Parse reads the YAML of a scopes file. It fails for unknown fields and variables, a second document, names that are
// missing or used twice, patterns and selectors that don't parse, and rules without a resource; the error names scope and
// rule. A file without scopes is refused too: edges that may hold nothing drop all they have, and a file that was cut
// short must not look like that.
func Parse(data []byte) (*File, error) {
	f := &File{}
	if err := single(data); err != nil {
		return nil, fmt.Errorf("scopes: %w", err)
	}
	if err := yaml.UnmarshalStrict(data, f); err != nil {
		return nil, fmt.Errorf("scopes: %w", err)
	}
	if len(f.Scopes) == 0 {
		return nil, errors.New("scopes: there are none")
	}
	seen := map[string]bool{}
	for i, g := range f.Scopes {
		if g.Name == "" {
			return nil, fmt.Errorf("scope %d has no name", i+1)
		}
		if seen[g.Name] {
			return nil, fmt.Errorf("scope %q is there twice", g.Name)
		}
		seen[g.Name] = true
		if err := g.validate(); err != nil {
			return nil, fmt.Errorf("scope %q: %w", g.Name, err)
		}
	}
	return f, nil
}

// documentMark is a line that ends one YAML document and begins another.
var documentMark = regexp.MustCompile(`(?m)^(---|\.\.\.)(\s|$)`)

// single fails for more than one YAML document: the decoder would ignore all but the first.
func single(data []byte) error {
	documents := 0
	for _, d := range documentMark.Split(string(data), -1) {
		for line := range strings.Lines(d) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				documents++
				break
			}
		}
	}
	if documents > 1 {
		return errors.New("more than one YAML document")
	}
	return nil
}

func (g *Group) validate() error {
	if len(g.Edges) == 0 {
		return errors.New("no edges")
	}
	for _, p := range g.Edges {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return fmt.Errorf("edges: %q is not a pattern", p)
		}
	}
	if err := known("nodes", g.Nodes); err != nil {
		return err
	}
	if len(g.Rules) == 0 {
		return errors.New("no rules")
	}
	for i := range g.Rules {
		if err := g.Rules[i].validate(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *Rule) validate() error {
	switch {
	case r.Resource == "":
		return errors.New("no resource")
	case r.Resource == all || r.Group == all:
		if err := r.validateWildcard(); err != nil {
			return err
		}
	case r.Resource != strings.ToLower(r.Resource) || strings.ContainsAny(r.Resource, "/. *"):
		return fmt.Errorf("resource %q: the lower-case plural is needed, and the group apart", r.Resource)
	}
	if err := r.validateDynamic(); err != nil {
		return err
	}
	for what, texts := range map[string][]string{
		"namespaces": r.Namespaces, "labelSelector": {r.LabelSelector}, "fieldSelector": {r.FieldSelector},
		"namespaceSelector": {r.NamespaceSelector},
	} {
		if err := known(what, texts); err != nil {
			return err
		}
	}
	_, err := r.bind("edge", nil).compile(nil, nil)
	return err
}

// known fails when a text has a variable that does not exist.
func known(what string, texts []string) error {
	for _, t := range texts {
		if strings.Contains(strings.ReplaceAll(t, edgeName, ""), "$(") {
			return fmt.Errorf("%s: %q has another variable than %s", what, t, edgeName)
		}
	}
	return nil
}

// For returns the scope of an edge, empty when no group matches its name or it has characters other than letters,
// digits, '.', '-' and '_'.
func (f *File) For(edge string) Scope {
	s := Scope{}
	if !plainName.MatchString(edge) {
		return s
	}
	for _, g := range f.Scopes {
		if g.matches(edge) {
			nodes := g.nodes(edge)
			for _, r := range g.Rules {
				s.rules = append(s.rules, r.bind(edge, nodes))
			}
		}
	}
	return s
}

// Bind returns the scope that rules make for an edge which stands for nodes; none means one that is called as the edge
// is. It fails for a rule that can't be right, and for a name that could mean something in a selector.
func Bind(edge string, nodes []string, rules []Rule) (Scope, error) {
	if !plainName.MatchString(edge) {
		return Scope{}, fmt.Errorf("%q can't be an edge's name", edge)
	}
	if len(nodes) == 0 {
		nodes = []string{edge}
	}
	s := Scope{}
	for i := range rules {
		if err := rules[i].validate(); err != nil {
			return Scope{}, fmt.Errorf("rule %d: %w", i+1, err)
		}
		s.rules = append(s.rules, rules[i].bind(edge, nodes))
	}
	return s, nil
}

// Changed returns a channel that is never closed: a File does not change.
func (f *File) Changed() <-chan struct{} { return nil }

func (g *Group) matches(edge string) bool {
	for _, p := range g.Edges {
		if ok, err := path.Match(p, edge); err == nil && ok {
			return true
		}
	}
	return false
}

func (g *Group) nodes(edge string) []string {
	if len(g.Nodes) == 0 {
		return []string{edge}
	}
	return expand(g.Nodes, edge)
}

// expand puts the edge's name into texts.
func expand(texts []string, edge string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = strings.ReplaceAll(t, edgeName, edge)
	}
	return out
}

// bind returns the rule for one edge.
func (r Rule) bind(edge string, nodes []string) bound {
	r.Namespaces = expand(r.Namespaces, edge)
	r.LabelSelector = strings.ReplaceAll(r.LabelSelector, edgeName, edge)
	r.FieldSelector = strings.ReplaceAll(r.FieldSelector, edgeName, edge)
	r.NamespaceSelector = strings.ReplaceAll(r.NamespaceSelector, edgeName, edge)
	return bound{rule: r, nodes: nodes}
}
