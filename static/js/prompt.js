// The preview: changing a choice goes there, copying fetches the exact bytes, a click on a line's number asks where it came from.
"use strict";
(() => {
  document.addEventListener("change", (event) => {
    if (event.target.closest("[data-prompt-form] select")) event.target.form.requestSubmit();
  });

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy-from]");
    if (copy && navigator.clipboard) {
      event.preventDefault();
      const answer = await fetch(copy.href);
      // Not text(): that would swallow a byte order mark.
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await answer.arrayBuffer());
      await navigator.clipboard.writeText(text);
      const label = copy.querySelector("[data-label]") || copy;
      const before = label.textContent;
      label.textContent = document.body.dataset.sayCopied;
      setTimeout(() => { label.textContent = before; }, 1500);
      return;
    }
    const close = event.target.closest("[data-origin-close]");
    if (close) {
      event.preventDefault();
      close.closest(".origin").remove();
      remember("");
      return;
    }
    const line = event.target.closest(".stretch pre > span[data-n]");
    if (line && event.clientX - line.getBoundingClientRect().left <= 48) ask(line);
  });

  // The answer stands under the line, so that a long prompt keeps its place on the screen.
  async function ask(line) {
    const at = new URL(line.closest("[data-line-at]").dataset.lineAt, location.href);
    at.searchParams.set("line", line.dataset.n);
    document.getElementById("origin")?.remove();
    await htmx.ajax("GET", at.pathname + at.search, { source: line, target: line, swap: "afterend" });
    document.getElementById("origin")?.scrollIntoView({ block: "nearest" });
    remember(line.dataset.n);
  }

  function remember(line) {
    const here = new URL(location.href);
    if (line) here.searchParams.set("line", line);
    else here.searchParams.delete("line");
    here.hash = line ? "origin" : "";
    history.replaceState(history.state, "", here);
  }

  // By keyboard: the number in the field, Enter.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".where")) return;
    const line = document.getElementById(`L${Number(event.target.elements.line.value)}`);
    if (!line) return;
    event.preventDefault();
    const folded = line.closest("details");
    if (folded) folded.open = true;
    line.scrollIntoView({ block: "center" });
    ask(line).then(() => document.getElementById("origin")?.focus());
  });
})();
