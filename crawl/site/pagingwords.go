package site

import (
	"strings"
	"sync"
)

// Words of paginations, in lower case and without arrows and numbers, by language.

// nextWords lead to the next page.
//
//nolint:misspell // Italian
var nextWords = vocabulary(`
	next, next page, next results, older, see next page
	weiter, nächste, nächste seite, zur nächsten seite, vorwärts
	suivant, suivante, suivants, page suivante, résultats suivants
	siguiente, siguientes, página siguiente, pagina siguiente
	próximo, próxima, próxima página, proximo, proxima, seguinte, página seguinte, avançar
	successivo, successiva, pagina successiva, avanti, prossima, prossima pagina, succ
	volgende, volgende pagina, verder
	nästa, nästa sida, neste, neste side, næste, næste side, seuraava, seuraava sivu
	następna, następny, następna strona, dalej, další, další stránka, ďalšia, ďalej, következő
	следующая, следующая страница, далее, вперед, вперёд, дальше, наступна, далі
	sonraki, sonraki sayfa, ileri, επόμενη, επόμενο, επόμενη σελίδα, următoarea, înainte, următor
	次へ, 次, 次のページ, 次ページ, 下一页, 下一頁, 下页, 下頁, 다음, 다음 페이지
	التالي, التالية, הבא, הבאה, berikutnya, selanjutnya, seterusnya, tiếp, trang sau, tiếp theo, ถัดไป, अगला, अगला पृष्ठ`)

// moreWords bring more of the list.
var moreWords = vocabulary(`
	load more, show more, see more, view more, more results, show more results, load more results, see more results, view more results, more listings, show more listings, load more listings
	mehr laden, mehr anzeigen, weitere laden, weitere anzeigen, weitere ergebnisse, mehr ergebnisse, weitere einträge, mehr einträge, weitere treffer, mehr treffer, mehr treffer anzeigen, weitere ergebnisse anzeigen, mehr ergebnisse anzeigen, weitere einträge laden
	voir plus, afficher plus, charger plus, plus de résultats, voir plus de résultats, afficher plus de résultats
	ver más, mostrar más, cargar más, más resultados, ver más resultados
	ver mais, mostrar mais, carregar mais, mais resultados, ver mais resultados
	mostra altri, carica altri, mostra di più, altri risultati, vedi altri, carica altri risultati
	meer laden, toon meer, meer tonen, meer resultaten, laad meer, toon meer resultaten
	visa fler, ladda fler, vis flere, last inn flere, vis mere, indlæs flere, näytä lisää, lataa lisää
	pokaż więcej, załaduj więcej, więcej wyników, zobrazit další, načíst další, načíst více, ďalšie výsledky, több betöltése, további találatok
	показать ещё, показать еще, загрузить ещё, загрузить еще, ещё, еще, показати ще, завантажити ще
	daha fazla, daha fazla göster, περισσότερα, vezi mai multe, afișează mai multe
	もっと見る, もっと表示, さらに表示, 加载更多, 查看更多, 更多, 載入更多, 顯示更多, 더보기, 더 보기
	عرض المزيد, المزيد, טען עוד, הצג עוד, muat lebih banyak, lihat lainnya, xem thêm, tải thêm, ดูเพิ่มเติม, और देखें`)

// backWords lead to pages before this one.
var backWords = vocabulary(`
	previous, prev, previous page, back, first, first page, newer
	zurück, vorherige, vorherige seite, erste, erste seite, anfang
	précédent, précédente, page précédente, retour, première, premier, début
	anterior, anteriores, página anterior, primera, primero, atrás, primeira, primeiro, voltar
	precedente, precedenti, pagina precedente, indietro, prima, primo, prec
	vorige, vorige pagina, terug, eerste, föregående, tillbaka, första, forrige, tilbage, tilbake, første, edellinen
	poprzednia, poprzedni, wstecz, pierwsza, předchozí, zpět, první, predchádzajúca, előző
	предыдущая, назад, первая, в начало, попередня, önceki, geri, ilk, προηγούμενη, anterioara, înapoi
	前へ, 前, 前のページ, 上一页, 上一頁, 上页, 首页, 이전, 처음, السابق, הקודם, sebelumnya, trước, ก่อนหน้า, पिछला`)

// lastWords lead to the last page.
var lastWords = vocabulary(`
	last, last page, end, letzte, letzte seite, ende, dernière, dernier, fin, última, último, ultima, ultimo, laatste, sista, siste, sidste, viimeinen, ostatnia, poslední, posledná, utolsó
	последняя, в конец, остання, son, τελευταία, 最後, 末页, 尾页, 마지막, الأخير, האחרון, terakhir, cuối`)

// pageWords are before the number of a page.
var pageWords = []string{
	"page", "seite", "página", "pagina", "strona", "stránka", "sida", "side", "sivu",
	"страница", "sayfa", "σελίδα", "oldal", "trang", "halaman", "go to page", "goto page",
}

// vocabulary returns the set of a list, made when it is asked for first.
func vocabulary(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for line := range strings.Lines(list) {
			for word := range strings.SplitSeq(line, ",") {
				if word = strings.TrimSpace(word); word != "" {
					all[word] = true
				}
			}
		}
		return all
	})
}

// bringsMore reports whether a label says that it brings more of a list: "load more", "more results". Those that say
// "show more" alone may show more of anything.
func bringsMore(label string) bool {
	if !moreWords()[label] {
		return false
	}
	for _, part := range [...]string{
		"load", "result", "listing", "lade", "ergebnis", "treffer", "eintr", "charge",
		"cargar", "carrega", "carica", "risultat", "résultat", "resultad", "laad", "ladda", "last inn", "indlæs", "lataa",
		"załaduj", "wynik", "načíst", "výsledk", "betölt", "találat", "загруз", "завантаж", "加载",
		"載入", "טען", "muat", "tải", "resultaten",
	} {
		if strings.Contains(label, part) {
			return true
		}
	}
	return false
}

func saysNextOrMore(label string) bool { return nextWords()[label] || moreWords()[label] }
