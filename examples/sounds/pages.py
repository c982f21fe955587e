"""What people see of the sounds: a board that follows them, a player for each, and a place to drop new ones."""

from hashlib import sha256
from typing import Any

from starlette.responses import Response

from headrace.errors import ValueRefused
from headrace.pages import Page, Pages, Upload

from .pipeline import Library, sounds

pages = Pages(__name__, title="Sounds")

LARGEST = 64 * 1024 * 1024


@pages.get("/", title="Board")
async def board(page: Page, text: str = "") -> Response:
    found = [job for job in await page.app.jobs(sounds) if text.lower() in str(job.data["name"]).lower()]
    return await page.show("board.html", live="sound.#", sounds=found, text=text)


@pages.post("/add", most=LARGEST)
async def add(page: Page) -> Response:
    async with page.form() as form:
        chosen = form.uploads("file")
        if not chosen:
            raise ValueRefused("no file was chosen; choose or drop one or more WAV files")
        for upload in chosen:
            await _take(page, upload)
    return page.to("/")


async def _take(page: Page, upload: Upload) -> None:
    digest = sha256()  # the same sound is kept and measured once, however often it is dropped
    async for part in upload.chunks():
        digest.update(part)
    sound = digest.hexdigest()[:16]
    await upload.save(page.use(Library).file(sound))
    await page.app.publish(
        "sound.added", {"name": upload.name, "size": upload.size}, subject=sound, id=f"added-{sound}"
    )


@pages.get("/play/{sound}")
async def play(page: Page, sound: str) -> Response:
    return page.file(page.use(Library).file(sound), media_type="audio/wav")


@pages.get("/about/{sound}")
async def about(page: Page, sound: str) -> dict[str, Any]:
    """Values become JSON, for scripts of the page."""
    return (await page.app.job(sounds, sound)).data
