package yp

// CompanyEdit is what an operator did to companies, in the words of the sources: companies
// are named by their listings, for numbers are one database's own.
//
// The JSON form is the one in WAL lines.
type CompanyEdit struct {
	ID    string         `json:"id"`              // random: the same edit is made once
	Kept  []ListingKey   `json:"kept"`            // listings of the company that stays, before a merge and after a split
	Gone  [][]ListingKey `json:"gone,omitempty"`  // of a merge: the listings of each company that became a part of it
	Out   []ListingKey   `json:"out,omitempty"`   // of a split: the listings that left
	Keys  []string       `json:"keys,omitempty"`  // of a split: the strong keys that went with them
	Merge *UndoneMerge   `json:"merge,omitempty"` // of a split that took a merge back
}

// UndoneMerge is a merge of companies that was taken back.
type UndoneMerge struct {
	At       string       `json:"at"`            // in TimeLayout
	By       KeyKind      `json:"by"`            // KeyHand, or the kind of the key
	Key      string       `json:"key,omitempty"` // that the two companies shared
	Listings []ListingKey `json:"listings"`      // that it had brought
}

// ListingKey names a listing as its source does.
type ListingKey struct {
	Source string `json:"source"`
	ID     string `json:"id"`
}
