// What is dropped or chosen: a subtitle goes into the form that sends it, of a video only name and size are looked at.
// Without this file both forms work as any others.
"use strict";
(() => {
  const place = document.querySelector(".ask");
  if (!place) return;
  const [forVideo, forSubtitle] = ["video", "subtitle"].map((name) => place.querySelector(`form[data-for=${name}]`));
  const local = place.querySelector("#ask-local");
  const ending = (name) => name.slice(name.lastIndexOf(".")).toLowerCase();
  const subtitles = place.dataset.subtitles.split(",");
  const videos = place.dataset.videos.split(" ");
  for (const part of place.querySelectorAll(".by-script")) part.hidden = false;

  function say(form, text) {
    form.querySelector("[data-note]").textContent = text;
  }
  function takeSubtitle(file) {
    const said = file.name.match(/\.([a-z]{2,3}(?:-[a-z0-9]{2,8})?)(?:\.(?:hi|sdh|cc|forced|default))*\.[a-z]+$/i);
    if (said) forSubtitle.elements.source.value = said[1];
    say(forSubtitle, `${file.name} is sent when you press Translate.`);
    (forSubtitle.elements.target.value ? forSubtitle.querySelector("button") : forSubtitle.elements.target).focus();
  }
  async function takeVideo(file) {
    say(forVideo, `Looking for ${file.name} in the library …`);
    const answer = await fetch(`${place.dataset.find}?${new URLSearchParams({name: file.name, size: file.size})}`);
    if (!answer.ok) return say(forVideo, `${file.name} could not be looked for; give its address instead.`);
    const found = await answer.json();
    forVideo.elements.url.value = found.url;
    forVideo.elements.title.value = found.title;
    say(forVideo, found.in_library
      ? `${file.name} lies in the library, so its subtitle will lie beside it.`
      : `${file.name} is not in the library. It stays with you and is searched by its name alone; the subtitle is offered for download.`);
    forVideo.elements.language.focus();
  }
  function take(file) {
    if (subtitles.includes(ending(file.name))) takeSubtitle(file);
    else if (videos.includes(ending(file.name)) || file.type.startsWith("video/")) takeVideo(file);
    else say(forVideo, `${file.name} is neither a video nor a subtitle.`);
  }

  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    place.addEventListener(name, (event) => {
      event.preventDefault();
      place.classList.toggle("over", name === "dragover" || name === "dragenter");
    });
  }
  place.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    if (subtitles.includes(ending(file.name))) forSubtitle.elements.file.files = event.dataTransfer.files;
    take(file);
  });
  local.addEventListener("change", () => local.files[0] && take(local.files[0]));
  forSubtitle.elements.file.addEventListener("change", (event) => event.target.files[0] && takeSubtitle(event.target.files[0]));
})();
