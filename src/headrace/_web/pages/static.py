"""Style, script and type: files of the package, which a browser may keep for ever, because another content has another address."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib import resources

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import Response

from headrace._web.demand import demands

router = APIRouter()

_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}
# htmx looks through a page as soon as it can, and must know its extension by then; two files may come with a pause between them.
_JOINED = {"htmx.js": ("htmx.min.js", "hx-sse.min.js")}


# The login is drawn with them too, and nothing in them is anybody's secret.
@router.get("/static/{digest}/{name}")
@demands(public=True)
async def static_file(digest: str, name: str) -> Response:
    found = _files().get(name)
    if found is None:
        raise HTTPException(404, "there is no such file")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(found, media_type=_KINDS[name.rpartition(".")[2]], headers=headers)


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files("headrace._web").joinpath("static")
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _KINDS}
    return found | {name: b";\n".join(found[part] for part in parts) for name, parts in _JOINED.items()}


@cache
def _digest() -> str:
    """Of all files together: the style sheet names the type beside it."""
    together = sha256()
    for name, content in sorted(_files().items()):
        together.update(name.encode() + content)
    return together.hexdigest()[:12]


def file_link(name: str) -> str:
    return f"/static/{_digest()}/{name}"
