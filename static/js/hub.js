// The frame's own script: keys that go places, lists that are walked, parts that renew themselves, small comforts.
"use strict";
(() => {
  const typing = (target) => target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  const busy = () => document.querySelector("dialog[open]");

  // ---- keys: `g` then a letter goes places (data-go), data-key names the single key of a link or button ----
  let going = 0;
  const byKey = (key) => {
    const all = [...document.querySelectorAll("[data-key]")].filter((el) => el.dataset.key === key && !el.disabled);
    return all.find((el) => el.offsetParent !== null) || all[0];
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      const search = byKey("/");
      if (search) { event.preventDefault(); search.click(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target) || busy()) return;
    if (event.key === "g" && Date.now() - going > 1500) { going = Date.now(); return; }
    if (Date.now() - going < 1500) {
      going = 0;
      const place = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (place) { event.preventDefault(); place.click(); }
      return;
    }
    if (walk(event)) { event.preventDefault(); return; }
    const target = byKey(event.key);
    if (!target) return;
    event.preventDefault();
    if (target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select")) target.focus();
    else target.click();
  });

  // ---- lists: j and k move the current row, Enter opens it, x ticks it ----
  function walk(event) {
    const list = document.querySelector("[data-walk]");
    if (!list || !["j", "k", "Enter", "x"].includes(event.key)) return false;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return false;
    const rows = [...list.querySelectorAll("[data-row]")];
    // Rows that are longer than the window (data-walk="start") are walked from the one that is being read.
    const reads = list.dataset.walk === "start";
    const at = reads ? rows.findLastIndex((row) => row.getBoundingClientRect().top < 72) : rows.findIndex((row) => row.hasAttribute("aria-current"));
    if (event.key === "j" || event.key === "k") {
      const back = reads && rows[at]?.getBoundingClientRect().top < 0 ? 0 : -1;
      const next = rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : back)))];
      if (!next || (reads && event.key === "j" && next === rows[at])) return false;
      rows.forEach((row) => row.removeAttribute("aria-current"));
      next.setAttribute("aria-current", "true");
      next.scrollIntoView({ block: reads ? "start" : "nearest" });
      return true;
    }
    if (at < 0) return false;
    const part = rows[at].querySelector(event.key === "x" ? "input[type=checkbox]" : "a[data-open], a.title, a");
    if (part) part.click();
    return Boolean(part);
  }

  // ---- what renews itself: data-renew="seconds" fires the element's htmx trigger "renew", never while the tab is hidden ----
  const asked = new WeakMap();
  const isWritten = (part) => [...part.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue);
  setInterval(() => {
    if (document.hidden) return;
    for (const part of document.querySelectorAll("[data-renew]")) {
      if (!asked.has(part)) asked.set(part, Date.now());
      if (Date.now() < asked.get(part) + Number(part.dataset.renew) * 1000) continue;
      if (part.contains(document.activeElement) || part.querySelector("details[open], input:checked") || isWritten(part)) continue;
      asked.set(part, Date.now());
      window.htmx?.trigger(part, "renew");
    }
  }, 1000);

  // The server writes times in the reader's own zone once it knows which that is.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const told = `memoryhub_zone=${encodeURIComponent(zone)}`;
  if (zone && !document.cookie.split("; ").includes(told)) {
    document.cookie = `${told}; path=/; max-age=31536000; samesite=lax`;
  }

  // ---- small comforts ----
  const closeMenus = (but) => {
    for (const menu of document.querySelectorAll("details.space[open]")) if (!but || !menu.contains(but)) menu.open = false;
  };
  document.addEventListener("click", async (event) => {
    closeMenus(event.target);
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    const source = copy.dataset.copy ? document.querySelector(copy.dataset.copy) : copy.previousElementSibling;
    await navigator.clipboard.writeText(source.dataset.raw ?? source.value ?? source.textContent);
    const label = copy.querySelector("[data-label]") || copy;
    const before = label.textContent;
    label.textContent = "Copied";
    setTimeout(() => { label.textContent = before; }, 1500);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeMenus(); });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });
  // Asks before what cannot be undone; without this script the page behind the button asks the same.
  document.addEventListener("submit", (event) => {
    const sentence = event.submitter?.dataset.confirm || event.target.dataset.confirm;
    if (sentence && !window.confirm(sentence)) { event.preventDefault(); event.stopPropagation(); }
  }, true);
})();
