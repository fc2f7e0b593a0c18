package growth

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime/coverage"
)

// count returns how many blocks of statements f executes. The program must have been built with
// -covermode=atomic.
func count(f func()) (int64, error) {
	if err := coverage.ClearCounters(); err != nil {
		return 0, err
	}
	f()
	var written bytes.Buffer
	if err := coverage.WriteCounters(&written); err != nil {
		return 0, err
	}
	return sum(written.Bytes())
}

// sum adds the counters that runtime/coverage has written, in the format of Go's internal/coverage
// (version 1): a header, the header of a segment, its strings, and for each function that was called
// the number of its counters, two identifiers and the counters.
func sum(data []byte) (total int64, err error) {
	const header, segment, strings, args = 32, 16, 8, 12
	if len(data) < header+segment || !bytes.HasPrefix(data, []byte("\x00cwm\x01\x00\x00\x00")) || data[24] != 2 {
		return 0, fmt.Errorf("this version of Go writes counters in another format: %.32q", data)
	}
	data = data[header:]
	functions := binary.LittleEndian.Uint64(data)
	r := bytes.NewReader(data[segment+binary.LittleEndian.Uint32(data[strings:])+binary.LittleEndian.Uint32(data[args:]):])
	for range functions {
		counters, err := binary.ReadUvarint(r)
		for i := uint64(0); i < counters+2 && err == nil; i++ {
			var n uint64
			if n, err = binary.ReadUvarint(r); i >= 2 {
				total += int64(n)
			}
		}
		if err != nil {
			return 0, err
		}
	}
	return total, nil
}
