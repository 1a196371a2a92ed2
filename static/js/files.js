// The tree: a click on a folder's sign, or the arrow keys, opens it in place; the name still leads to its page.
"use strict";
(() => {
  const unfold = (link, open) => {
    const list = link.nextElementSibling;
    if (!list) return;
    if (open && !list.childElementCount) window.htmx?.trigger(link, "unfold");
    list.hidden = !open;
    link.setAttribute("aria-expanded", String(open));
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-unfold] .g")?.closest("[data-unfold]");
    if (!link) return;
    event.preventDefault();
    unfold(link, link.nextElementSibling.hidden);
  });
  document.addEventListener("keydown", (event) => {
    const link = event.target.closest?.("[data-unfold]");
    if (!link || !["ArrowRight", "ArrowLeft"].includes(event.key)) return;
    event.preventDefault();
    unfold(link, event.key === "ArrowRight");
  });
})();
