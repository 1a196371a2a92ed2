// The preview: changing the agent goes there, copying fetches the exact bytes, a click on a line's number asks where it came from.
"use strict";
(() => {
  document.addEventListener("change", (event) => {
    const agent = event.target.closest("[data-prompt-agent]");
    if (agent) location.assign(agent.value + location.search);
    else if (event.target.closest("[data-prompt-form] select")) event.target.form.requestSubmit();
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
      label.textContent = "Copied";
      setTimeout(() => { label.textContent = before; }, 1500);
      return;
    }
    const line = event.target.closest(".stretch pre > span[data-n]");
    if (!line || event.clientX - line.getBoundingClientRect().left > 48) return;
    const here = new URL(location.href);
    here.searchParams.set("line", line.dataset.n);
    here.hash = "prompt";
    location.assign(here);
  });
})();
