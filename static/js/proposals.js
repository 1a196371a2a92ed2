// The inbox and the review page by keyboard: everything here also works as plain links, ticks and buttons.
"use strict";
(() => {
  const typing = (target) => target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select");

  // ---- review: the first `r` goes to the reasons, with one chosen it rejects ----
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const form = document.querySelector("[data-reasons]");
    if (event.key === "r" && form && !form.querySelector("input[name=why]:checked") && !form.elements.note.value.trim()) {
      event.preventDefault();
      form.querySelector("input[name=why]").focus();
      form.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "Enter" && event.target.matches?.("[data-reasons] input[name=why]")) {
      event.preventDefault();
      event.target.checked = true;
      form.querySelector("button[value=reject]").click();
    }
  }, true);

  // ---- review: with scripts the box follows the ticks, so that it asks for a look only where one is due ----
  const require = () => document.querySelectorAll("input[data-required]").forEach((tick) => { tick.required = true; });
  document.addEventListener("htmx:load", require);
  require();

  // ---- with edits: from within the text or the note, without a way through the page ----
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.target.form?.id !== "decide-form") return;
    const button = document.querySelector("#decide-form button[value=edited]");
    if (button) { event.preventDefault(); button.click(); }
  });

  // ---- inbox: a and r act on the current row when none is ticked, e opens it with its text to edit ----
  const current = () => document.querySelector("[data-walk] [data-row][aria-current]");
  const ticked = () => document.querySelectorAll("[data-walk] input[name=n]:checked");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !document.querySelector("[data-bulk]")) return;
    if (["a", "r"].includes(event.key) && !ticked().length) {
      const tick = current()?.querySelector("input[name=n]");
      if (tick) { tick.checked = true; tell(); } else { event.preventDefault(); event.stopPropagation(); }
    }
    if (event.key === "e") {
      const link = current()?.querySelector("a[data-open]");
      if (link) { event.preventDefault(); event.stopPropagation(); location.href = `${link.href}?edit=1`; }
    }
    if (event.key === "Escape") clear();
  }, true);

  function clear() {
    ticked().forEach((tick) => { tick.checked = false; });
    tell();
  }
  document.addEventListener("click", (event) => { if (event.target.closest?.("[data-clear]")) clear(); });

  function tell() {
    const bar = document.querySelector("[data-bulk]");
    if (!bar) return;
    const count = ticked().length;
    const [says, sum] = [bar.querySelector("[data-count]"), bar.querySelector("[data-sum]")];
    sum.dataset.empty ??= sum.textContent;
    const withCount = (part) => { part.dataset.none ??= part.textContent; return count ? part.dataset.some.replace("{n}", count) : part.dataset.none; };
    says.textContent = withCount(says);
    if (count) sum.dispatchEvent(new Event("picked")); else sum.textContent = sum.dataset.empty;
    bar.querySelectorAll("[data-verb]").forEach((verb) => {
      verb.textContent = withCount(verb);
      verb.closest("button").disabled = false;
    });
    bar.querySelector("[data-clear]").hidden = !count;
    bar.classList.toggle("some", count > 0);
  }
  // The button counts what it would approve: some of the ticked ones have to be decided by themselves.
  function tellFit(sum) {
    const [fit, verb] = [sum.querySelector("[data-fit]"), document.querySelector("[data-approves]")];
    if (!fit || !verb) return;
    verb.textContent = verb.dataset.some.replace("{n}", fit.dataset.fit);
    verb.closest("button").disabled = fit.dataset.fit === "0";
  }
  document.addEventListener("change", (event) => { if (event.target.matches("input[name=n]")) tell(); });
  document.addEventListener("DOMContentLoaded", tell);
  document.body?.addEventListener("htmx:afterSwap", (event) => {
    const isSum = event.detail.target?.matches?.("[data-sum]"); // its own answer asks for nothing more
    if (!isSum || !ticked().length) tell(); else tellFit(event.detail.target);
  });
})();
