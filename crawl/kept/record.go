package kept

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"ypcrawl/wal"
)

// Page is what is kept of a page beside its body.
type Page struct {
	wal.Target            // of its claim
	Number      int       `json:"page_number"`
	URL         string    `json:"url"` // that answered, after redirects
	FetchedAt   time.Time `json:"fetched_at"`
	Status      int       `json:"http_status"`
	ContentType string    `json:"content_type,omitempty"`
	Outcome     string    `json:"outcome"` // what the parser made of it then
	Run         string    `json:"run"`
	Reading     string    `json:"reading"` // id of the Reading that it was parsed with
	Dict        uint32    `json:"dict,omitempty"`
	Size        int       `json:"size"` // bytes of the body, unpacked
}

// Reading is how the pages of a source were read: what is needed to read them again.
type Reading struct {
	Source     string          `json:"source"`
	BaseURL    string          `json:"base_url"`
	Definition string          `json:"definition"` // YAML
	Filter     json.RawMessage `json:"filter"`     // which listings were kept, as the engine has it
}

// readingHeader is the header of a Reading, which is the body.
type readingHeader struct {
	ID string `json:"id"`
}

// dictHeader is the header of a dictionary.
type dictHeader struct {
	ID     uint32 `json:"id"`
	Series string `json:"series"` // the pages that it was trained with
}

// The kinds of records.
const (
	kindPage    = 'P'
	kindReading = 'S'
	kindDict    = 'D'
)

// A record is its prefix, a header in JSON and a body. The prefix: magic and kind, then
// 32 bits each, little endian: length of the header, length of the body, checksum
// of the prefix up to here and the header, checksum of the body.
const (
	magic     = "ypk"
	prefix    = 20
	maxHeader = 64 << 10
	maxBody   = 64 << 20 // also unpacked
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errTooLarge = errors.New("too large")

// errNoRecord says that no record begins here.
var errNoRecord = errors.New("no record")

// encode returns a record.
func encode(kind byte, header any, body []byte) ([]byte, error) {
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	if len(text) > maxHeader || len(body) > maxBody {
		return nil, fmt.Errorf("%w: a header of %d bytes with a body of %d", errTooLarge, len(text), len(body))
	}
	b := make([]byte, 0, prefix+len(text)+len(body))
	b = append(append(b, magic...), kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, text))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, castagnoli))
	return append(append(b, text...), body...), nil
}

// record is where a record stands in a segment.
type record struct {
	kind   byte
	header []byte
	offset int64 // of its body
	size   int64 // of its body
	sum    uint32
}

func (r record) end() int64 { return r.offset + r.size }

// body reads the body of a record.
func (r record) body(src io.ReaderAt) ([]byte, error) {
	b := make([]byte, r.size)
	if _, err := src.ReadAt(b, r.offset); err != nil {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli) != r.sum {
		return nil, errors.New("its checksum is wrong")
	}
	return b, nil
}

// recordAt reads the head of the record at an offset of a segment that has size bytes. The
// error is errNoRecord when none begins there, io.ErrUnexpectedEOF when the segment ends
// before its body does, else what reading says.
func recordAt(src io.ReaderAt, offset, size int64) (r record, err error) {
	var head [prefix]byte
	if size-offset < prefix {
		return r, errNoRecord
	}
	if _, err := src.ReadAt(head[:], offset); err != nil {
		return r, err
	}
	r.kind = head[len(magic)]
	length := int64(binary.LittleEndian.Uint32(head[4:]))
	r.size, r.sum = int64(binary.LittleEndian.Uint32(head[8:])), binary.LittleEndian.Uint32(head[16:])
	r.offset = offset + prefix + length
	if string(head[:len(magic)]) != magic || length > maxHeader || r.size > maxBody || r.offset > size {
		return r, errNoRecord
	}
	r.header = make([]byte, length)
	if _, err := src.ReadAt(r.header, offset+prefix); err != nil {
		return r, err
	}
	if crc32.Update(crc32.Checksum(head[:12], castagnoli), castagnoli, r.header) != binary.LittleEndian.Uint32(head[12:]) {
		return r, errNoRecord
	}
	if r.end() > size {
		return r, io.ErrUnexpectedEOF
	}
	return r, nil
}

// scan hands the records of a segment to do, in their order. damaged are the bytes that
// belong to none, those of a record that was cut off at the end not counted.
func scan(src io.ReaderAt, size int64, do func(record) error) (damaged int64, err error) {
	lost := int64(0) // bytes passed over since the last record
	for offset := int64(0); offset < size; {
		r, err := recordAt(src, offset, size)
		switch {
		case err == nil:
			damaged += lost
			lost, offset = 0, r.end()
			if err := do(r); err != nil {
				return damaged, err
			}
		case errors.Is(err, io.ErrUnexpectedEOF):
			return damaged + lost, nil
		case errors.Is(err, errNoRecord):
			next, err := nextMagic(src, offset+1, size)
			if err != nil {
				return damaged, err
			}
			lost += next - offset
			offset = next
		default:
			return damaged, err
		}
	}
	return damaged, nil
}

// nextMagic returns where a record may begin next, or size.
func nextMagic(src io.ReaderAt, from, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for from < size {
		n := min(int64(len(buf)), size-from)
		if _, err := src.ReadAt(buf[:n], from); err != nil {
			return 0, err
		}
		if i := bytes.Index(buf[:n], []byte(magic)); i >= 0 {
			return from + int64(i), nil
		}
		if n < int64(len(buf)) {
			break
		}
		from += n - int64(len(magic)) + 1
	}
	return size, nil
}
