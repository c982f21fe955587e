"""What pipelines bring along: tables, settings, wiring."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from headrace import Headrace, Pipeline, Statement, Tables, flow, step, use
from headrace._store.location import Location
from headrace.errors import ConfigurationError, DefinitionError, StoreTooNew


class ShopSettings(BaseModel):
    greeting: str = "hello"


class Greeter:
    def __init__(self, text: str) -> None:
        self.text = text


def wire(settings: ShopSettings, *, stand_ins: bool) -> Greeter:
    return Greeter(f"{settings.greeting}{' (stand-in)' if stand_ins else ''}")


@step
async def greet() -> str:
    return use(Greeter).text


ADD = Statement("add", "INSERT INTO shop_sales (item) VALUES (:item)")
SIZES = Statement("sizes", "SELECT size FROM shop_sales")
ITEMS = Statement("items", "SELECT item FROM shop_sales ORDER BY item")


@step
async def sell(items: list[str]) -> int:
    return await use(Tables).write_many(ADD, ({"item": item} for item in items))


@flow
async def open_shop(items: list[str]) -> str:
    await sell(items)
    return await greet()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with migrations, importable as ``shop_package``."""
    folder = tmp_path / "code" / "shop_package" / "migrations"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "0001_sales.sql").write_text(
        "-- What was sold.\nCREATE TABLE shop_sales (pk INTEGER PRIMARY KEY, item TEXT NOT NULL, photo BLOB);\nCREATE INDEX shop_sales_by_item ON shop_sales (item);\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    yield folder
    sys.modules.pop("shop_package", None)


def shop(**options: Any) -> Pipeline:
    return Pipeline("shop", flows=[open_shop], settings=ShopSettings, wire=wire, tables="shop_package", **options)


async def test_a_pipeline_has_tables_settings_and_wiring(
    package: Path, each_place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a pipeline needs beside its flows, in one value."""
    monkeypatch.setenv("HEADRACE_SHOP_GREETING", "good morning")
    async with Headrace([shop()], store=each_place, stand_ins=True) as app:
        greeting = await app.run(open_shop, [f"item {number:04}" for number in range(1_234)])
        rows = app.tables.read(lambda reader: reader.all(ITEMS))

    assert greeting == "good morning (stand-in)"
    assert len(rows) == 1_234


async def test_tables_are_upgraded_once_and_never_taken_back(package: Path, each_place: Location) -> None:
    """New code brings new tables to an old store; old code leaves a new store alone."""
    store = each_place
    async with Headrace([shop()], store=store) as app:
        await app.run(open_shop, ["a"])
    (package / "0002_colours.sql").write_text("ALTER TABLE shop_sales ADD COLUMN colour TEXT;\n")
    async with Headrace([shop()], store=store) as app:
        await app.run(open_shop, ["b"])
        assert app.tables.read(lambda reader: reader.all(ITEMS)) == [("a",), ("b",)]
    (package / "0002_colours.sql").unlink()

    with pytest.raises(StoreTooNew, match="version 2, and this code knows 1"):
        async with Headrace([shop()], store=store):
            pass


async def test_a_database_may_need_other_words(package: Path, each_place: Location) -> None:
    """What rewriting cannot do is written out, in a file of the same name; it may have more statements, or fewer."""
    (package / "0002_more.sql").write_text(
        "ALTER TABLE shop_sales ADD COLUMN size INTEGER;\nCREATE INDEX shop_more ON shop_sales (size);\n"
    )
    (package / "postgres").mkdir()
    (package / "postgres" / "0002_more.sql").write_text("ALTER TABLE shop_sales ADD COLUMN size BIGINT DEFAULT 7;\n")
    async with Headrace([shop()], store=each_place) as app:
        await app.run(open_shop, ["a"])
        sizes = app.tables.read(lambda reader: reader.all(SIZES))

    assert sizes == [(None if isinstance(each_place, Path) else 7,)]


def test_a_variant_without_its_migration_is_refused(package: Path) -> None:
    """A misspelt name would leave one database without the table."""
    (package / "postgres").mkdir()
    (package / "postgres" / "0002_more.sql").write_text("SELECT 1;\n")

    with pytest.raises(DefinitionError, match=r"0002_more\.sql is for Postgres alone"):
        shop()


@pytest.mark.parametrize(
    "file, sql, complaint",
    [
        ("0002_other.sql", "CREATE TABLE goals_seen (id TEXT);", "has to begin with 'shop_'"),
        (
            "0002_other.sql",
            "create unique index if not exists by_item on shop_sales (item);",
            "has to begin with 'shop_'",
        ),
        ("0003_gap.sql", "CREATE TABLE shop_gap (id TEXT);", "not numbered"),
    ],
)
def test_tables_that_could_meet_others_are_refused(package: Path, file: str, sql: str, complaint: str) -> None:
    """Two pipelines in one store must not share a table by accident."""
    (package / file).write_text(sql)

    with pytest.raises(DefinitionError, match=complaint):
        shop()


async def test_a_wiring_that_asks_for_settings_needs_a_model(tmp_path: Path) -> None:
    """Nothing could be read for it."""
    pipeline = Pipeline("shop", flows=[], wire=wire)

    with pytest.raises(ConfigurationError, match="Pipeline\\(settings="):
        async with Headrace([pipeline], store=tmp_path / "shop.db"):
            pass


@pytest.mark.parametrize("wrong", ["routes", "shop/routes.py:router", "shop.routes:"])
def test_places_of_code_are_checked_at_import(wrong: str) -> None:
    """Otherwise the mistake shows when the first request comes."""
    with pytest.raises(DefinitionError, match="module:attribute"):
        Pipeline("shop", routes=wrong)
    with pytest.raises(DefinitionError, match="module:attribute"):
        Pipeline("shop", pages=wrong)


@pytest.fixture
def shop_routes(monkeypatch: pytest.MonkeyPatch) -> str:
    from fastapi import APIRouter

    module = ModuleType("shop_routes")
    module.router = APIRouter()  # type: ignore[attr-defined]  # a module made here
    module.router.get("/shop/ping")(lambda: {"pong": True})
    monkeypatch.setitem(sys.modules, "shop_routes", module)
    return "shop_routes:router"


async def test_routes_of_a_pipeline_are_served(tmp_path: Path, shop_routes: str) -> None:
    """Each pipeline has the endpoints that its users know."""
    import httpx2

    from headrace._web.admission import Admission
    from headrace._web.app import create_app

    async with Headrace([Pipeline("shop", routes=shop_routes)], store=tmp_path / "shop.db") as app:
        transport = httpx2.ASGITransport(app=create_app(app, Admission()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.get("/shop/ping")

    assert answer.json() == {"pong": True}


class Press:
    """Something that a wiring builds."""


async def test_programs_and_routes_find_what_wirings_built(tmp_path: Path) -> None:
    """A page that shows quotas asks the same client that the steps use."""
    presses = {name: Press() for name in ("morning", "evening")}
    papers = [Pipeline(name, wire=lambda name=name: presses[name]) for name in presses]
    async with Headrace(papers, store=tmp_path / "shop.db") as app:
        found = app.use(Press, pipeline="evening")
        with pytest.raises(ConfigurationError, match="more than one wiring"):
            app.use(Press)
        with pytest.raises(ConfigurationError, match="no wiring built"):
            app.use(ShopSettings)

    assert found is presses["evening"]


async def test_a_wiring_may_ask_for_the_tables(package: Path, tmp_path: Path) -> None:
    """A client that has to remember its quota keeps it where the pipeline keeps everything."""
    given: list[Tables] = []

    def wire_tables(tables: Tables) -> Tables:
        given.append(tables)
        return tables

    async with Headrace([Pipeline("shop", tables="shop_package", wire=wire_tables)], store=tmp_path / "shop.db") as app:
        await given[0].write_many(ADD, [{"item": "pen"}])
        rows = app.tables.read(lambda reader: reader.all(ITEMS))

    assert rows == [("pen",)]
