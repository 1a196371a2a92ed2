// The queue by keyboard: x selects the current row, d goes to the reasons first. All of it also works as links and buttons.
"use strict";
(() => {
  const typing = (target) => target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select");
  const current = () => document.querySelector(".q-rows [aria-current]");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "x") {
      const tick = current()?.querySelector("input[name=pick]");
      if (tick) { event.preventDefault(); tick.click(); }
    }
    const form = document.querySelector("[data-discard]");
    if (event.key === "d" && form && !form.querySelector("input[name=why]:checked") && !form.elements.reason.value.trim()) {
      event.preventDefault();
      event.stopPropagation();
      form.querySelector("input[name=why]").focus();
      form.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "Enter" && event.target.matches?.("[data-discard] input[name=why]")) {
      event.preventDefault();
      event.target.checked = true;
      form.requestSubmit();
    }
    if (event.key === "Escape") clear();
  }, true);

  function clear() {
    document.querySelectorAll(".q-list [name=pick]:checked").forEach((tick) => { tick.checked = false; });
  }

  // ---- how many are selected ----
  document.addEventListener("change", (event) => {
    const list = event.target.closest(".q-list");
    const says = list?.querySelector("[data-selected]");
    if (!says) return;
    says.dataset.word ??= says.textContent;
    says.textContent = `${says.dataset.word} ${list.querySelectorAll("[name=pick]:checked").length}`;
  });

  // ---- the next record beside the list, as a click on its row: what is ticked stays. At the end of the list it is a link. ----
  document.addEventListener("click", (event) => {
    const step = event.target.closest("#record a:is([data-key=j], [data-key=k])");
    if (!step || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const rows = [...document.querySelectorAll(".q-rows [data-record]")];
    const at = rows.indexOf(current());
    const next = at < 0 ? null : rows[at + (step.dataset.key === "j" ? 1 : -1)];
    if (!next?.checkVisibility()) return;
    event.preventDefault();
    rows[at].removeAttribute("aria-current");
    next.setAttribute("aria-current", "true"); // the next key counts from here
    next.querySelector("[data-open]").click();
  });

  // ---- the row of the record that is shown, also where only the record was renewed ----
  let asked = null; // the record asked for last: until it is there, the answer for an earlier one moves nothing
  document.addEventListener("click", (event) => {
    const row = event.target.closest(".q-rows [data-open]")?.closest("[data-record]");
    if (row && !event.ctrlKey && !event.metaKey && !event.shiftKey) asked = row.dataset.record;
  });

  function follow() {
    const shown = document.querySelector("#record")?.dataset.shown;
    if (asked && asked !== shown) return;
    asked = null;
    document.querySelectorAll(".q-rows [data-record]").forEach((row) => {
      if (row.dataset.record === shown) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
    });
    const list = document.querySelector(".q-list");
    const row = current();
    if (!list || !row || list.scrollHeight <= list.clientHeight) return;
    const [here, seen] = [row.getBoundingClientRect(), list.getBoundingClientRect()];
    if (here.top < seen.top + 40 || here.bottom > seen.bottom) list.scrollTop += here.top - seen.top - 80;
  }
  document.addEventListener("htmx:afterSwap", follow);
  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, () => { asked = null; follow(); });
  }
  document.addEventListener("DOMContentLoaded", follow);
})();
