// The editor: what is drawn behind the text, keys, lists that go on, find and replace, checks while one writes, drafts.
"use strict";
(() => {
  const form = document.querySelector("form[data-editor]");
  const text = document.getElementById("text");
  if (!form || !text) return;
  const [grid, scroll] = [document.querySelector(".ed-grid"), document.getElementById("ed-scroll")];
  grid.classList.add("ed-on");
  const first = text.defaultValue; // somebody may write before this script is there
  const stored = (document.getElementById("stored")?.value ?? first).split("\n");
  const mirror = new window.TextMirror(text, document.querySelector(".ed-mirror"), scroll);
  const save = document.getElementById("save");
  const preview = () => document.getElementById("ed-preview");

  // execCommand keeps the browser's own undo; where it is gone, the value is set.
  const put = (start, end, insert) => {
    text.focus({ preventScroll: true });
    text.setSelectionRange(start, end);
    if (insert ? document.execCommand("insertText", false, insert) : start === end || document.execCommand("delete")) return;
    text.setRangeText(insert, start, end, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const lineStart = (at) => text.value.lastIndexOf("\n", at - 1) + 1;

  // ---- keys. Escape, then Tab, leaves the field, so nobody is caught in it.
  let leaving = false;
  text.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { leaving = true; mirror.closeBox(); return; }
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey;
    if (event.key === "Tab" && !leaving && plain) {
      event.preventDefault();
      indent(event.shiftKey);
    } else if (event.key === "Enter" && !event.shiftKey && plain && !event.isComposing && goOn()) {
      event.preventDefault();
    } else if (event.key === "F8") {
      event.preventDefault();
      walkFindings(event.shiftKey ? -1 : 1);
    }
    if (event.key !== "Shift") leaving = false;
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === "s" || (key === "enter" && event.target.form === form)) { event.preventDefault(); form.requestSubmit(save); }
    // A second Ctrl F, from within the field, is the browser's own.
    if (key === "f" && !finder.contains(event.target) && (tab === "write" || tab === "both")) { event.preventDefault(); openFinder(false); }
    if (key === "h" && !finder.contains(event.target)) { event.preventDefault(); openFinder(true); }
  });

  function indent(back) {
    const { selectionStart: start, selectionEnd: end, value } = text;
    const from = lineStart(start);
    if (start === end && !back) { put(start, end, "  "); return; }
    const lines = value.slice(from, end).split("\n");
    const changed = lines.map((line) => (back ? line.replace(/^( {1,2}|\t)/, "") : line ? `  ${line}` : line)).join("\n");
    if (changed === lines.join("\n")) return;
    put(from, end, changed);
    if (start !== end) text.setSelectionRange(from, from + changed.length);
  }

  // ---- lists that go on. An item that was begun by the editor and stayed empty is taken away again.
  const ITEM = /^(\s*)([-*+]|(\d{1,9})([.)]))(\s+)(\[[ xX]\]\s+)?/;
  let begun = null; // { at, item } of the empty item that Enter began last

  function goOn() {
    const { selectionStart: start, selectionEnd: end, value } = text;
    if (start !== end) return false;
    const from = lineStart(start);
    const item = ITEM.exec(value.slice(from, start));
    if (!item) return false;
    const rest = value.slice(start).split("\n", 1)[0];
    if (item[0].length === start - from && !rest.trim()) {
      begun = null;
      put(from, start + rest.length, ""); // an empty item ends its list
      return true;
    }
    const mark = item[3] ? `${Number(item[3]) + 1}${item[4]}` : item[2];
    const begins = `${item[1]}${mark}${item[5]}${item[6] ? "[ ] " : ""}`;
    put(start, end, `\n${begins}`);
    if (item[3]) renumber(start + 1 + begins.length, item[1], item[4], Number(item[3]) + 1);
    begun = rest.trim() ? null : { at: start, item: begins };
    return true;
  }

  // The numbers after a new item count on from it.
  function renumber(caret, indentation, sign, number) {
    const from = text.value.indexOf("\n", caret) + 1;
    if (!from) return;
    const rows = text.value.slice(from).split("\n");
    const own = new RegExp(`^${indentation}(\\d{1,9})${sign === "." ? "\\." : "\\)"}(?=\\s)`);
    let size = 0;
    const made = [];
    for (const row of rows) {
      const found = own.exec(row);
      const below = row.startsWith(`${indentation} `) || row.startsWith(`${indentation}\t`);
      if (!found && !below) break;
      if (found && Number(found[1]) !== number) break;
      if (found) number += 1;
      made.push(found ? row.replace(own, `${indentation}${number}${sign}`) : row);
      size += row.length + 1;
    }
    if (!made.some((row, i) => row !== rows[i])) return;
    put(from, from + size - 1, made.join("\n"));
    text.setSelectionRange(caret, caret);
  }

  // Answers whether the item that Enter began still stands there empty.
  const isEmptyItem = () => begun && text.value.slice(begun.at, begun.at + begun.item.length + 1) === `\n${begun.item}`
    && ["\n", undefined].includes(text.value[begun.at + begun.item.length + 1]);

  function dropEmptyItem() {
    if (!begun) return;
    const { at, item } = begun;
    const stands = isEmptyItem();
    begun = null;
    if (!stands) return;
    const { selectionStart: start, selectionEnd: end } = text;
    const size = item.length + 1;
    const moved = (place) => (place <= at ? place : Math.max(at, place - size));
    put(at, at + size, "");
    text.setSelectionRange(moved(start), moved(end));
  }

  // ---- where the caret is
  const place = document.querySelector("[data-place]");
  let current = null;
  function caretMoved() {
    if (document.activeElement !== text) return;
    const at = text.selectionDirection === "backward" ? text.selectionStart : text.selectionEnd;
    if (begun && (at < begun.at || at > begun.at + begun.item.length + 1)) { dropEmptyItem(); return; }
    mirror.update();
    const line = mirror.lineAt(at);
    place.textContent = place.dataset.says.replace("{line}", (line + 1).toLocaleString()).replace("{column}", String(at - mirror.starts[line] + 1));
    if (current !== mirror.lines[line]) {
      current?.classList.remove("now");
      current = mirror.lines[line];
      current.classList.add("now");
    }
  }
  document.addEventListener("selectionchange", caretMoved);

  // ---- writing
  const ending = document.querySelector("[data-ending]");
  const endsWell = first.endsWith("\n");
  function tellEnding() {
    const ends = mirror.value.endsWith("\n");
    ending.textContent = ends ? ending.dataset.with : mirror.value && endsWell ? ending.dataset.kept : mirror.value ? ending.dataset.without : "";
  }
  let comparing = 0;
  function written() {
    if (!mirror.update()) return;
    if (begun && !isEmptyItem()) begun = null;
    if (needle.value) { mirror.find(needle.value); tell(); }
    tellEnding();
    clearTimeout(comparing);
    comparing = setTimeout(() => mirror.compare(stored), 150);
    askLater();
    keepLater();
  }
  text.addEventListener("input", written);

  // ---- checks: the parts beside the text follow it, the longer the text the later
  const asker = document.getElementById("ed-look");
  let asking = 0;
  let sent = mirror.rows.slice();
  const delay = () => 300 + Math.min(1200, mirror.value.length / 300);
  const ask = () => { clearTimeout(asking); window.htmx?.trigger(asker, "look"); };
  function askLater() { clearTimeout(asking); asking = setTimeout(ask, delay()); }
  document.body.addEventListener("htmx:configRequest", (event) => {
    if (event.target !== asker) return;
    mirror.update();
    event.detail.parameters.view = shownTab();
    event.detail.parameters.open = [...document.querySelectorAll("#ed-side details[open]")].map((one) => one.dataset.agent);
  });
  document.body.addEventListener("htmx:beforeSend", (event) => { if (event.target === asker) sent = mirror.rows.slice(); });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    if (!["ed-side", "ed-preview"].includes(event.detail.elt?.id)) return;
    if (event.detail.elt.id === "ed-side") showMarks();
    follow();
  });
  // A prompt whose change was not drawn yet is asked for when its row is opened.
  document.addEventListener("toggle", (event) => {
    const row = event.target;
    if (row.matches?.("#ed-side details[data-more]") && row.open && !row.querySelector(".diff")) ask();
  }, true);

  const parsePlace = (said) => { const [line, column] = said.split(":").map(Number); return { line, column }; };
  const items = () => [...document.querySelectorAll("#ed-side [data-marks]")];
  function showMarks() {
    const found = items().flatMap((item) => item.dataset.marks.split(" ").filter(Boolean).map((mark) => {
      const [from, to] = mark.split("-").map(parsePlace);
      return { from, to, high: item.classList.contains("high"), item };
    }));
    mirror.setMarks(found, sent);
  }
  function goTo(item) {
    const at = mirror.lineOf(item);
    if (at < 0) return;
    showTab("write");
    const mark = mirror.lines[at].marks.find((one) => one.item === item);
    const offset = mirror.offset(at, mark.from);
    text.focus({ preventScroll: true });
    text.setSelectionRange(offset, mirror.offset(at, mark.to));
    mirror.reveal(at);
    mirror.openBox(mark);
  }
  function walkFindings(step) {
    const all = items().map((item) => [mirror.lineOf(item), item]).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0]);
    if (!all.length) return;
    const here = mirror.lineAt(text.selectionStart);
    const next = step > 0 ? all.find(([at]) => at > here) : all.findLast(([at]) => at < here);
    goTo((next || (step > 0 ? all[0] : all.at(-1)))[1]);
  }
  // From the last to the first, so that the places before stay right.
  function takeOut(item) {
    const places = mirror.lines.flatMap((line, at) => line.marks.filter((one) => one.item === item)
      .map((one) => [mirror.offset(at, one.from), mirror.offset(at, one.to)]));
    places.reverse().forEach(([from, to]) => put(from, to, ""));
    mirror.closeBox();
    ask();
  }
  document.addEventListener("click", (event) => {
    const item = event.target.closest?.("#ed-side [data-marks]");
    if (item && event.target.closest("[data-remove]")) takeOut(item);
    else if (item && event.target.closest("a")) { event.preventDefault(); goTo(item); }
    const flag = event.target.closest?.(".flag");
    if (flag) mirror.openBox(flag.mark);
    else if (!event.target.closest?.(".finding-box") && !item) mirror.closeBox();
  });

  // ---- write, preview, or both; the preview follows the scroll by the headings of both
  const tabs = [...document.querySelectorAll(".ed-tools [data-tab]")];
  let tab = "write";
  const shownTab = () => (tab === "both" ? "people" : tab === "write" ? "" : tab);
  function showTab(name) {
    const line = tab === "write" || tab === "both" ? mirror.topLine() : null;
    tab = name;
    grid.dataset.tab = name;
    tabs.forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.tab === name)));
    if (name !== "write") { wanted = line ?? wanted; ask(); } else mirror.later();
  }
  tabs.forEach((one) => one.addEventListener("click", () => showTab(one.dataset.tab)));

  let wanted = null; // the line that the preview shall show, until it is there
  function pairs() {
    const shown = preview();
    const [own, others] = [mirror.headings(), [...shown.querySelectorAll(".md :is(h1, h2, h3, h4, h5, h6)")]];
    const top = shown.getBoundingClientRect().top - shown.scrollTop;
    const fixed = [[0, 0]];
    if (own.length === others.length) own.forEach((at, i) => fixed.push([at, others[i].getBoundingClientRect().top - top]));
    fixed.push([mirror.rows.length, shown.scrollHeight]);
    return fixed;
  }
  function follow() {
    if (tab === "write") return;
    const line = wanted ?? (tab === "both" ? mirror.topLine() : null);
    if (line === null || (tab !== "both" && tab !== "people")) return;
    const fixed = pairs();
    const next = Math.max(1, fixed.findIndex(([at]) => at > line));
    const [[from, above], [to, below]] = [fixed[next - 1], fixed[next]];
    preview().scrollTop = above + (below - above) * Math.min(1, (line - from) / Math.max(1, to - from));
    wanted = null;
  }
  scroll.addEventListener("scroll", () => { if (tab === "both") requestAnimationFrame(follow); }, { passive: true });

  // ---- unsaved text
  const key = `draft:${form.dataset.editor}`;
  const store = {
    get: () => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } },
    set: (value) => { try { value ? localStorage.setItem(key, JSON.stringify(value)) : localStorage.removeItem(key); return true; } catch { return false; } },
  };
  const offer = document.getElementById("draft");
  const kept = store.get();
  const was = kept && kept.sent && kept.base !== form.dataset.base; // it was saved: the text moved on since
  if (kept && (kept.text === first || was)) store.set(null);
  else if (kept) {
    offer.querySelector("[data-when]").textContent = new Date(kept.at).toLocaleString(document.documentElement.lang || undefined, { dateStyle: "medium", timeStyle: "short" });
    offer.querySelector("[data-base]").hidden = kept.base === form.dataset.base;
    offer.hidden = false;
    offer.addEventListener("click", (event) => {
      const what = event.target.closest("[data-draft]")?.dataset.draft;
      if (!what) return;
      offer.hidden = true;
      if (what === "restore") put(0, text.value.length, kept.text); else store.set(null);
    });
  }
  const says = document.querySelector("[data-draft-says]");
  let keeping = 0;
  function keep(more) {
    clearTimeout(keeping);
    const changed = text.value !== first;
    const done = store.set(changed ? { text: text.value, at: Date.now(), base: form.dataset.base, ...more } : null);
    says.textContent = changed && done ? says.dataset.kept : "";
  }
  function keepLater() { clearTimeout(keeping); keeping = setTimeout(keep, 300 + Math.min(1500, mirror.value.length / 300)); }

  // What was sent is kept until a page shows that it was saved: a refusal or a lost connection brings this page again.
  let sending = false;
  form.addEventListener("submit", (event) => {
    if (event.submitter?.formNoValidate) return;
    if (isEmptyItem()) dropEmptyItem();
    if (endsWell && text.value && !text.value.endsWith("\n")) text.value += "\n"; // as it was
    sending = true;
    if (text.value !== first) keep({ sent: true });
  });
  form.querySelector("[data-cancel]").addEventListener("click", () => { sending = true; store.set(null); });
  window.addEventListener("beforeunload", (event) => { if (!sending && text.value !== first) { keep(); event.preventDefault(); } });
  window.addEventListener("pageshow", () => { sending = false; });

  // ---- find and replace
  const finder = document.querySelector("[data-find]");
  const needle = document.getElementById("needle");
  const instead = document.getElementById("instead");
  const hits = document.getElementById("hits");
  const opener = finder.querySelector("[data-step=open]");
  function openReplace(open) {
    finder.querySelector(".ed-replace").hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
  }
  function openFinder(replace) {
    if (replace) openReplace(true);
    const chosen = text.value.slice(text.selectionStart, text.selectionEnd);
    if (chosen && !chosen.includes("\n")) needle.value = chosen;
    needle.focus();
    needle.select();
    seek();
  }
  function tell() {
    const of = mirror.hits.length;
    hits.textContent = !needle.value ? "" : !of ? hits.dataset.none : mirror.hit < 0 ? String(of) : `${mirror.hit + 1} ${hits.dataset.of} ${of}`;
  }
  function seek() {
    mirror.update();
    mirror.hit = -1;
    mirror.find(needle.value);
    if (mirror.hits.length) show(nextHit(text.selectionStart), false);
    tell();
  }
  const nextHit = (from) => { const at = mirror.hits.findIndex((one) => one >= from); return at < 0 ? 0 : at; };
  // Shows a match; the caret goes there only on the way through them, not while one types what to find.
  function show(at, select) {
    mirror.hit = at;
    const offset = mirror.hits[at];
    if (select) text.setSelectionRange(offset, offset + needle.value.length);
    mirror.reveal(mirror.lineAt(offset));
    mirror.later();
    tell();
  }
  function step(by) {
    const of = mirror.hits.length;
    if (of) show(mirror.hit < 0 ? nextHit(text.selectionEnd) : (mirror.hit + by + of) % of, true);
  }
  function replaceOne() {
    const at = mirror.hit < 0 ? nextHit(text.selectionStart) : mirror.hit;
    if (mirror.hits[at] === undefined) return;
    const offset = mirror.hits[at];
    put(offset, offset + needle.value.length, instead.value);
    mirror.update();
    mirror.find(needle.value);
    mirror.hit = -1;
    if (mirror.hits.length) show(nextHit(offset + instead.value.length), true);
    tell();
  }
  function replaceAll() {
    const size = needle.value.length;
    let [made, from] = ["", 0];
    for (const at of mirror.hits) { made += text.value.slice(from, at) + instead.value; from = at + size; }
    if (from) put(0, text.value.length, made + text.value.slice(from));
    seek();
  }
  needle.addEventListener("input", seek);
  finder.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { needle.value = ""; mirror.hit = -1; mirror.find(""); tell(); openReplace(false); text.focus(); }
    if (event.key !== "Enter" || event.target.matches("button")) return;
    event.preventDefault();
    if (event.target === instead) replaceOne(); else step(event.shiftKey ? -1 : 1);
  });
  finder.addEventListener("click", (event) => {
    const what = event.target.closest("[data-step]")?.dataset.step;
    if (what === "open") { openReplace(opener.getAttribute("aria-expanded") !== "true"); if (!finder.querySelector(".ed-replace").hidden) instead.focus(); }
    if (what === "next") step(1);
    if (what === "back") step(-1);
    if (what === "one") replaceOne();
    if (what === "all") replaceAll();
  });

  // ---- begin
  tellEnding();
  mirror.compare(stored);
  mirror.later();
  showMarks();
  // htmx listens from then on.
  document.addEventListener("DOMContentLoaded", () => {
    if (text.value !== first) keepLater();
    if (text.value !== first || document.getElementById("ed-side").hasAttribute("data-late")) ask();
  });
})();
