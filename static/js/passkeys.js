// Asks the browser for a passkey and sends what it says with the form. Forms stay hidden where the browser knows none.
(() => {
  "use strict";
  if (!window.PublicKeyCredential || !window.webauthnJSON) return;

  const answer = async (form) => {
    const asked = await fetch(form.dataset.options, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    if (!asked.ok || asked.redirected) throw new Error("no question");
    const options = await asked.json();
    return form.dataset.passkey === "create" ? window.webauthnJSON.create(options) : window.webauthnJSON.get(options);
  };

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const problem = form.querySelector("[role=alert]");
      problem.hidden = true;
      try {
        form.elements.credential.value = JSON.stringify(await answer(form));
        form.submit();
      } catch {
        problem.hidden = false;
      }
    });
  }
})();
