"""The registry: installed names, nearest names, plugins that do not import."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError, NotInstalledError
from actorstream.transports.base import Transport
from actorstream.transports.registry import GROUP, installed_transports, load_transport


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a distribution that registers one transport; the import system finds it as it finds any other."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(distribution: str, name: str, value: str, module: str = "", source: str = "") -> None:
        info = tmp_path / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n")
        if module:
            (tmp_path / f"{module}.py").write_text(source)
            monkeypatch.delitem(sys.modules, module, raising=False)

    return installed


def test_local_and_shm_are_installed() -> None:
    assert {"local", "shm"} <= set(installed_transports())


@pytest.mark.parametrize("name", ["local", "shm"])
def test_an_installed_transport_loads_under_its_own_name(name: str) -> None:
    loaded = load_transport(name)
    assert issubclass(loaded, Transport)
    assert loaded.name == name


def test_an_unknown_name_lists_what_is_installed_and_the_nearest() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_transport("shmm", where="deploy.transport")
    (problem,) = caught.value.problems
    assert problem.where == "deploy.transport"
    assert "'shmm'" in problem.message
    assert "local" in problem.allowed and "shm" in problem.allowed
    assert "'shm'" in problem.hint


def test_a_name_that_is_near_nothing_is_told_how_plugins_register() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_transport("carrier-pigeon")
    assert GROUP in caught.value.problems[0].hint


def test_a_plugin_is_found_by_its_entry_point(install) -> None:
    source = (
        "from actorstream.transports.local import LocalTransport\nclass Mine(LocalTransport): name = 'mine'\n"
    )
    install("mine-transport", "mine", "mine_plugin:Mine", "mine_plugin", source)
    assert "mine" in installed_transports()
    assert load_transport("mine").name == "mine"


def test_one_of_ours_without_its_package_names_the_extra(install) -> None:
    install(
        "actorstream",
        "absent",
        "absent_plugin:Absent [zmq]",
        "absent_plugin",
        "import a_package_nobody_has\n",
    )
    with pytest.raises(NotInstalledError, match=r"pip install 'actorstream\[zmq\]'"):
        load_transport("absent")


def test_a_foreign_plugin_without_its_package_names_that_package(install) -> None:
    install("foreign", "foreign", "foreign_plugin:Foreign", "foreign_plugin", "import a_package_nobody_has\n")
    with pytest.raises(ConfigurationError, match="a_package_nobody_has") as caught:
        load_transport("foreign")
    assert "foreign" in caught.value.problems[0].message


def test_a_plugin_that_is_no_transport_is_refused(install) -> None:
    install("wrong", "wrong", "wrong_plugin:Wrong", "wrong_plugin", "Wrong = 42\n")
    with pytest.raises(ConfigurationError, match="wrong_plugin:Wrong") as caught:
        load_transport("wrong")
    assert "Transport" in caught.value.problems[0].allowed
