"""Settings: read from the environment, refused with a reason, shown with their source."""

from __future__ import annotations

import traceback
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

from headrace._store.location import PostgresUrl
from headrace.errors import ConfigurationError
from headrace.settings import PREFIX, Settings, _invalid, read_settings

SAMPLES = {
    "HEADRACE_STORE__PATH": ("other.db", Path("other.db")),
    "HEADRACE_STORE__POSTGRES_SCHEMA": ("other", "other"),
    "HEADRACE_STORE__DURABILITY": ("fast", "fast"),
    "HEADRACE_STORE__KEY": ("a key", SecretStr("a key")),
    "HEADRACE_STORE__KEY_FILE": ("key", Path("key")),
    "HEADRACE_STORE__OLD_KEYS": ("one,two", SecretStr("one,two")),
    "HEADRACE_SERVER__HOST": ("localhost", "localhost"),
    "HEADRACE_SERVER__PORT": ("0", 0),
    "HEADRACE_SERVER__HOSTS": ("Runs.example, [fd00::5],10.0.0.5", ("runs.example", "[fd00::5]", "10.0.0.5")),
    "HEADRACE_SERVER__TOKENS": ("always", "always"),
    "HEADRACE_LIMITS__ACTIVE_RUNS": ("7", 7),
    "HEADRACE_LIMITS__IDLE_RUNS": ("0", 0),
    "HEADRACE_LIMITS__LOOP_STEPS": ("7", 7),
    "HEADRACE_LIMITS__THREAD_STEPS": ("7", 7),
    "HEADRACE_LIMITS__PROCESS_STEPS": ("7", 7),
    "HEADRACE_LIMITS__HISTORY_WARNING": ("7", 7),
    "HEADRACE_LIMITS__HISTORY": ("7", 7),
    "HEADRACE_LIMITS__LEASE": ("PT1S", timedelta(seconds=1)),
    "HEADRACE_LIMITS__DRAIN": ("1.5", timedelta(seconds=1.5)),
    "HEADRACE_RABBITMQ__URL": ("amqp://broker/", SecretStr("amqp://broker/")),
    "HEADRACE_WEBHOOKS__TIMEOUT": ("PT5S", timedelta(seconds=5)),
    "HEADRACE_WEBHOOKS__WAITS": ("1, PT5M", (timedelta(seconds=1), timedelta(minutes=5))),
    "HEADRACE_LOG__LEVEL": ("debug", "debug"),
    "HEADRACE_LOG__FORMAT": ("json", "json"),
    "HEADRACE_PREFLIGHT": ("off", "off"),
    "HEADRACE_SUBSCRIPTIONS": ("workers", "workers"),
}


def value_of(settings: Settings, variable: str) -> object:
    found: object = settings
    for part in variable.removeprefix("HEADRACE_").lower().split("__"):
        found = getattr(found, part)
    return found


def test_every_setting_has_a_sample_here() -> None:
    """A new setting without a sample would be one that nobody has tried to set."""
    assert [item.variable for item in read_settings({}).each()] == list(SAMPLES)


@pytest.mark.parametrize("variable", SAMPLES)
def test_variable_has_an_effect(variable: str) -> None:
    """A variable that is documented and ignored is worse than none."""
    text, expected = SAMPLES[variable]

    loaded = read_settings({variable: text})

    assert value_of(loaded.settings, variable) == expected
    assert {item.source for item in loaded.each() if item.variable == variable} == {"environment"}


def test_misspelt_variable_is_an_error_that_names_the_nearest() -> None:
    """Ignored in silence, it would start a second, empty store."""
    with pytest.raises(ConfigurationError, match=r"HEADRACE_STROE__PATH .* did you mean HEADRACE_STORE__PATH"):
        read_settings({"HEADRACE_STROE__PATH": "x.db"})


def test_variable_unlike_any_other_names_the_list() -> None:
    """A guess that is far off would mislead."""
    with pytest.raises(ConfigurationError, match="`headrace config` lists"):
        read_settings({"HEADRACE_ZZZ__QQQ": "1"})


class GoalsSettings(BaseModel):
    """As a pipeline declares them."""

    key: SecretStr | None = None
    pace: int = 3


def test_settings_of_pipelines_have_their_own_prefix() -> None:
    """One environment for everything that runs in a process, and secrets stay hidden."""
    environment = {"HEADRACE_GOALS_KEY": "s3cr3t", "HEADRACE_GOALS_PACE": "5"}
    loaded = read_settings(environment, pipelines={"goals": GoalsSettings})

    assert loaded.pipelines["goals"] == GoalsSettings(key=SecretStr("s3cr3t"), pace=5)
    shown = {item.variable: item.value for item in loaded.each()}
    assert (shown["HEADRACE_GOALS_KEY"], shown["HEADRACE_GOALS_PACE"]) == ("(hidden)", "5")


def test_misspelt_variables_of_loaded_pipelines_are_errors() -> None:
    """A command that knows the pipelines knows all their variables."""
    with pytest.raises(ConfigurationError, match="did you mean HEADRACE_GOALS_PACE"):
        read_settings({"HEADRACE_GOALS_PAEC": "5"}, pipelines={"goals": GoalsSettings})


def test_variables_of_pipelines_that_are_not_loaded_are_left_alone() -> None:
    """`headrace runs ls` loads no pipeline, and the environment is the same."""
    assert read_settings({"HEADRACE_GOALS_PACE": "5"}).settings == Settings()


def test_variables_of_others_are_left_alone() -> None:
    """The environment is full of them."""
    assert read_settings({"PATH": "/bin", "HEADRACER": "1"}).settings == Settings()


def test_wrong_values_are_told_all_at_once() -> None:
    """Who mends one and meets the next is annoyed."""
    with pytest.raises(ConfigurationError) as refused:
        read_settings({"HEADRACE_SERVER__PORT": "many", "HEADRACE_PREFLIGHT": "maybe"})

    assert "HEADRACE_SERVER__PORT='many'" in str(refused.value)
    assert "HEADRACE_PREFLIGHT='maybe'" in str(refused.value)


@pytest.mark.parametrize("text", ["10", "10.0", "PT10S"])
def test_duration_is_seconds_or_iso(text: str) -> None:
    """People write 10; documents write PT10S."""
    assert read_settings({"HEADRACE_LIMITS__DRAIN": text}).settings.limits.drain == timedelta(seconds=10)


def test_unclear_duration_is_refused_with_an_example() -> None:
    """Ten what?"""
    with pytest.raises(ConfigurationError, match="give seconds, for example 10"):
        read_settings({"HEADRACE_LIMITS__DRAIN": "10 s"})


def test_option_goes_before_the_environment_and_says_so() -> None:
    """What is typed now means more than what was exported last week."""
    loaded = read_settings({"HEADRACE_SERVER__PORT": "1"}, {"server.port": "2", "server.host": None})

    assert loaded.settings.server.port == 2
    assert {item.variable: item.source for item in loaded.each()}["HEADRACE_SERVER__PORT"] == "option"


def test_wrong_option_is_named_as_an_option() -> None:
    """The user typed --port and knows of no variable."""
    with pytest.raises(ConfigurationError, match=r"^--port='x'"):
        read_settings({}, {"server.port": "x"})


SECRETS = {"HEADRACE_STORE__KEY": "swordfish", "HEADRACE_STORE__OLD_KEYS": "shibboleth"}


def test_secrets_are_hidden_wherever_settings_are_shown() -> None:
    """`headrace config` is what people paste into a report."""
    loaded = read_settings(SECRETS)

    shown = repr(loaded) + str(loaded) + loaded.settings.model_dump_json() + "".join(map(repr, loaded.each()))

    assert [secret for secret in SECRETS.values() if secret in shown] == []
    assert {item.value for item in loaded.each() if item.variable in SECRETS} == {"(hidden)"}
    assert {item.value for item in read_settings({}).each() if item.variable in SECRETS} == {"(not set)"}


def test_secrets_are_not_repeated_by_errors() -> None:
    """Not even by the error behind the error, which a stack trace shows."""
    with pytest.raises(ConfigurationError) as refused:
        read_settings({**SECRETS, "HEADRACE_STORE__DURABILITY": "none", "HEADRACE_SERVER__PORT": "x"})

    told = "".join(traceback.format_exception(refused.value))
    assert "HEADRACE_STORE__DURABILITY='none'" in told
    assert [secret for secret in SECRETS.values() if secret in told] == []


def test_a_secret_that_does_not_fit_is_not_repeated() -> None:
    """There is no rule for them today; the first one must not print what it refuses."""
    taken = {name: (text, "environment") for name, text in SECRETS.items()}

    with pytest.raises(ValidationError) as refused:
        Settings.model_validate({"store": {"key": ["swordfish"]}})

    assert _invalid(refused.value, taken, Settings, PREFIX).startswith("HEADRACE_STORE__KEY=(hidden): ")
    assert "swordfish" not in str(refused.value)


@pytest.mark.parametrize("hosts", ["http://a.example", "a.example:80", "a b", "*", "a/b", "-a"])
def test_a_host_name_is_a_name_alone(hosts: str) -> None:
    """With a scheme or a port it would never be the name in a request, and everybody be refused."""
    with pytest.raises(ConfigurationError, match=r"^HEADRACE_SERVER__HOSTS=.*is no host name"):
        read_settings({"HEADRACE_SERVER__HOSTS": hosts})


def test_no_host_names_are_none() -> None:
    """An empty variable is how people unset one."""
    assert read_settings({"HEADRACE_SERVER__HOSTS": ""}).settings.server.hosts == ()


def test_every_setting_has_a_description() -> None:
    """The reference is made of them."""
    assert [item.variable for item in read_settings({}).each() if not item.description] == []


def test_a_store_may_be_a_database() -> None:
    """One setting says where everything is, whichever kind of place it is."""
    given = {"HEADRACE_STORE__PATH": "postgresql://ann@host/runs", "HEADRACE_STORE__POSTGRES_SCHEMA": "mine"}

    assert read_settings(given).settings.store.location == PostgresUrl("postgresql://ann@host/runs", "mine")
    assert read_settings({"HEADRACE_STORE__PATH": "a.db"}).settings.store.location == Path("a.db").absolute()


def test_the_password_of_a_database_is_not_shown() -> None:
    """`headrace config` is pasted into reports of problems."""
    url = "postgresql://ann:sesame@host/runs?sslpassword=sesame"  # pragma: allowlist secret

    loaded = read_settings({"HEADRACE_STORE__PATH": url})

    assert "sesame" not in repr(loaded) + "".join(str(item) for item in loaded.each())
    with pytest.raises(ConfigurationError) as caught:
        read_settings({"HEADRACE_PREFLIGHT": url})
    assert "sesame" not in str(caught.value)
