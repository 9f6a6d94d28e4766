package main

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errTruncated means that cities.pbf ends inside a value.
var errTruncated = errors.New("truncated")

// city is what we read of one entry of cities.pbf.
type city struct {
	id                            int64 // GeoNames id
	name, country, feature, admin string
	population                    int64
	lat, lon                      int64 // in 1e-5 degrees
}

// The fields of a city message; those not named here are skipped.
const (
	fieldID         = 1  // zigzag
	fieldName       = 2  // string
	fieldCountry    = 3  // string
	fieldFeature    = 7  // string
	fieldAdmin      = 8  // string
	fieldPopulation = 9  // varint
	fieldLon        = 10 // zigzag, difference to the city before
	fieldLat        = 11 // zigzag, difference to the city before
)

// readCities decodes cities.pbf: one length-prefixed protocol buffer message a
// city, one after the other, with no message around them. The coordinates of
// a city are written as differences to the last city that had them, so none
// may be skipped.
func readCities(data []byte) ([]city, error) {
	var cities []city
	var lat, lon int64
	r := reader{data: data}
	for len(r.data) > 0 {
		message := r.bytes()
		if r.err != nil {
			return nil, fmt.Errorf("read city %d: %w", len(cities), r.err)
		}
		c := city{lat: lat, lon: lon}
		if err := c.read(message); err != nil {
			return nil, fmt.Errorf("read city %d: %w", len(cities), err)
		}
		lat, lon = c.lat, c.lon
		cities = append(cities, c)
	}
	return cities, nil
}

// read decodes one message into c, which holds the coordinates of the city
// before.
func (c *city) read(message []byte) error {
	r := reader{data: message}
	for len(r.data) > 0 && r.err == nil {
		tag := r.uvarint()
		switch tag >> 3 {
		case fieldID:
			c.id = r.zigzag()
		case fieldName:
			c.name = string(r.bytes())
		case fieldCountry:
			c.country = string(r.bytes())
		case fieldFeature:
			c.feature = string(r.bytes())
		case fieldAdmin:
			c.admin = string(r.bytes())
		case fieldPopulation:
			c.population = int64(r.uvarint())
		case fieldLon:
			c.lon += r.zigzag()
		case fieldLat:
			c.lat += r.zigzag()
		default:
			r.skip(tag & 7)
		}
	}
	return r.err
}

// reader takes protocol buffer values off the front of data; after the first
// error it gives zero values.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.data = nil
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.fail(errTruncated)
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) zigzag() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.fail(errTruncated)
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

// skip passes over a value of the given wire type.
func (r *reader) skip(wireType uint64) {
	switch wireType {
	case 0:
		r.uvarint()
	case 2:
		r.bytes()
	default:
		r.fail(fmt.Errorf("wire type %d", wireType))
	}
}
