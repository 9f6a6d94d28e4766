package demo

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// gzipPage appends the page in gzip form (RFC 1952) to dst. It writes deflate
// blocks with the fixed Huffman code: known repetitions become matches, packed
// pieces are copied as they are, and the rest are literals. That costs a tenth
// of what a general compressor takes, and the pages shrink as much as real
// ones do.
func gzipPage(dst []byte, p *page) []byte {
	w := bitWriter{out: append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)}
	w.openBlock()
	pos := int32(0)
	for _, r := range p.runs {
		w.literals(p.buf[pos:r.off])
		pos = r.off + r.n
		if r.dist == 0 {
			w.splice(p.set.pieces[r.piece].packed)
			continue
		}
		w.repeat(p.buf[r.off:pos], r.dist)
	}
	w.literals(p.buf[pos:])
	w.finish()
	w.out = binary.LittleEndian.AppendUint32(w.out, crc32.ChecksumIEEE(p.buf))
	return binary.LittleEndian.AppendUint32(w.out, uint32(len(p.buf)))
}

// bitWriter packs bits from the low end, as deflate wants them.
type bitWriter struct {
	out  []byte
	acc  uint64
	have uint
}

func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << w.have
	w.have += n
	for w.have >= 32 {
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(w.acc))
		w.acc >>= 32
		w.have -= 32
	}
}

// align fills up the byte in hand and writes out what is left.
func (w *bitWriter) align() {
	w.have = (w.have + 7) &^ 7
	for ; w.have > 0; w.have -= 8 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
	}
}

// openBlock starts a block that is not final, with the fixed code (01).
func (w *bitWriter) openBlock() { w.put(0b010, 3) }

// endBlock writes the end-of-block symbol, seven zero bits.
func (w *bitWriter) endBlock() { w.put(0, 7) }

// splice ends the block, reaches a byte boundary by an empty stored block,
// copies finished blocks and starts a new one.
func (w *bitWriter) splice(packed []byte) {
	w.endBlock()
	w.put(0b000, 3)
	w.align()
	w.out = append(w.out, 0, 0, 0xff, 0xff)
	w.out = append(w.out, packed...)
	w.openBlock()
}

// finish ends the block and the stream by an empty final one.
func (w *bitWriter) finish() {
	w.endBlock()
	w.put(0b011, 3)
	w.endBlock()
	w.align()
}

// literals writes bytes in the fixed code: 8 bits for 0–143, else 9. Four
// ASCII bytes at a time need no look at each.
func (w *bitWriter) literals(b []byte) {
	for len(b) >= 4 {
		x := binary.LittleEndian.Uint32(b)
		if x&0x80808080 != 0 {
			w.literal(b[0])
			b = b[1:]
			continue
		}
		w.put(uint64(bits.ReverseBytes32(bits.Reverse32(x+0x30303030))), 32)
		b = b[4:]
	}
	for _, c := range b {
		w.literal(c)
	}
}

func (w *bitWriter) literal(c byte) {
	if c < 144 {
		w.put(uint64(bits.Reverse8(0x30+c)), 8)
		return
	}
	w.put(uint64(bits.Reverse16(0x190+uint16(c-144))>>7), 9)
}

// repeat writes b, which also stands dist bytes before, as matches.
func (w *bitWriter) repeat(b []byte, dist int32) {
	code, extra, nExtra := distanceCode(uint32(dist))
	for len(b) >= 3 {
		n := min(len(b), 258)
		w.length(n)
		w.put(uint64(bits.Reverse8(uint8(code))>>3), 5)
		w.put(uint64(extra), nExtra)
		b = b[n:]
	}
	w.literals(b)
}

// length writes the symbol and the extra bits of a match length (RFC 1951,
// section 3.2.5).
func (w *bitWriter) length(n int) {
	sym, extra, nExtra := lengthCode(uint32(n))
	if sym < 280 {
		w.put(uint64(bits.Reverse8(uint8(sym-256))>>1), 7)
	} else {
		w.put(uint64(bits.Reverse8(uint8(0xc0+sym-280))), 8)
	}
	w.put(uint64(extra), nExtra)
}

func lengthCode(n uint32) (sym, extra uint32, nExtra uint) {
	if n == 258 {
		return 285, 0, 0
	}
	v := n - 3
	if v < 8 {
		return 257 + v, 0, 0
	}
	k := uint(bits.Len32(v)) - 3
	return 257 + uint32(k)*4 + v>>k, v & (1<<k - 1), k
}

func distanceCode(dist uint32) (code, extra uint32, nExtra uint) {
	v := dist - 1
	if v < 4 {
		return v, 0, 0
	}
	k := uint(bits.Len32(v)) - 2
	return uint32(k)*2 + v>>k, v & (1<<k - 1), k
}
