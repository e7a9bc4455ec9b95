package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// castagnoli is the polynomial of CRC-32C, which processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const crcSize = 4

func checksum(key, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, payload)
}

// seal returns a payload, given in parts, as it is stored under key: behind the CRC of both.
func seal(key []byte, parts ...[]byte) []byte {
	size := crcSize
	for _, p := range parts {
		size += len(p)
	}
	v := make([]byte, crcSize, size)
	for _, p := range parts {
		v = append(v, p...)
	}
	binary.BigEndian.PutUint32(v, checksum(key, v[crcSize:]))
	return v
}

// unseal returns the payload of what seal made, a part of value.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < crcSize {
		return nil, fmt.Errorf("%w: record %q has %d bytes", ErrCorrupt, key, len(value))
	}
	payload := value[crcSize:]
	if want, got := binary.BigEndian.Uint32(value), checksum(key, payload); want != got {
		return nil, fmt.Errorf("%w: record %q has checksum %08x, should have %08x", ErrCorrupt, key, got, want)
	}
	return payload, nil
}

// number returns n as a key: keys sort as the numbers do.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
