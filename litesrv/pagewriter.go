package litesrv

import "github.com/tombolo-sync/tombolo/internal/watchlog"

// pageWriter writes a page as a list. It is used by one goroutine.
type pageWriter struct {
	*page
	res   *watchlog.Resource
	form  representation
	body  *body
	proto *protobufs
}

// write writes the list. It fails when that can't be encoded; what is written by then stays written.
func (p *pageWriter) write() error {
	switch p.form.encoding {
	case encodeYAML:
		return p.writeYAML()
	case encodeProtobuf:
		return p.writeProtobuf()
	default:
		p.writeJSON()
		return nil
	}
}

// sorted tells whether the keys of the list are sorted, as they are for custom resources.
func (p *pageWriter) sorted() bool { return p.res.Custom && p.form.shape.kind == "" }

// kind and apiVersion are those of the list.
func (p *pageWriter) kind() string {
	switch p.form.shape.kind {
	case "":
		return p.res.ListKind
	case kindTable:
		return kindTable
	default:
		return kindPartialList
	}
}

// member is the name of what holds the objects.
func (p *pageWriter) member() string {
	if p.form.shape.kind == kindTable {
		return "rows"
	}
	return "items"
}

func (p *pageWriter) apiVersion() string {
	if p.form.shape.kind != "" {
		return p.form.shape.apiVersion()
	}
	return p.res.APIVersion()
}

// writeJSON writes JSON: the order of the keys is that of the type's fields, and the alphabet's for custom resources.
func (p *pageWriter) writeJSON() {
	b := p.body
	if !p.sorted() {
		b.buf = appendType(b.buf, p.kind(), p.apiVersion())
		b.buf = append(p.appendMeta(append(b.buf, `,"metadata":{`...)), '}')
		if p.form.shape.kind == kindTable {
			b.buf = p.form.shape.appendColumns(b.buf)
		}
		b.buf = append(append(append(b.buf, `,"`...), p.member()...), `":`...)
		p.writeItems()
		b.buf = append(b.buf, "}\n"...)
		return
	}
	b.buf = append(append(b.buf, `{"apiVersion":"`...), p.apiVersion()...)
	b.buf = append(b.buf, `","items":`...)
	p.writeItems()
	b.buf = append(append(b.buf, `,"kind":"`...), p.kind()...)
	b.buf = append(p.appendCustomMeta(append(b.buf, `","metadata":{`...)), "}}\n"...)
}

func (p *pageWriter) writeItems() {
	b := p.body
	next := byte('[')
	for o := range p.items {
		b.buf = p.form.shape.appendItem(append(b.buf, next), o)
		next = ','
		if !b.spill() {
			return
		}
	}
	if next == ',' {
		b.buf = append(b.buf, ']')
	} else {
		b.buf = append(b.buf, p.none()...)
	}
}

// none is what stands for no items: kube-apiserver takes care of its lists that it isn't null, but not of those of
// metadata, nor of tables that no printer of the resource makes.
func (p *pageWriter) none() string {
	switch p.form.shape.kind {
	case kindPartial, kindPartialList:
		return "null"
	case kindTable:
		if plainTable(p.res) {
			return "null"
		}
	}
	return "[]"
}

// writeYAML writes YAML, in the order of the alphabet. Each item is encoded as a list of one, which looks as it does in
// the whole.
func (p *pageWriter) writeYAML() error {
	scratch := getBuffer()
	defer putBuffer(scratch)
	if p.form.shape.kind == kindTable { // its rows come last
		if err := p.yamlHead(scratch); err != nil {
			return err
		}
		return p.yamlItems(scratch)
	}
	if err := p.yamlVersion(scratch); err != nil {
		return err
	}
	if err := p.yamlItems(scratch); err != nil {
		return err
	}
	return p.yamlKind(scratch)
}

// yamlVersion writes what comes before the items.
func (p *pageWriter) yamlVersion(scratch *[]byte) (err error) {
	*scratch = append(append(append((*scratch)[:0], `{"apiVersion":"`...), p.apiVersion()...), `"}`...)
	p.body.buf, err = appendYAML(p.body.buf, *scratch)
	return err
}

// yamlHead writes all of a table but its rows.
func (p *pageWriter) yamlHead(scratch *[]byte) (err error) {
	*scratch = appendType((*scratch)[:0], p.kind(), p.apiVersion())
	*scratch = append(p.appendMeta(append(*scratch, `,"metadata":{`...)), '}')
	*scratch = append(p.form.shape.appendColumns(*scratch), '}')
	p.body.buf, err = appendYAML(p.body.buf, *scratch)
	return err
}

func (p *pageWriter) yamlItems(scratch *[]byte) (err error) {
	b := p.body
	b.buf = append(append(b.buf, p.member()...), ':')
	first := true
	for o := range p.items {
		if first {
			b.buf = append(b.buf, '\n')
		}
		first = false
		*scratch = append(p.form.shape.appendItem(append((*scratch)[:0], '['), o), ']')
		if b.buf, err = appendYAML(b.buf, *scratch); err != nil {
			return err
		}
		if !b.spill() {
			return nil
		}
	}
	if first {
		b.buf = append(append(append(b.buf, ' '), p.none()...), '\n')
	}
	return nil
}

// yamlKind writes what comes behind the items.
func (p *pageWriter) yamlKind(scratch *[]byte) (err error) {
	*scratch = append(append(append((*scratch)[:0], `{"kind":"`...), p.kind()...), `","metadata":{`...)
	if p.sorted() {
		*scratch = p.appendCustomMeta(*scratch)
	} else {
		*scratch = p.appendMeta(*scratch)
	}
	p.body.buf, err = appendYAML(p.body.buf, append(*scratch, "}}"...))
	return err
}
