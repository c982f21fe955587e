"""The server: everything that OpenSubtitles offers to a client like ours, and everything that goes wrong with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

import headrace
from headrace_pipelines.services.clock import Clock, LoopClock, wait
from headrace_pipelines.services.stand_in_server import StandInServer
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import dialogue
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.catalogue import Feature, Offered, found
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.limits import Day, Window
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.trouble import (
    Ahead,
    FileTrouble,
    Trouble,
    Troubles,
)
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.wire import (
    canonical_query,
    is_canonical,
    message,
    refusal_of_headers,
    refusal_of_query,
)

BASE = "/api/v1"
KEY = "stand-in-key"
USERNAME = "demo"
PASSWORD = "demo"  # pragma: allowlist secret

_ANONYMOUS_A_DAY = 5
_LINK_VALID = timedelta(hours=3)
_ADVERT = (
    b"1\n00:00:00,000 --> 04:00:00,000\nSupport us and become VIP member\nto remove all ads from www.OpenSubtitles.org\n"
)[:104]
_PAGE = "<!DOCTYPE html>\n<html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What was asked, when, and what the answer was."""

    at: float
    method: str
    path: str
    """Without what all begin with."""
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    file_id: int
    until: datetime


class LocalSubtitles(StandInServer):
    """OpenSubtitles on this machine. Its account is ``demo`` with the password ``demo``, its key ``stand-in-key``."""

    def __init__(
        self,
        offered: Iterable[Offered] = (),
        *,
        allowed: int = 20,
        clock: Clock | None = None,
        now: Callable[[], datetime] = headrace.now,
    ) -> None:
        """``allowed`` is how many downloads its account has a day."""
        self._clock = clock or LoopClock()
        self._now = now
        self.offered = list(offered)
        self.answered: list[Answered] = []
        self.per_second = Window(self._clock, 5, 1.0)
        self.page_size = 50
        self._logins = (Window(self._clock, 1, 1.0), Window(self._clock, 60, 3600.0))
        self._day = Day(allowed, now)
        self._anonymous = Day(_ANONYMOUS_A_DAY, now)
        self._troubles = Troubles()
        self._tokens: dict[str, datetime] = {}
        self._token_lasts = timedelta(hours=24)
        self._links: dict[str, _Given] = {}
        self._numbers = count(1)
        self._latency = 0.0
        self._key_refused = False
        self._password_refused = False
        super().__init__(
            "OpenSubtitles",
            [
                ("POST", f"{BASE}/login", self._api(self._login)),
                ("DELETE", f"{BASE}/logout", self._api(self._logout)),
                ("GET", f"{BASE}/infos/user", self._api(self._user)),
                ("GET", f"{BASE}/infos/languages", self._api(self._languages)),
                ("GET", f"{BASE}/infos/formats", self._api(self._formats)),
                ("GET", f"{BASE}/features", self._api(self._features)),
                ("GET", f"{BASE}/subtitles", self._api(self._search)),
                ("POST", f"{BASE}/download", self._api(self._download)),
                ("GET", "/download/{link}/{name}", self._file),
            ],
        )

    @property
    def api(self) -> str:
        """Where clients ask."""
        return self.url + BASE

    # --- the story

    def offers(self, *offered: Offered) -> None:
        self.offered += offered

    def has_left(self, downloads: int, *, resets_at: datetime | None = None) -> None:
        self._day.has_left(downloads, resets_at)

    def tokens_last(self, duration: timedelta) -> None:
        self._token_lasts = duration

    def tokens_expire(self) -> None:
        """All that were given so far."""
        self._tokens.clear()

    def links_expire(self) -> None:
        """All that were given so far."""
        self._links = {name: replace(link, until=self._now()) for name, link in self._links.items()}

    def refuses_the_key(self) -> None:
        self._key_refused = True

    def refuses_the_password(self) -> None:
        self._password_refused = True

    def fails(self, *, times: int = 1, status: int = 503, at: str = "") -> None:
        self._troubles.add(times, Ahead(trouble=Trouble.STATUS, at=at, status=status))

    def answers_a_web_page(self, *, times: int = 1, at: str = "", status: int = 200) -> None:
        self._troubles.add(times, Ahead(trouble=Trouble.HTML, at=at, status=status))

    def asks_for_patience(self, *, seconds: int, times: int = 1, at: str = "") -> None:
        self._troubles.add(times, Ahead(trouble=Trouble.PATIENCE, at=at, seconds=seconds))

    def says_used_up(self, *, with_left: int, times: int = 1) -> None:
        """Refuse a download although some are left, as it was seen to."""
        self._troubles.add(times, Ahead(trouble=Trouble.USED_UP_WITH_SOME_LEFT, at="/download", remaining=with_left))

    def is_slow(self, latency: timedelta) -> None:
        self._latency = latency.total_seconds()

    def spoils(self, file_id: int, trouble: FileTrouble, *, times: int | None = None) -> None:
        """What comes at the end of its links is no subtitle; ``None``: for ever."""
        self._troubles.spoil(file_id, trouble, times)

    def writes(self, file_id: int, encoding: str) -> None:
        """Give this file in another encoding and with the line ends of Windows."""
        self.offered = [
            replace(one, content=one.content.decode().replace("\n", "\r\n").encode(encoding))
            if one.file_id == file_id
            else one
            for one in self.offered
        ]

    def has_a_library_of(self, titles: int, *, each: int = 1, language: str = "en") -> None:
        """Very many subtitles, as a large library asks for all of them at once."""
        content = dialogue.srt("a library", language, 20)
        self.offered += [
            Offered(
                file_id=5_000_000 + title * each + number,
                feature=Feature(id=500_000 + title, title=f"Volume {title:05d}", year=2000, imdb_id=8_000_000 + title),
                language=language,
                release=f"Volume.{title:05d}.2000.1080p.WEB.H264-SHELF{number}",
                content=content,
            )
            for title in range(titles)
            for number in range(each)
        ]

    def count(self, path: str, status: int | None = None) -> int:
        """How often this was asked, and answered so."""
        return sum(one.path == path and status in {None, one.status} for one in self.answered)

    # --- the interface

    def _api(self, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            path = request.url.path.removeprefix(BASE)
            within = self.per_second.take()
            await wait(self._clock, self._latency)
            response = self._refusal(request, path, within=within) or await handler(request)
            self._count(response)
            self.answered.append(
                Answered(at=self._clock.monotonic(), method=request.method, path=path, status=response.status_code)
            )
            return response

        return answer

    def _refusal(self, request: Request, path: str, *, within: bool) -> Response | None:
        key = "" if self._key_refused else KEY
        if refusal := refusal_of_headers(request, key):
            return refusal
        if not within:
            return self._too_many(self.per_second.reset)
        ahead = self._troubles.next_for(path)
        return self._wrong(ahead) if ahead else None

    def _wrong(self, ahead: Ahead) -> Response:
        if ahead.trouble is Trouble.HTML:
            return HTMLResponse(_PAGE.format("Just a moment..."), ahead.status)
        if ahead.trouble is Trouble.PATIENCE:
            return self._too_many(ahead.seconds)
        if ahead.trouble is Trouble.USED_UP_WITH_SOME_LEFT:
            return self._used_up(self._day, remaining=ahead.remaining)
        return HTMLResponse(_PAGE.format(f"{ahead.status} from the gateway"), ahead.status)

    def _too_many(self, seconds: int) -> Response:
        response = message(429, "API rate limit exceeded")
        response.headers["retry-after"] = str(seconds)
        response.headers["ratelimit-reset"] = str(seconds)
        return response

    def _count(self, response: Response) -> None:
        window = self.per_second
        response.headers["ratelimit-limit"] = str(window.most)
        response.headers["ratelimit-remaining"] = str(window.remaining)
        response.headers.setdefault("ratelimit-reset", str(window.reset))
        response.headers["x-ratelimit-limit-second"] = str(window.most)
        response.headers["x-ratelimit-remaining-second"] = str(window.remaining)

    async def _login(self, request: Request) -> Response:
        within = [window.take() for window in self._logins]
        if not all(within):
            response = self._too_many(max(window.reset for window in self._logins if not window.remaining))
            response.headers["x-ratelimit-limit-hour"] = str(self._logins[1].most)
            return response
        body = await _json(request)
        username = str(body.get("username", ""))
        if "@" in username:
            return message(400, "Invalid username: use your username, not your e-mail address")
        if (username, body.get("password")) != (USERNAME, PASSWORD) or self._password_refused:
            return message(401, "Error, invalid username/password")
        token = f"stand-in.{next(self._numbers)}.token"
        self._tokens[token] = self._now() + self._token_lasts
        host = self.url.removeprefix("http://")
        return JSONResponse({"user": self._user_values(), "base_url": host, "token": token, "status": 200})

    def _user_values(self) -> dict[str, JsonValue]:
        return {
            "allowed_downloads": self._day.allowed,
            "allowed_translations": 1,
            "level": "Sub leecher",
            "user_id": 66,
            "ext_installed": False,
            "vip": False,
        }

    def _token(self, request: Request) -> str | None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        until = self._tokens.get(token)
        return token if until is not None and self._now() < until else None

    async def _logout(self, request: Request) -> Response:
        token = self._token(request)
        if token is None:
            return message(401, "invalid token")
        del self._tokens[token]
        return message(200, "token successfully destroyed")

    async def _user(self, request: Request) -> Response:
        if self._token(request) is None:
            return message(401, "invalid token")
        left = self._day.left
        values = {**self._user_values(), "downloads_count": self._day.used, "remaining_downloads": max(0, left)}
        return JSONResponse({"data": values})

    async def _languages(self, request: Request) -> Response:
        codes = sorted({*dialogue.LANGUAGES, *(one.language for one in self.offered)})
        return JSONResponse({"data": [{"language_code": code, "language_name": code} for code in codes]})

    async def _formats(self, request: Request) -> Response:
        return JSONResponse({"data": {"output_formats": ["srt", "sub", "mpl", "webvtt", "dfxp", "txt"]}})

    async def _features(self, request: Request) -> Response:
        asked = {name: value for name, value in request.query_params.items() if name in _FEATURE_QUERY}
        if not asked:
            return message(400, "Not enough parameters")
        features = {one.feature.id: one.feature for one in found(self.offered, asked)}
        data = [{"id": str(one.id), "type": "feature", "attributes": one.answer()} for one in features.values()]
        return JSONResponse({"data": data})

    async def _search(self, request: Request) -> Response:
        raw = request.url.query
        if not is_canonical(raw):
            return RedirectResponse(f"{BASE}/subtitles?{canonical_query(raw)}", 301)
        if refusal := refusal_of_query(request.query_params.multi_items()):
            return refusal
        query = dict(request.query_params)
        page = int(query.get("page", "1"))
        all_found = found(self.offered, query)
        begin = (page - 1) * self.page_size
        data = [one.answer(query.get("moviehash")) for one in all_found[begin : begin + self.page_size]]
        pages = -(-len(all_found) // self.page_size)
        values = {"total_pages": pages, "total_count": len(all_found), "per_page": self.page_size, "page": page}
        return JSONResponse({**values, "data": data})

    async def _download(self, request: Request) -> Response:
        bearer = request.headers.get("authorization")
        if bearer and self._token(request) is None:
            return message(401, "invalid token")
        file_id = (await _json(request)).get("file_id")
        if not isinstance(file_id, int):
            return message(400, "file_id must be a number")
        one = next((one for one in self.offered if one.file_id <= file_id < one.file_id + one.parts), None)
        if one is None or self._troubles.is_unknown(file_id):
            return message(406, "Invalid file_id")
        day = self._day if bearer else self._anonymous
        if not day.take():
            return self._used_up(day)
        standing = day.standing()
        link = f"link-{next(self._numbers)}"
        self._links[link] = _Given(file_id=file_id, until=self._now() + _LINK_VALID)
        return JSONResponse(
            {
                "link": f"{self.url}/download/{link}/subtitle.srt",
                "file_name": one.file_name,
                "requests": standing.requests,
                "remaining": standing.remaining,
                "message": f"Your quota will be renewed in {standing.reset_in_words}",
                "reset_time": standing.reset_in_words,
                "reset_time_utc": _written(standing.resets_at),
            }
        )

    def _used_up(self, day: Day, *, remaining: int | None = None) -> Response:
        standing = day.standing(refused=True)
        text = (
            f"You have downloaded your allowed {day.allowed} subtitles for 24h. "
            f"Your quota will be renewed in {standing.reset_in_words}"
        )
        values = {
            "requests": standing.requests,
            "remaining": standing.remaining if remaining is None else remaining,
            "message": text,
            "reset_time": standing.reset_in_words,
            "reset_time_utc": _written(standing.resets_at),
        }
        return JSONResponse(values, 406)

    # --- files

    async def _file(self, request: Request) -> Response:
        response = self._content(request.path_params["link"])
        self.answered.append(
            Answered(at=self._clock.monotonic(), method="GET", path="/file", status=response.status_code)
        )
        return response

    def _content(self, link: str) -> Response:
        given = self._links.get(link)
        if given is None:
            return HTMLResponse(_PAGE.format("404 Not Found"), 404)
        trouble = self._troubles.of_file(given.file_id)
        if given.until <= self._now() or trouble is FileTrouble.EXPIRED:
            return HTMLResponse(_PAGE.format("410 Gone"), 410)
        one = next(one for one in self.offered if one.file_id <= given.file_id < one.file_id + one.parts)
        if trouble is FileTrouble.CUT_OFF:
            length = {"content-length": str(len(one.content))}
            return StreamingResponse(_half(one.content), headers=length, media_type="text/plain")
        return Response(_spoilt(one, trouble), media_type="text/plain; charset=utf-8")


_FEATURE_QUERY = ("imdb_id", "query", "tmdb_id", "type", "year")


def _spoilt(one: Offered, trouble: FileTrouble | None) -> bytes:
    if trouble is FileTrouble.EMPTY:
        return b""
    if trouble is FileTrouble.HTML:
        return _PAGE.format("503 Service Unavailable").encode()
    if trouble is FileTrouble.ADVERT:
        return _ADVERT
    if trouble is FileTrouble.WRONG_LANGUAGE:
        other = "de" if one.language != "de" else "fr"
        return dialogue.srt(one.feature.title, other, dialogue.EPISODE_CUES)
    return one.content


async def _half(content: bytes) -> AsyncIterator[bytes]:
    # A body that ends early makes the server close the connection.
    yield content[: len(content) // 2]


async def _json(request: Request) -> dict[str, JsonValue]:
    try:
        body = json.loads(await request.body())
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
