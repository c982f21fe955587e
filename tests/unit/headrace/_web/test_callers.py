"""Who asks."""

from __future__ import annotations

from headrace import Headrace
from headrace._access.store import tokens
from headrace._web.admission import Admission
from tests.unit.headrace._web.conftest import OPEN_TO_OTHERS, NewToken, client_of

OWNER = "for-the-owner"


async def test_who_can_read_the_owners_file_may_do_everything(app: Headrace) -> None:
    """The command line must work when tokens are needed, too."""
    admission = Admission(needs_token=True, owner_token=OWNER)
    async with client_of(app, token=OWNER, admission=admission) as owner:
        assert (await owner.get("/api/tokens")).status_code == 200
    async with client_of(app, token=OWNER + "x", admission=admission) as other:
        assert (await other.get("/api/tokens")).status_code == 401


async def test_a_revoked_token_is_refused_at_once(app: Headrace, new_token: NewToken) -> None:
    """Who revokes a token that leaked cannot wait for a cache."""
    async with client_of(app, token=await new_token(), admission=OPEN_TO_OTHERS) as holder:
        before = await holder.get("/api/runs")
        revoked = await holder.post("/api/tokens/tester/revoke")
        after = await holder.get("/api/runs")

    assert [before.status_code, revoked.status_code, after.status_code] == [200, 200, 401]


async def test_the_last_use_of_a_token_is_noted(app: Headrace, new_token: NewToken) -> None:
    """Tokens that nobody uses can be revoked without fear."""
    async with client_of(app, token=await new_token(), admission=OPEN_TO_OTHERS) as holder:
        for _ in range(3):
            await holder.get("/api/runs")
    operations = app.commits().operations
    await app.database.write(lambda tx: None)

    (token,) = app.database.read(tokens)
    assert token.last_used_at is not None
    assert operations <= 3  # the token, its use once, and nothing for the other two requests
