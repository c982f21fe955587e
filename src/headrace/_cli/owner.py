"""Asking the process that runs the store, over its API."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from headrace._cli.problem import Problem
from headrace._store.location import Location
from headrace._store.ownership import Owner, read_owner

_SECONDS = 30.0


def owner_of(store: Location) -> Owner | None:
    """Who runs the store now; raises ``Problem`` when that cannot be seen."""
    if not isinstance(store, Path):
        from headrace._store.opening import owner_of as ask

        return ask(store)
    try:
        return read_owner(store)
    except PermissionError as error:
        message = f"{error.filename} cannot be read: the store belongs to another user"
        raise Problem(message, code="no_permission", hint="run the command as that user") from error


class OwnerClient:
    def __init__(self, owner: Owner, address: str, token: str) -> None:
        self._owner = owner
        self.address = address
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    @staticmethod
    def find(store: Location) -> OwnerClient:
        """The owner of a store; raises ``Problem`` saying how to get one."""
        owner = owner_of(store)
        if owner is None:
            raise Problem(
                f"nobody runs {store}, so nothing can be changed",
                code="no_owner",
                hint=f"run it: headrace up TARGET --store {store}",
            )
        if owner.address is None or owner.token_file is None:
            raise Problem(
                f"process {owner.pid} runs {store} and takes no orders: it is a program of its own, or starts or stops right now",
                code="no_api",
                hint="change it from that program, or run its pipelines with `headrace up`",
            )
        if not isinstance(store, Path) and owner.host != socket.gethostname():
            message = f"process {owner.pid} on {owner.host} runs {store}, and takes orders from its own machine only"
            raise Problem(message, code="no_api", hint=f"run the command on {owner.host}")
        try:
            token = Path(owner.token_file).read_text(encoding="ascii")
        except OSError as error:
            raise Problem(
                f"{owner.token_file} cannot be read ({error.strerror}), so process {owner.pid} cannot be asked",
                code="no_permission",
                hint="run the command as the user who started it",
            ) from error
        return OwnerClient(owner, owner.address, token)

    @staticmethod
    def reach(store: Location) -> OwnerClient | None:
        """The owner of a store, if there is one that takes questions."""
        owner = owner_of(store)
        return None if owner is None or owner.address is None else OwnerClient.find(store)

    def get(self, *path: str, **query: object) -> Any:
        return self._ask("GET", path, query=query)

    def post(self, *path: str, body: object = None) -> Any:
        return self._ask("POST", path, body=body)

    def _ask(
        self, method: str, path: tuple[str, ...], *, query: dict[str, object] | None = None, body: object = None
    ) -> Any:
        target = "/api/" + "/".join(quote(part, safe="") for part in path)
        given = {name: value for name, value in (query or {}).items() if value is not None}
        where = urlsplit(self.address)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_SECONDS)
        content = None if method == "GET" else json.dumps(body if body is not None else {})
        try:
            connection.request(method, target + (f"?{urlencode(given)}" if given else ""), content, self.headers)
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()
        return self._read(status, text)

    def _unreachable(self, error: Exception) -> Problem:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        return Problem(
            f"process {self._owner.pid} runs the store and does not answer at {self.address}: {why}",
            code="owner_unreachable",
            hint="whether the change was made is not known; look, then try again",
        )

    def _read(self, status: int, text: bytes) -> Any:
        try:
            answer = json.loads(text)
            if status < 400:
                return answer
            said = answer["error"]
            raise Problem(str(said["message"]), code=str(said["code"]), hint=str(said["hint"]))
        except (ValueError, KeyError, TypeError) as error:
            message = f"{self.address} gave an answer that is not Headrace's (status {status})"
            raise Problem(message, code="strange_answer", hint="is another program at that port?") from error
