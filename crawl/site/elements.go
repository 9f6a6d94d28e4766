package site

import "golang.org/x/net/html/atom"

// kind says how the HTML parser treats an element, as far as the scanner
// needs to know. An element that is not in the table (and is no custom
// element) is odd: the page goes to the whole-page parser.
type kind uint8

const (
	kindOdd      kind = iota
	kindPhrasing      // no effect on open elements
	kindFormat        // active formatting element
	kindBlock         // closes an open p
	kindHeading       // closes an open p, and a heading that is its parent
	kindPara          // p
	kindAnchor        // a: closes an open a
	kindButton        // closes an open button
	kindForm          // ignored inside a form
	kindItem          // li
	kindTerm          // dt, dd
	kindSelect
	kindOption
	kindOptgroup
	kindPre // drops a leading newline, closes an open p
	kindVoid
	kindInput // void, closes an open select
	kindRule  // hr: void, closes an open p
	kindRaw   // text up to its end tag
	kindRCData
	kindShell // html, head, body
	kindTitle // text up to its end tag, in the head only
	kindTable
	kindTableBody
	kindRow
	kindCell
	kindSVG     // svg
	kindForeign // an element in an svg
)

type element struct {
	atom atom.Atom
	kind kind
}

// elements lists what the scanner understands. It follows the start tag rules
// of "in body" in golang.org/x/net/html; whatever has rules of its own that
// are not spelled out in (*scanner).admit is left out on purpose: tables,
// template, svg, math, ruby, object, applet, marquee, nobr, frameset,
// plaintext, xmp, noframes, noembed, image, keygen.
var elements = map[string]element{
	"a":          {atom.A, kindAnchor},
	"abbr":       {atom.Abbr, kindPhrasing},
	"address":    {atom.Address, kindBlock},
	"area":       {atom.Area, kindVoid},
	"article":    {atom.Article, kindBlock},
	"aside":      {atom.Aside, kindBlock},
	"audio":      {atom.Audio, kindPhrasing},
	"b":          {atom.B, kindFormat},
	"bdi":        {atom.Bdi, kindPhrasing},
	"bdo":        {atom.Bdo, kindPhrasing},
	"big":        {atom.Big, kindFormat},
	"blockquote": {atom.Blockquote, kindBlock},
	"body":       {atom.Body, kindShell},
	"br":         {atom.Br, kindVoid},
	"button":     {atom.Button, kindButton},
	"canvas":     {atom.Canvas, kindPhrasing},
	"center":     {atom.Center, kindBlock},
	"cite":       {atom.Cite, kindPhrasing},
	"code":       {atom.Code, kindFormat},
	"data":       {atom.Data, kindPhrasing},
	"datalist":   {atom.Datalist, kindPhrasing},
	"dd":         {atom.Dd, kindTerm},
	"del":        {atom.Del, kindPhrasing},
	"dialog":     {atom.Dialog, kindBlock},
	"details":    {atom.Details, kindBlock},
	"dfn":        {atom.Dfn, kindPhrasing},
	"div":        {atom.Div, kindBlock},
	"dl":         {atom.Dl, kindBlock},
	"dt":         {atom.Dt, kindTerm},
	"em":         {atom.Em, kindFormat},
	"fieldset":   {atom.Fieldset, kindBlock},
	"figcaption": {atom.Figcaption, kindBlock},
	"figure":     {atom.Figure, kindBlock},
	"font":       {atom.Font, kindFormat},
	"footer":     {atom.Footer, kindBlock},
	"form":       {atom.Form, kindForm},
	"h1":         {atom.H1, kindHeading},
	"h2":         {atom.H2, kindHeading},
	"h3":         {atom.H3, kindHeading},
	"h4":         {atom.H4, kindHeading},
	"h5":         {atom.H5, kindHeading},
	"h6":         {atom.H6, kindHeading},
	"head":       {atom.Head, kindShell},
	"header":     {atom.Header, kindBlock},
	"hr":         {atom.Hr, kindRule},
	"html":       {atom.Html, kindShell},
	"i":          {atom.I, kindFormat},
	"iframe":     {atom.Iframe, kindRaw},
	"img":        {atom.Img, kindVoid},
	"input":      {atom.Input, kindInput},
	"ins":        {atom.Ins, kindPhrasing},
	"kbd":        {atom.Kbd, kindPhrasing},
	"label":      {atom.Label, kindPhrasing},
	"legend":     {atom.Legend, kindPhrasing},
	"li":         {atom.Li, kindItem},
	"link":       {atom.Link, kindVoid},
	"main":       {atom.Main, kindBlock},
	"map":        {atom.Map, kindPhrasing},
	"mark":       {atom.Mark, kindPhrasing},
	"menu":       {atom.Menu, kindBlock},
	"meta":       {atom.Meta, kindVoid},
	"meter":      {atom.Meter, kindPhrasing},
	"nav":        {atom.Nav, kindBlock},
	"noscript":   {atom.Noscript, kindRaw},
	"ol":         {atom.Ol, kindBlock},
	"optgroup":   {atom.Optgroup, kindOptgroup},
	"option":     {atom.Option, kindOption},
	"output":     {atom.Output, kindPhrasing},
	"p":          {atom.P, kindPara},
	"param":      {atom.Param, kindVoid},
	"picture":    {atom.Picture, kindPhrasing},
	"pre":        {atom.Pre, kindPre},
	"progress":   {atom.Progress, kindPhrasing},
	"q":          {atom.Q, kindPhrasing},
	"s":          {atom.S, kindFormat},
	"samp":       {atom.Samp, kindPhrasing},
	"script":     {atom.Script, kindRaw},
	"search":     {atom.Search, kindBlock},
	"section":    {atom.Section, kindBlock},
	"select":     {atom.Select, kindSelect},
	"small":      {atom.Small, kindFormat},
	"source":     {atom.Source, kindVoid},
	"span":       {atom.Span, kindPhrasing},
	"strike":     {atom.Strike, kindFormat},
	"strong":     {atom.Strong, kindFormat},
	"style":      {atom.Style, kindRaw},
	"sub":        {atom.Sub, kindPhrasing},
	"summary":    {atom.Summary, kindBlock},
	"sup":        {atom.Sup, kindPhrasing},
	"svg":        {atom.Svg, kindSVG},
	"table":      {atom.Table, kindTable},
	"tbody":      {atom.Tbody, kindTableBody},
	"td":         {atom.Td, kindCell},
	"textarea":   {atom.Textarea, kindRCData},
	"tfoot":      {atom.Tfoot, kindTableBody},
	"th":         {atom.Th, kindCell},
	"thead":      {atom.Thead, kindTableBody},
	"time":       {atom.Time, kindPhrasing},
	"title":      {atom.Title, kindTitle},
	"tr":         {atom.Tr, kindRow},
	"track":      {atom.Track, kindVoid},
	"tt":         {atom.Tt, kindFormat},
	"u":          {atom.U, kindFormat},
	"ul":         {atom.Ul, kindBlock},
	"var":        {atom.Var, kindPhrasing},
	"video":      {atom.Video, kindPhrasing},
	"wbr":        {atom.Wbr, kindVoid},
}

// void reports whether the element never has content.
func (k kind) void() bool { return k == kindVoid || k == kindInput || k == kindRule }

// raw reports whether the element's content is text up to its end tag.
func (k kind) raw() bool { return k == kindRaw || k == kindRCData || k == kindTitle }

// closesPara reports whether the start tag closes an open p.
func (k kind) closesPara() bool {
	switch k {
	case kindBlock, kindHeading, kindPara, kindForm, kindItem, kindTerm, kindPre, kindRule, kindTable:
		return true
	}
	return false
}

// ofTable reports whether the element takes only parts of a table for children:
// anything else would be moved out of the table.
func (k kind) ofTable() bool { return k == kindTable || k == kindTableBody || k == kindRow }
