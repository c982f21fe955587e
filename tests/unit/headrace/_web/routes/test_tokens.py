"""Tokens over HTTP."""

from __future__ import annotations

import httpx2
import pytest

from headrace import Headrace
from tests.unit.headrace._web.conftest import OPEN_TO_OTHERS, client_of


async def test_a_token_that_was_made_is_good(app: Headrace, client: httpx2.AsyncClient) -> None:
    """From making to using to revoking."""
    made = await client.post("/api/tokens", json={"name": "ci", "scope": "operate"})
    async with client_of(app, token=made.json()["token"], admission=OPEN_TO_OTHERS) as holder:
        used = await holder.get("/api/runs")
        await client.post("/api/tokens/ci/revoke")
        late = await holder.get("/api/runs")

    assert made.status_code == 201
    assert made.json()["about"]["scope"] == "operate"
    assert [used.status_code, late.status_code] == [200, 401]


async def test_the_token_is_told_once(client: httpx2.AsyncClient) -> None:
    """Whoever may list tokens later must not be able to use them."""
    made = (await client.post("/api/tokens", json={"name": "ci"})).json()
    listed = await client.get("/api/tokens")

    assert listed.json()["tokens"] == [made["about"]]
    assert made["token"].rpartition("_")[2] not in listed.text


async def test_a_name_is_given_to_one_token_at_a_time(client: httpx2.AsyncClient) -> None:
    """Lists and logs say the name; after a revocation it is free again."""
    await client.post("/api/tokens", json={"name": "ci"})
    taken = await client.post("/api/tokens", json={"name": "ci"})
    await client.post("/api/tokens/ci/revoke")
    again = await client.post("/api/tokens", json={"name": "ci"})

    assert [taken.status_code, again.status_code] == [409, 201]
    assert [token["name"] for token in (await client.get("/api/tokens")).json()["tokens"]] == ["ci", "ci"]


async def test_what_is_not_there_cannot_be_revoked(client: httpx2.AsyncClient) -> None:
    """A misspelt name would leave the leaked token alive, and say nothing."""
    assert (await client.post("/api/tokens/nope/revoke")).status_code == 404
    assert (await client.post("/api/tokens/%2e%2e/revoke")).status_code == 404


@pytest.mark.parametrize("body", [{"name": ""}, {"name": "a b"}, {"name": "x" * 65}, {"name": "a", "scope": "all"}, {}])
async def test_odd_tokens_are_refused(client: httpx2.AsyncClient, body: object) -> None:
    """Names stand in paths and logs."""
    assert (await client.post("/api/tokens", json=body)).status_code == 422
