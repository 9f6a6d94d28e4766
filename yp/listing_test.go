package yp

import (
	"reflect"
	"slices"
	"testing"
)

// TestListingFields holds the table to the struct: every field once, in the same order,
// under the name that its JSON has.
func TestListingFields(t *testing.T) {
	var l Listing
	v := reflect.ValueOf(&l).Elem()
	if v.NumField() != len(ListingFields) {
		t.Fatalf("yp.Listing has %d fields, yp.ListingFields %d", v.NumField(), len(ListingFields))
	}
	for i := range ListingFields {
		f, field := &ListingFields[i], v.Type().Field(i)
		if at := f.At(&l); at != v.Field(i).Addr().Interface() {
			t.Errorf("%s: At points elsewhere than to Listing.%s", f.Name, field.Name)
		}
		want := f.Name + ",omitempty"
		switch {
		case f.Absent == Refused:
			want = f.Name
		case f.Is(Emptied):
			want = f.Name + ",omitzero"
		}
		if tag := field.Tag.Get("json"); tag != want {
			t.Errorf("Listing.%s has the JSON tag %q, want %q", field.Name, tag, want)
		}
		if f.Form != "" && ListingFieldAt(f.Form) < 0 {
			t.Errorf("%s: there is no field %q", f.Name, f.Form)
		}
		if ListingFieldAt(f.Name) != i {
			t.Errorf("%s stands there twice", f.Name)
		}
	}
}

// TestGroups: the number of a group is that of its bit in files, every field that can be left out has one, and all fields of a
// group are kept in one table.
func TestGroups(t *testing.T) {
	numbers := map[Group]int{GroupProfile: 1, GroupPhone: 2, GroupPlace: 3, GroupWebsite: 4, GroupHours: 12, GroupEmail: 14, GroupPoint: 15, GroupAbout: 23}
	for g, n := range numbers {
		if int(g) != n || g.Bit() != 1<<(n-1) {
			t.Errorf("group %d has the bit %b, want that of %d", g, g.Bit(), n)
		}
	}
	table := map[Group]Table{}
	for i := range ListingFields {
		f := &ListingFields[i]
		if (f.Group == GroupNone) != (f.Absent != Kept || f.Table == NoTable) {
			t.Errorf("%s: group %d", f.Name, f.Group)
		}
		if in, known := table[f.Group]; known && in != f.Table && f.Group != GroupNone {
			t.Errorf("%s: another table than its group", f.Name)
		}
		table[f.Group] = f.Table
		if f.From == 0 {
			t.Errorf("%s: from nowhere", f.Name)
		}
	}
	for want, l := range map[Groups]Listing{
		0:                                      {ID: "1", Name: "A", Rank: 3, Sponsored: true, Categories: []string{}, Lat: 91},
		GroupPhone.Bit():                       {PhoneE164: "+1"},
		GroupHours.Bit():                       {Hours: []string{}},
		GroupPlace.Bit():                       {Street: "1 Main St", City: "A", ServiceArea: "B"},
		GroupPoint.Bit():                       {Lon: -3},
		GroupEmail.Bit() | 1<<22:               {Email: "a@b.c", About: "we"},
		GroupWebsite.Bit() | GroupRating.Bit(): {Domain: "a.b", Rating: 4},
	} {
		if got := l.Gives(); got != want {
			t.Errorf("%+v gives %b, want %b", l, got, want)
		}
	}
}

// full is a listing that says something in every field.
func full() Listing {
	yes := true
	var l Listing
	for i := range ListingFields {
		switch v := ListingFields[i].At(&l).(type) {
		case *string:
			*v = "a " + ListingFields[i].Name
		case *int:
			*v = i
		case *float64:
			*v = 4.5
		case *[]string:
			*v = []string{"x & y", "z"}
		case *bool:
			*v = true
		case **bool:
			*v = &yes
		}
	}
	return l
}

func TestListingFieldValues(t *testing.T) {
	some, none := full(), Listing{}
	for i := range ListingFields {
		f := &ListingFields[i]
		if !f.Has(&some) || f.Value(&some) == nil || f.Text(&some) == "" {
			t.Errorf("%s: nothing is said of %v", f.Name, f.At(&some))
		}
		if f.Has(&none) {
			t.Errorf("%s: an empty listing has it", f.Name)
		}
		if v := f.Value(&none); v != nil && f.Absent != Overrules {
			t.Errorf("%s: an empty listing has the value %v", f.Name, v)
		}
		if string(f.AppendKey(nil, &some)) == string(f.AppendKey(nil, &none)) {
			t.Errorf("%s: a fingerprint does not tell it from nothing", f.Name)
		}
		filled := none
		f.Fill(&filled, &some)
		if f.Text(&filled) != f.Text(&some) {
			t.Errorf("%s: filled with %q, want %q", f.Name, f.Text(&filled), f.Text(&some))
		}
		kept := some
		f.Fill(&kept, &none)
		if !reflect.DeepEqual(kept, some) {
			t.Errorf("%s: what is there was overwritten", f.Name)
		}
	}
	for _, l := range []Listing{{Rating: 0.4}, {Rating: 5.5}, {ReviewCount: -1}, {Categories: []string{}}} {
		for i := range ListingFields {
			if f := &ListingFields[i]; f.Value(&l) != nil && f.Absent == Kept {
				t.Errorf("%+v: %s is %v", l, f.Name, f.Value(&l))
			}
		}
	}
	closed, hours := Listing{Hours: []string{}}, &ListingFields[ListingFieldAt("hours")]
	if !hours.Has(&closed) || hours.Text(&closed) != "[]" || string(hours.AppendKey(nil, &closed)) == string(hours.AppendKey(nil, &none)) {
		t.Errorf("a business that is always closed says %q of its hours", hours.Text(&closed))
	}
	if got := ListingFields[ListingFieldAt("categories")].Text(&some); !slices.Contains([]string{`["x & y","z"]`, `["x \u0026 y","z"]`}, got) {
		t.Error(got)
	}
	if ListingFields[ListingFieldAt("rank")].Table != NoTable {
		t.Error("rank is of a sighting, not of a listing")
	}
}
