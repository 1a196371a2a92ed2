// Draws the text of a text field line by line behind it: line numbers, findings, hidden characters, matches, changed lines.
// The field keeps caret, selection, undo and input methods; only the lines that the window shows are drawn in full.
"use strict";
(() => {
  const CHUNK = 100;
  const MAX_COMPARISONS = 400000;
  const UNSEEN = new RegExp(
    "[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e"
    + "\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0e\\ufeff\\uffa0\\ufff0-\\ufffb\\u0335-\\u0338\\u0488\\u0489\\u20d2\\u20d3\\u20d8-\\u20da\\u20dd-\\u20e0\\u20e2\\u20e4-\\u20e6\\u20ea\\u20eb\\u{13430}-\\u{1343f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]+", "gu");
  const EMOJI = /[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\ufe0f\u{1f000}-\u{1faff}]/u;
  const BLANKS = /[ \t\xa0\u2000-\u200a\u3000]+$/;
  const HEADING = /^#{1,6}\s/;

  const element = (name, css, text) => {
    const made = document.createElement(name);
    if (css) made.className = css;
    if (text) made.textContent = text;
    return made;
  };

  // How much of two texts is equal at the beginning and at the end.
  function commonHead(one, other) {
    const most = Math.min(one.length, other.length);
    let at = 0;
    for (let step = 8192; step >= 1; step >>= 3) {
      while (at + step <= most && one.slice(at, at + step) === other.slice(at, at + step)) at += step;
    }
    return at;
  }
  function commonTail(one, other, most) {
    let size = 0;
    for (let step = 8192; step >= 1; step >>= 3) {
      while (size + step <= most
        && one.slice(one.length - size - step, one.length - size) === other.slice(other.length - size - step, other.length - size)) size += step;
    }
    return size;
  }

  const withoutLastEnd = (rows) => (rows.at(-1) === "" ? rows.slice(0, -1) : rows);

  // Which lines of `now` are new or changed against `was`, and before which some are gone.
  function compareLines(before, after) {
    const [was, now] = [withoutLastEnd(before), withoutLastEnd(after)];
    let head = 0;
    let tail = 0;
    const most = Math.min(was.length, now.length);
    while (head < most && was[head] === now[head]) head += 1;
    while (tail < most - head && was[was.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
    const [old, mine] = [was.slice(head, was.length - tail), now.slice(head, now.length - tail)];
    const found = new Map();
    const run = (at, removed, added) => {
      for (let i = 0; i < added; i += 1) found.set(at + i, i < removed ? "mod" : "new");
      if (removed && !added) found.set(at, "gone");
    };
    if (old.length * mine.length > MAX_COMPARISONS) { run(head, old.length, mine.length); return found; }
    const width = mine.length + 1;
    const best = new Uint32Array((old.length + 1) * width);
    for (let i = old.length - 1; i >= 0; i -= 1) {
      for (let j = mine.length - 1; j >= 0; j -= 1) {
        best[i * width + j] = old[i] === mine[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
      }
    }
    let [i, j, removed, added] = [0, 0, 0, 0];
    while (i < old.length || j < mine.length) {
      if (i < old.length && j < mine.length && old[i] === mine[j]) {
        run(head + j - added, removed, added);
        [i, j, removed, added] = [i + 1, j + 1, 0, 0];
      } else if (j < mine.length && (i >= old.length || best[i * width + j + 1] >= best[(i + 1) * width + j])) { j += 1; added += 1; } else { i += 1; removed += 1; }
    }
    run(head + j - added, removed, added);
    return found;
  }

  class TextMirror {
    constructor(text, mirror, scroll) {
      Object.assign(this, { text, mirror, scroll, value: text.value, rows: text.value.split("\n"), lines: [], hits: [], hit: -1, changed: [] });
      for (let at = 0; at < this.rows.length; at += CHUNK) {
        const chunk = element("div", "ed-chunk");
        for (const row of this.rows.slice(at, at + CHUNK)) { const line = this.line(row); chunk.append(line); this.lines.push(line); }
        mirror.append(chunk);
      }
      this.measure();
      scroll.addEventListener("scroll", () => this.later(), { passive: true });
      new ResizeObserver(() => this.later()).observe(scroll);
    }

    line(row) {
      const made = element("div", "ed-line", row);
      made.marks = [];
      return made;
    }

    // ---- text

    // Takes over what changed in the field; answers whether anything did. Marks in lines that stayed go on with them.
    update() {
      const now = this.text.value;
      const was = this.value;
      if (now === was) return false;
      const head = commonHead(was, now);
      const tail = commonTail(was, now, Math.min(was.length, now.length) - head);
      const first = this.lineAt(head);
      const last = this.lineAt(was.length - tail);
      const start = this.starts[first];
      const end = this.starts[last] + this.rows[last].length + now.length - was.length;
      const rows = now.slice(start, end).split("\n");
      const old = this.lines.slice(first, last + 1);
      const kept = old[0];
      kept.marks = this.shifted(kept.marks, this.rows[first], rows[0]);
      kept.textContent = rows[0];
      kept.drawn = "";
      let before = kept;
      const made = rows.slice(1).map((row) => { const line = this.line(row); before.after(line); before = line; return line; });
      old.slice(1).forEach((line) => line.remove());
      // One by one, as a call takes only so many arguments.
      if (rows.length === old.length) made.forEach((line, i) => { this.lines[first + 1 + i] = line; this.rows[first + 1 + i] = rows[i + 1]; });
      else {
        this.lines = this.lines.slice(0, first + 1).concat(made, this.lines.slice(last + 1));
        this.rows = this.rows.slice(0, first + 1).concat(rows.slice(1), this.rows.slice(last + 1));
      }
      this.rows[first] = rows[0];
      this.value = now;
      this.split(kept.parentElement);
      this.measure();
      this.later();
      return true;
    }

    shifted(marks, was, now) {
      if (was === now) return marks;
      const head = commonHead(was, now);
      const tail = commonTail(was, now, Math.min(was.length, now.length) - head);
      const by = now.length - was.length;
      return marks.filter((one) => one.to <= head || one.from >= was.length - tail)
        .map((one) => (one.to <= head ? one : { ...one, from: one.from + by, to: one.to + by }));
    }

    split(chunk) {
      while (chunk.childElementCount > 3 * CHUNK) {
        const rest = element("div", "ed-chunk");
        rest.append(...[...chunk.children].slice(-CHUNK));
        chunk.after(rest);
      }
    }

    // Where each line begins, and the comments.
    measure() {
      this.starts = [];
      let at = 0;
      for (const row of this.rows) { this.starts.push(at); at += row.length + 1; }
      this.comments = [];
      for (let from = this.value.indexOf("<!--"); from >= 0; from = this.value.indexOf("<!--", this.comments.at(-1)[1])) {
        const end = this.value.indexOf("-->", from + 4);
        this.comments.push([from, end < 0 ? this.value.length : end + 3]);
        if (end < 0) break;
      }
    }

    lineAt(offset) {
      let [low, high] = [0, this.rows.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.starts[middle] <= offset) low = middle; else high = middle - 1;
      }
      return low;
    }

    offset(line, column) { return this.starts[line] + Math.min(column, this.rows[line].length); }

    // ---- findings: places of the text as it was sent, told by line and column

    setMarks(found, sent) {
      for (const line of this.lines) if (line.marks.length) { line.marks = []; line.drawn = ""; }
      for (const one of found) {
        for (let number = one.from.line; number <= one.to.line; number += 1) {
          const at = this.lineNow(number - 1, sent);
          if (at < 0) continue;
          const from = number === one.from.line ? one.from.column : 0;
          const to = number === one.to.line ? one.to.column : this.rows[at].length;
          this.lines[at].marks.push({ from, to, high: one.high, item: one.item });
          this.lines[at].drawn = "";
        }
      }
      this.later();
    }

    // Where a line of the text that was sent stands now; -1 if it was changed since.
    lineNow(at, sent) {
      if (this.rows[at] !== undefined && this.rows[at] === sent[at]) return at;
      const other = at + this.rows.length - sent.length;
      return sent[at] !== undefined && this.rows[other] === sent[at] ? other : -1;
    }

    lineOf(item) { return this.lines.findIndex((line) => line.marks.some((one) => one.item === item)); }

    // ---- matches

    find(needle) {
      this.hits = [];
      this.needle = needle;
      const exact = needle !== needle.toLowerCase(); // capitals are meant
      const value = exact ? this.value : this.value.toLowerCase();
      if (needle && value.length === this.value.length) {
        for (let at = value.indexOf(needle); at >= 0 && this.hits.length < 10000; at = value.indexOf(needle, at + needle.length)) this.hits.push(at);
      }
      this.later();
    }

    // ---- lines that differ from the stored text

    compare(stored) {
      this.changed.forEach((line) => line.classList.remove("new", "mod", "gone"));
      this.changed = [];
      for (const [at, css] of compareLines(stored, this.rows)) {
        const line = this.lines[Math.min(at, this.lines.length - 1)];
        line.classList.add(css);
        this.changed.push(line);
      }
    }

    // ---- drawing: once a frame, and only what the window shows

    later() {
      if (this.waits) return;
      this.waits = true;
      requestAnimationFrame(() => { this.waits = false; this.draw(); });
    }

    visible() {
      const box = this.scroll.getBoundingClientRect();
      let [low, high] = [0, this.lines.length - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.lines[middle].getBoundingClientRect().bottom < box.top) low = middle + 1; else high = middle;
      }
      let end = low;
      while (end < this.lines.length - 1 && this.lines[end].getBoundingClientRect().top < box.bottom) end += 1;
      return [low, end];
    }

    draw() {
      const [first, last] = this.visible();
      for (let at = first; at <= last; at += 1) {
        const line = this.lines[at];
        if (line.dataset.n !== String(at + 1)) line.dataset.n = at + 1;
        this.drawLine(line, at);
      }
    }

    drawLine(line, at) {
      const row = this.rows[at];
      const [start, end] = [this.starts[at], this.starts[at] + row.length];
      const parts = this.parts(row, start, end, line.marks);
      const key = JSON.stringify(parts);
      if (line.drawn === key) return;
      line.drawn = key;
      const box = line.querySelector(".finding-box");
      line.replaceChildren(...this.pieces(row, parts));
      const grave = line.marks.find((one) => one.high) || line.marks[0];
      if (grave) line.append(this.flag(grave), this.says(line.marks));
      if (box && line.marks.includes(box.mark)) line.append(box);
    }

    // Stretches of a line with what is drawn on them, as [from, to, kind, more].
    parts(row, start, end, marks) {
      const found = [];
      for (const [from, to] of this.comments) {
        if (from > end) break;
        if (to > start) found.push([Math.max(0, from - start), Math.min(row.length, to - start), "dim"]);
      }
      if (!found.length && HEADING.test(row)) found.push([0, row.length, "h"]);
      for (const one of marks) found.push([one.from, Math.max(one.from, Math.min(one.to, row.length)), one.high ? "found" : "found mild"]);
      for (const match of row.matchAll(UNSEEN)) {
        if (this.joinsEmoji(row, match)) continue;
        found.push([match.index, match.index + match[0].length, "unseen", this.label(match[0])]);
      }
      const blanks = BLANKS.exec(row);
      if (blanks) found.push([blanks.index, row.length, "blank"]);
      if (this.hits.length) this.hitsIn(start, end).forEach(([from, to, now]) => found.push([from - start, to - start, now ? "hit now" : "hit"]));
      return found;
    }

    joinsEmoji(row, match) {
      return match[0] === "\u200d" && EMOJI.test(row.slice(Math.max(0, match.index - 2), match.index)) && EMOJI.test(row.slice(match.index + 1, match.index + 3));
    }

    label(characters) {
      const codes = [...characters].map((one) => one.codePointAt(0));
      const name = `U+${codes[0].toString(16).toUpperCase().padStart(4, "0")}`;
      return codes.length > 1 ? `${name} \u00d7${codes.length}` : name;
    }

    hitsIn(start, end) {
      let [low, high] = [0, this.hits.length];
      const size = this.needle.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.hits[middle] + size <= start) low = middle + 1; else high = middle;
      }
      const found = [];
      for (; low < this.hits.length && this.hits[low] < end; low += 1) {
        found.push([Math.max(start, this.hits[low]), Math.min(end, this.hits[low] + size), low === this.hit]);
      }
      return found;
    }

    pieces(row, parts) {
      if (!parts.length) return [document.createTextNode(row)];
      const cuts = [...new Set([0, row.length, ...parts.flatMap(([from, to]) => [from, to])])].sort((a, b) => a - b);
      const made = [];
      for (let i = 0; i + 1 < cuts.length; i += 1) {
        const on = parts.filter(([from, to]) => from <= cuts[i] && cuts[i + 1] <= to);
        made.push(this.piece(row.slice(cuts[i], cuts[i + 1]), on));
      }
      return made;
    }

    piece(text, on) {
      if (!on.length) return document.createTextNode(text);
      const hit = on.find(([, , kind]) => kind.startsWith("hit"));
      const made = element(hit ? "mark" : "span", on.map(([, , kind]) => kind).filter((kind) => !kind.startsWith("hit")).join(" "), text);
      if (hit?.[2] === "hit now") made.setAttribute("aria-current", "true");
      const label = on.find(([, , kind]) => kind === "unseen");
      if (label) made.dataset.label = label[3];
      return made;
    }

    flag(mark) {
      const made = element("span", mark.high ? "flag high" : "flag");
      const glyph = mark.item.querySelector("svg");
      if (glyph) made.append(glyph.cloneNode(true));
      made.mark = mark;
      return made;
    }

    // What was found, behind the end of the line: it takes no room, so that the lines stay where those of the field are.
    says(marks) {
      const items = [...new Set(marks.map((one) => one.item))];
      const told = items.map((item) => `${item.querySelector("b").textContent.trim()}: ${item.querySelector("p").textContent.trim()}`);
      return element("span", marks.some((one) => one.high) ? "says high" : "says", told.join(" · "));
    }

    // ---- the box of one finding below its line

    openBox(mark) {
      this.closeBox();
      const line = this.lines.find((one) => one.marks.includes(mark));
      if (!line) return;
      const box = element("div", mark.high ? "finding-box high" : "finding-box");
      const said = element("div");
      const item = mark.item;
      said.append(element("b", "strong", item.querySelector("b").textContent), element("p", "", item.querySelector("p").textContent));
      const glyph = item.querySelector("svg");
      if (glyph) box.append(glyph.cloneNode(true));
      box.append(said);
      box.mark = mark;
      line.append(box);
    }

    closeBox() { this.mirror.querySelector(".finding-box")?.remove(); }

    // ---- places on the page

    top(at) { return this.lines[at].getBoundingClientRect().top - this.mirror.getBoundingClientRect().top; }

    // Brings a line into the window, without moving the caret.
    reveal(at) {
      const [box, line] = [this.scroll.getBoundingClientRect(), this.lines[at].getBoundingClientRect()];
      if (line.top < box.top + 24 || line.bottom > box.bottom - 48) this.scroll.scrollTop += line.top - box.top - box.height / 3;
    }

    // The line at the upper edge of the window, with how much of it is above.
    topLine() {
      const [first] = this.visible();
      const line = this.lines[first].getBoundingClientRect();
      return first + Math.max(0, this.scroll.getBoundingClientRect().top - line.top) / Math.max(1, line.height);
    }

    headings() {
      let fenced = false;
      const found = [];
      this.rows.forEach((row, at) => {
        if (/^\s{0,3}(```|~~~)/.test(row)) fenced = !fenced;
        else if (!fenced && HEADING.test(row)) found.push(at);
      });
      return found;
    }
  }

  window.TextMirror = TextMirror;
})();
