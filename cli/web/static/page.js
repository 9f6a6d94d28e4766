// Follows the page: every part that has changed comes as HTML that the program has rendered.
"use strict";
(() => {
  const silence = 15000; // the program gives a sign of life every 5 s
  const sign = document.getElementById("connection");
  const waiting = new Map(); // parts that come while somebody types in them or selects text
  let source = null, heard = Date.now(), ended = false;

  const clock = (t) => new Date(t).toISOString().slice(11, 19) + " UTC";
  const two = (n) => String(n).padStart(2, "0");
  const day = (d) => d.getFullYear() + "-" + two(d.getMonth() + 1) + "-" + two(d.getDate());
  const time = (d) => two(d.getHours()) + ":" + two(d.getMinutes()) + ":" + two(d.getSeconds());

  // zone is the name of the browser's zone, the same in summer and in winter: "ET".
  function zone() {
    const named = (timeZoneName) => new Intl.DateTimeFormat("en-US", { timeZoneName }).formatToParts().find((p) => p.type === "timeZoneName").value;
    const id = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (id === "UTC" || id === "Etc/UTC") return "UTC";
    try {
      return named("shortGeneric");
    } catch {
      return named("short"); // an old browser
    }
  }

  // local writes the times in cells in the browser's zone; each keeps UTC as its title. Steps have the time of day, and the date where
  // it is another one.
  function local(part) {
    const name = zone();
    for (const z of part.querySelectorAll(".zone")) z.textContent = name;
    let list = null, last = "";
    for (const t of part.querySelectorAll("time[datetime]")) {
      const d = new Date(t.dateTime);
      if (!("clock" in t.dataset)) {
        t.textContent = day(d) + " " + time(d);
        continue;
      }
      if (list !== t.closest("ol")) last = "";
      list = t.closest("ol");
      t.textContent = (day(d) === last ? "" : day(d) + " ") + time(d) + "." + String(d.getMilliseconds()).padStart(3, "0");
      last = day(d);
    }
  }

  function say(text, state) {
    if (sign.textContent !== text) sign.textContent = text;
    sign.dataset.state = state;
  }

  // inUse tells whether a part must not be replaced now.
  function inUse(part) {
    const at = document.activeElement;
    if (at && part.contains(at) && at.matches("input, select, textarea")) return true;
    const chosen = document.getSelection();
    return chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode);
  }

  function replace(p) {
    const part = document.getElementById(p.id);
    if (!part || part.dataset.hash === p.hash) {
      waiting.delete(p.id); // what came before is no longer true
      return;
    }
    if (inUse(part)) {
      waiting.set(p.id, p);
      return;
    }
    waiting.delete(p.id);
    const at = document.activeElement;
    const focus = at && part.contains(at) ? at.id : "";
    const open = [...part.querySelectorAll("details[open][id]")].map((d) => d.id);
    const scrolled = [...part.querySelectorAll(".scroll[id]")].map((e) => [e.id, e.scrollLeft, e.scrollTop]);
    part.innerHTML = p.html;
    part.dataset.hash = p.hash;
    local(part);
    for (const id of open) {
      const d = document.getElementById(id);
      if (d) d.open = true;
    }
    for (const [id, left, top] of scrolled) {
      const e = document.getElementById(id);
      if (e) e.scrollTo(left, top);
    }
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  }

  function connect() {
    if (ended || source || document.hidden) return;
    source = new EventSource(location.pathname + location.search);
    const hear = () => {
      heard = Date.now();
      const idle = document.querySelector(".sentence.idle");
      say(idle ? "connected · no run" : "updating live", "live");
      sign.toggleAttribute("data-idle", !!idle);
    };
    source.addEventListener("open", hear);
    source.addEventListener("beat", hear);
    source.addEventListener("part", (e) => {
      replace(JSON.parse(e.data));
      hear(); // it says what the sentence says now
    });
    source.addEventListener("reload", () => location.reload()); // the crawl has begun, or another file is there
    source.addEventListener("end", (e) => {
      ended = true;
      disconnect();
      end(JSON.parse(e.data).text);
    });
    source.addEventListener("error", () => {
      lost();
      if (source && source.readyState === EventSource.CLOSED) { // refused: tried again later
        disconnect();
        setTimeout(connect, 30000);
      }
    });
  }

  // end says why nothing comes any more, and when the last came.
  function end(text) {
    say(text, "ended");
    const sentence = document.querySelector("#sentence .sentence");
    if (!sentence) return;
    sentence.className = "sentence idle";
    while (sentence.lastChild !== sentence.firstElementChild) sentence.lastChild.remove(); // all but the dot
    sentence.append(text[0].toUpperCase() + text.slice(1) + ". What follows is as of " + clock(heard) + ".");
  }

  function disconnect() {
    if (source) source.close();
    source = null;
  }

  function lost() {
    if (!ended) say("no connection to the program since " + clock(heard), "lost");
  }

  // A browser gives a site six connections: a page that nobody sees leaves its own to others.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      disconnect();
    } else {
      heard = Date.now();
      connect();
    }
  });
  setInterval(() => {
    if (source && Date.now() - heard > silence) lost();
    for (const p of waiting.values()) replace(p);
  }, 1000);
  local(document);
  say("connecting", "connecting");
  connect();
})();
