"""The settings: each is an environment variable, HEADRACE_SUBTITLES_ and its name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from headrace_pipelines.subtitles.rules.languages import parse_language, parse_same, parse_wanted
from headrace_pipelines.subtitles.rules.rtl import Profile


def _parts(given: object) -> object:
    return tuple(part.strip() for part in given.split(",") if part.strip()) if isinstance(given, str) else given


def _wanted(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(parse_wanted(word)) for word in words)


def _languages(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(parse_language(word) for word in words)


def _pairs(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if "=" not in word:
            raise ValueError(f"{word!r} is no pair; write A=B")
    return words


def _same(text: str) -> str:
    parse_same(text)
    return text


Words = Annotated[tuple[str, ...], BeforeValidator(_parts)]
Pairs = Annotated[Words, AfterValidator(_pairs)]


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)

    roots: Annotated[tuple[Path, ...], BeforeValidator(_parts)] = Field(
        default=(), description="Media folders, separated by commas; nothing outside of them is read or written."
    )
    output: Path = Field(
        default=Path("subtitles"), description="Where subtitles go whose videos lie on no disk of this machine."
    )
    wanted: Annotated[Words, AfterValidator(_wanted)] = Field(
        default=("en",), description="What every video of the library shall have, such as `he, pt-BR, en:hi`."
    )
    fallback: Annotated[Words, AfterValidator(_languages)] = Field(
        default=("en",), description="What to translate from, in this order, where the wanted language is not found."
    )
    translate: bool = Field(default=True, description="Whether to translate where nothing is found.")
    same: Annotated[str, AfterValidator(_same)] = Field(
        default="", description="Languages that count as one, such as `pt=pt-BR, zh=zh-Hans=zh-Hant`."
    )
    least_movie: int = Field(default=70, ge=0, le=100, description="The least score of a subtitle for a film.")
    least_episode: int = Field(default=90, ge=0, le=100, description="The least score of a subtitle for an episode.")
    tries: int = Field(default=3, ge=1, le=20, description="How many candidates of a language are downloaded at most.")
    right_to_left: Profile = Field(
        default=Profile.NONE, description="What players need to show right-to-left text: `none`, `marks` or `kodi`."
    )
    byte_order_mark: bool = Field(default=False, description="Begin files with a byte order mark.")
    strip_adverts: bool = Field(default=True, description="Leave out what sites put before and after the film.")
    overwrite: bool = Field(
        default=False, description="Replace subtitles that others wrote, too; they are kept as `.bak`."
    )
    public_url: str = Field(default="", description="Where others reach this server, for links to files.")
    scan_every: timedelta = Field(
        default=timedelta(hours=6), description="How often the whole library is looked through, besides being watched."
    )
    watch: bool = Field(default=True, description="Watch the media folders for new videos.")

    opensubtitles_key: SecretStr | None = Field(default=None, description="The Api-Key of OpenSubtitles.")
    opensubtitles_user: str = Field(default="", description="The user name there; not the e-mail address.")
    opensubtitles_password: SecretStr | None = Field(default=None, description="Its password.")
    opensubtitles_url: str = Field(default="", description="Another address of its interface.")
    folder: Path | None = Field(default=None, description="A folder of subtitles that serves as a provider.")

    model_url: str = Field(default="", description="A language model that speaks OpenAI's protocol.")
    model_key: SecretStr | None = Field(default=None, description="Its key; local ones need none.")
    model: str = Field(default="", description="The name of the model.")
    gemini_key: SecretStr | None = Field(default=None, description="The key of Gemini, if that shall translate.")
    model_at_once: int = Field(default=4, ge=1, le=64, description="Questions to the model side by side.")
    model_per_minute: int | None = Field(default=None, ge=1, description="Questions to the model in a minute.")
    model_budget_tokens: int | None = Field(default=None, ge=1, description="Tokens after which it is asked no more.")
    synopsis: str = Field(default="", description="What the translator shall know of all videos.")
    glossary: Pairs = Field(default=(), description="Words and their translations: `warp=Warp, Klingon=Klingonisch`.")

    jellyfin_url: str = Field(default="", description="A Jellyfin server, told of every new subtitle.")
    jellyfin_key: SecretStr | None = Field(default=None, description="Its API key.")
    paths: Pairs = Field(default=(), description="Paths there and here: `/data/films=/media/films`.")
