// The frame's own script: keys that go places, lists that are walked, parts that renew themselves, small comforts.
"use strict";
(() => {
  const typing = (target) => target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  const say = document.body.dataset; // the words of this script, in the language of the page
  const busy = () => document.querySelector("dialog[open]");

  // ---- keys: `g` then a letter goes places (data-go), data-key names the single key of a link or button ----
  let going = 0;
  const byKey = (key) => {
    const all = [...document.querySelectorAll("[data-key]")].filter((el) => el.dataset.key === key && !el.disabled);
    return all.find((el) => el.offsetParent !== null) || all[0];
  };

  // Beside reasons to choose from a letter begins one in own words: `a` of "already known" must not approve.
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("[data-reasons], [data-discard]");
    if (!form || !event.target.matches("input[name=why]") || event.key.length > 1 || event.key === " ") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = form.querySelector("[data-key]")?.dataset.key;
    if (event.key === key && form.querySelector("input[name=why]:checked")) return;
    event.stopImmediatePropagation();
    form.querySelector("input:not([type])").focus();
  }, true);

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

  // ---- the palette: its script is fetched when somebody first asks for it; without scripts the link leads to search ----
  const search = document.querySelector("[data-palette]");
  document.addEventListener("click", (event) => {
    if (!search || !event.target.closest?.("[data-palette], [data-opens-palette]")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const nav = document.querySelector(".side:popover-open");
    if (nav) nav.hidePopover();
    // What is typed before it is there is kept for it.
    const early = [];
    const keep = (key) => {
      if (key.ctrlKey || key.metaKey || key.altKey || (key.key.length > 1 && !["Enter", "Backspace"].includes(key.key))) return;
      early.push(key.key);
      key.preventDefault();
      key.stopPropagation();
    };
    document.addEventListener("keydown", keep, true);
    import(search.dataset.paletteScript)
      .then((palette) => palette.open(search, early), () => { location.href = search.href; })
      .finally(() => document.removeEventListener("keydown", keep, true));
  });
  if (search) {
    try {
      const { recentKey } = search.dataset, before = JSON.parse(localStorage.getItem(recentKey) || "[]");
      const now = [location.pathname, ...before.filter((path) => path !== location.pathname)].slice(0, 12);
      localStorage.setItem(recentKey, JSON.stringify(now));
    } catch {
      // Without storage nothing is recent.
    }
  }

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
    for (const menu of document.querySelectorAll("details:is(.space, .menu)[open]")) {
      if (but && menu.contains(but)) continue;
      if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
      menu.open = false;
    }
  };
  document.addEventListener("click", async (event) => {
    closeMenus(event.target);
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    const source = copy.dataset.copy ? document.querySelector(copy.dataset.copy) : copy.previousElementSibling;
    await navigator.clipboard.writeText(source.dataset.raw ?? source.value ?? source.textContent);
    const label = copy.querySelector("[data-label]") || copy;
    const before = label.textContent;
    label.textContent = say.sayCopied;
    setTimeout(() => { label.textContent = before; }, 1500);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeMenus(); });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });

  // ---- notices: they go when dismissed; those that lead nowhere go by themselves, unless one is on them ----
  const SHOWN = 8000;
  const leave = (toast) => setTimeout(() => {
    if (toast.matches(":hover, :focus-within")) leave(toast); else toast.remove();
  }, SHOWN);
  const noticed = () => document.querySelectorAll('[data-toast=""]').forEach((toast) => { toast.dataset.toast = "seen"; leave(toast); });
  noticed();
  // After a save one goes on from its notice, not from the top of the page; a field that asks for the focus has it before.
  requestAnimationFrame(() => {
    // A path to complete, words to search for again: one goes on at their end.
    const begun = document.activeElement;
    if (begun?.matches("input[autofocus]:is([type=text], [type=search], :not([type]))")) begun.setSelectionRange(begun.value.length, begun.value.length);
    const notices = document.getElementById("notices");
    if (notices?.children.length && document.activeElement === document.body) notices.focus({ preventScroll: true });
  });
  document.addEventListener("htmx:load", noticed);
  document.addEventListener("click", (event) => event.target.closest?.("[data-dismiss]")?.closest("[data-toast]").remove());

  // ---- questions: data-confirm asks before what cannot be undone; without this script the page behind asks the same ----
  const element = (name, css, text = "") => Object.assign(document.createElement(name), { className: css, textContent: text });
  function ask(sentence, yes, then) {
    const [dialog, form, says, actions] = [element("dialog", "ask"), element("form", ""), element("p", "", sentence), element("p", "actions")];
    says.id = "ask-says";
    dialog.setAttribute("aria-labelledby", says.id);
    form.method = "dialog";
    actions.append(element("button", "btn", say.sayCancel), Object.assign(element("button", "btn main-act", yes), { value: "yes" }));
    form.append(says, actions);
    dialog.append(form);
    dialog.addEventListener("close", () => { dialog.remove(); if (dialog.returnValue === "yes") then(); });
    document.body.append(dialog);
    dialog.showModal();
  }
  let agreed = null;
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    const sentence = submitter?.dataset.confirm || form.dataset.confirm;
    if (!sentence || agreed === form) { agreed = null; return; }
    event.preventDefault();
    event.stopPropagation();
    const label = (submitter?.ariaLabel || submitter?.textContent || "OK").trim();
    ask(sentence, label, () => { agreed = form; form.requestSubmit(submitter); });
  }, true);

  // ---- fields: what is missing is said beside the field, in the look of the page ----
  const reason = (field) => {
    if (!field.validity.valueMissing) return field.validationMessage;
    return { checkbox: say.sayTick, radio: say.sayChoose }[field.type] || say.sayMissing;
  };
  const messageOf = (field) => (field.id || field.name) && document.getElementById(`wrong-${field.id || field.name}`);
  document.addEventListener("invalid", (event) => {
    const field = event.target;
    event.preventDefault();
    field.closest("details:not([open])")?.setAttribute("open", "");
    const first = [...field.form.elements].find((one) => one.willValidate && !one.validity.valid);
    if (first === field) { field.focus(); field.scrollIntoView({ block: "nearest" }); }
    if (messageOf(field)) return;
    const says = element("p", "wrong-here", reason(field));
    says.id = `wrong-${field.id || field.name}`;
    says.setAttribute("role", "alert");
    (field.closest("label, .chips") || field).after(says);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") || ""} ${says.id}`.trim());
  }, true);
  document.addEventListener("input", ({ target: field }) => {
    if (field.getAttribute?.("aria-invalid") !== "true" || !messageOf(field) || !field.validity.valid) return;
    messageOf(field).remove();
    field.removeAttribute("aria-invalid");
  });
  // What the hub refused is where one goes on, unless one is somewhere else already.
  document.addEventListener("htmx:load", () => {
    if (document.activeElement === document.body) document.querySelector("main [aria-invalid=true]")?.focus();
  });
})();
