// The inbox and the review page by keyboard: everything here also works as plain links, ticks and buttons.
"use strict";
(() => {
  const typing = (target) => target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select");

  // ---- review: the first `r` goes to the reasons, with one chosen it rejects ----
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const form = document.getElementById("reject-form");
    if (event.key === "r" && form && !form.querySelector("input[name=why]:checked") && !form.elements.note.value.trim()) {
      event.preventDefault();
      form.querySelector("input[name=why]").focus();
      form.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "Enter" && event.target.matches?.("#reject-form input[name=why]")) {
      event.preventDefault();
      event.target.checked = true;
      form.querySelector("button[value=reject]").click();
    }
  }, true);

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
    if (event.key === "Escape") { ticked().forEach((tick) => { tick.checked = false; }); tell(); }
  }, true);

  function tell() {
    const bar = document.querySelector("[data-bulk]");
    if (!bar) return;
    const count = ticked().length;
    const says = bar.querySelector("[data-count]");
    says.querySelector("b").textContent = count ? `${count} selected` : "Select some";
    bar.classList.toggle("some", count > 0);
  }
  document.addEventListener("change", (event) => { if (event.target.matches("input[name=n]")) tell(); });
  document.addEventListener("DOMContentLoaded", tell);
  document.body?.addEventListener("htmx:afterSwap", tell);
})();
