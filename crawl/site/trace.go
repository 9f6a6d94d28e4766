package site

// Rule is a rule of a definition, as the definition has it.
type Rule struct {
	Key  string `json:"key"`            // "fields.phone[1]"
	File string `json:"file"`           // the definition as given to Parse, or the built-in one that it extends
	Line int    `json:"line,omitempty"` // from 1
	Text string `json:"rule"`           // "a.name, attr href"
}
