// Dropping files, and how much of them is sent. Without this file the form works as any other.
"use strict";
(() => {
  const form = document.querySelector("form.drop");
  if (!form) return;
  const [files, progress] = [form.elements.file, form.querySelector("progress")];
  for (const name of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.toggle("over", name === "dragover");
    });
  }
  form.addEventListener("drop", (event) => {
    files.files = event.dataTransfer.files;
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({loaded, total}) => { progress.value = loaded / total; });
    request.addEventListener("load", () => {
      if (request.status >= 400) document.body.replaceWith(new DOMParser().parseFromString(request.responseText, "text/html").body);
      else location.assign(request.responseURL);
    });
    request.addEventListener("error", () => form.submit());
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html");
    request.send(new FormData(form));
    progress.hidden = false;
  });
})();
