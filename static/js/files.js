// Files: the tree and its width, going to a file by its letters, and dropping files on a folder.
"use strict";
(() => {
  // ---- the tree: a click on a folder's sign, or the arrow keys, opens it in place; the name still leads to its page
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

  // ---- its width: one of the steps that the styles know, kept in this browser
  const KEY = "files.tree";
  const STEP = 32;
  const store = (step) => { try { localStorage.setItem(KEY, step); } catch { /* forbidden */ } };
  const kept = () => { try { return Number(localStorage.getItem(KEY)) || 0; } catch { return 0; } };
  const setWidth = (width) => {
    const step = Math.min(Math.max(Math.round(width / STEP), 5), 17);
    document.documentElement.dataset.tree = step;
    for (const grip of document.querySelectorAll("[data-grip]")) grip.setAttribute("aria-valuenow", step * STEP);
    return step;
  };
  if (kept()) setWidth(kept() * STEP);
  const edgesOf = (grip) => grip.closest("nav").getBoundingClientRect();
  document.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest?.("[data-grip]");
    if (!grip) return;
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    const { left } = edgesOf(grip);
    const move = (at) => store(setWidth(at.clientX - left));
    grip.addEventListener("pointermove", move);
    grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
  });
  document.addEventListener("keydown", (event) => {
    const grip = event.target.closest?.("[data-grip]");
    const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (!grip || !step) return;
    event.preventDefault();
    store(setWidth(edgesOf(grip).width + step));
  });

  // ---- going to a file: the arrow keys walk what was found, Enter opens the first
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.(".go-to");
    if (!form) return;
    const links = [...form.querySelectorAll("#found a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Enter" && at < 0 && links.length) { event.preventDefault(); links[0].click(); }
    if (event.key === "Escape" && at >= 0) form.querySelector("input").focus();
    if (!["ArrowDown", "ArrowUp"].includes(event.key) || !links.length) return;
    event.preventDefault();
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    (next < 0 ? form.querySelector("input") : links[Math.min(next, links.length - 1)]).focus();
  });

  // ---- copying a block of code, without the labels that stand for unseen characters
  for (const block of document.querySelectorAll(".md[data-copy-code] pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn small-act copy-code";
    button.textContent = block.closest(".md").dataset.copyCode;
    button.addEventListener("click", async () => {
      const code = block.querySelector("code").cloneNode(true);
      for (const label of code.querySelectorAll(".inv")) label.remove();
      await navigator.clipboard.writeText(code.textContent);
      const before = button.textContent;
      button.textContent = document.body.dataset.sayCopied;
      setTimeout(() => { button.textContent = before; }, 1500);
    });
    block.append(button);
  }

  // ---- dropping files anywhere on the page of a folder
  const upload = document.getElementById("upload");
  const hasFiles = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  if (upload) {
    document.body.dataset.drop = upload.dataset.drop;
    document.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
    document.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      document.body.classList.remove("dropping");
      if (!event.dataTransfer.files.length) return;
      upload.querySelector("input[type=file]").files = event.dataTransfer.files;
      upload.submit();
    });
  }
})();
