// The editor: indent keys, lists that go on, find and replace, Ctrl-S, and unsaved text kept in this browser.
"use strict";
(() => {
  const form = document.getElementById("editor");
  const text = document.getElementById("text");
  if (!form || !text) return;
  const first = text.value;

  // execCommand keeps the browser's own undo; where it is gone, the value is set.
  const put = (start, end, insert) => {
    text.focus();
    text.setSelectionRange(start, end);
    if (insert ? document.execCommand("insertText", false, insert) : document.execCommand("delete")) return;
    text.setRangeText(insert, start, end, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const lineStart = (at) => text.value.lastIndexOf("\n", at - 1) + 1;

  // ---- keys. Escape, then Tab, leaves the field, so nobody is caught in it.
  let leaving = false;
  text.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { leaving = true; return; }
    if (event.key === "Tab" && !leaving && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      indent(event.shiftKey);
    } else if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.isComposing && goOn()) {
      event.preventDefault();
    }
    if (event.key !== "Shift") leaving = false;
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    if (event.key.toLowerCase() === "s") { event.preventDefault(); form.requestSubmit(document.getElementById("save")); }
    if (event.key.toLowerCase() === "h" && !finder?.contains(event.target)) { event.preventDefault(); openFinder(); }
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

  function goOn() {
    const { selectionStart: start, selectionEnd: end, value } = text;
    if (start !== end) return false;
    const from = lineStart(start);
    const item = /^(\s*)([-*+]|(\d{1,9})([.)]))(\s+)(\[[ xX]\]\s+)?/.exec(value.slice(from, start));
    if (!item) return false;
    if (item[0].length === start - from && !value.slice(start).split("\n", 1)[0].trim()) {
      put(from, start, ""); // an empty item ends its list
      return true;
    }
    const mark = item[3] ? `${Number(item[3]) + 1}${item[4]}` : item[2];
    put(start, end, `\n${item[1]}${mark}${item[5]}${item[6] ? "[ ] " : ""}`);
    return true;
  }

  // ---- how large it is, at once; the exact count of tokens comes with the preview
  const size = document.getElementById("size");
  const count = () => {
    if (!size) return;
    const bytes = new TextEncoder().encode(text.value).length;
    size.textContent = `${text.value.length.toLocaleString("en")} characters, ${bytes.toLocaleString("en")} bytes`;
  };
  document.body.addEventListener("htmx:configRequest", (event) => {
    if (event.target === text) event.detail.parameters.show = document.getElementById("preview")?.dataset.show || "people";
  });

  // ---- unsaved text
  const key = `draft:${location.pathname}:${form.dataset.path}`;
  const store = {
    get: () => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } },
    set: (value) => { try { value ? localStorage.setItem(key, JSON.stringify(value)) : localStorage.removeItem(key); } catch { /* full or forbidden */ } },
  };
  const offer = document.getElementById("draft");
  const kept = store.get();
  if (offer && kept && kept.text !== first) {
    const minutes = Math.round((Date.now() - kept.at) / 60000);
    const age = minutes < 1 ? "just now" : minutes < 90 ? `${minutes} min old` : `${Math.round(minutes / 60)} h old`;
    offer.querySelector("[data-when]").textContent = `${age}, made on revision ${kept.base}`;
    offer.hidden = false;
    offer.addEventListener("click", (event) => {
      const what = event.target.closest("[data-draft]")?.dataset.draft;
      if (!what) return;
      if (what === "take") put(0, text.value.length, kept.text); else store.set(null);
      offer.hidden = true;
    });
  }
  let timer = 0;
  text.addEventListener("input", () => {
    count();
    clearTimeout(timer);
    timer = setTimeout(() => store.set(text.value === first ? null : { text: text.value, at: Date.now(), base: form.dataset.base }), 300);
  });
  // What was sent is kept until a page shows that it was saved: a refusal or a lost connection brings this page again.
  form.addEventListener("submit", () => {
    clearTimeout(timer);
    if (text.value !== first) store.set({ text: text.value, at: Date.now(), base: form.dataset.base });
    try { sessionStorage.setItem("sent", key); } catch { /* forbidden */ }
  });
  count();

  // ---- find and replace
  const finder = document.getElementById("find");
  const needle = document.getElementById("needle");
  const instead = document.getElementById("instead");
  const hits = document.getElementById("hits");
  const opener = document.querySelector("[data-find]");
  if (opener) { opener.hidden = false; opener.addEventListener("click", () => (finder.hidden ? openFinder() : close())); }
  function openFinder() {
    if (!finder) return;
    finder.hidden = false;
    const chosen = text.value.slice(text.selectionStart, text.selectionEnd);
    if (chosen && !chosen.includes("\n")) needle.value = chosen;
    needle.focus();
    tell();
  }
  function close() { finder.hidden = true; text.focus(); }
  const tell = () => { hits.textContent = needle.value ? `${text.value.split(needle.value).length - 1} found` : ""; };
  function next() {
    if (!needle.value) return false;
    let at = text.value.indexOf(needle.value, text.selectionEnd);
    if (at < 0) at = text.value.indexOf(needle.value);
    if (at < 0) { tell(); return false; }
    text.focus();
    text.setSelectionRange(at, at + needle.value.length);
    return true;
  }
  finder?.addEventListener("input", tell);
  finder?.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter") { event.preventDefault(); next(); }
  });
  finder?.addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]")?.dataset.step;
    if (!step || !needle.value) return;
    if (step === "one") {
      const { selectionStart: start, selectionEnd: end } = text;
      if (text.value.slice(start, end) === needle.value) put(start, end, instead.value);
      next();
    } else if (step === "all") {
      if (text.value.includes(needle.value)) put(0, text.value.length, text.value.split(needle.value).join(instead.value));
    } else next();
    tell();
  });
})();
