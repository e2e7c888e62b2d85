"""Machine models in TOML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError
from actorstream.placement.rlas import MachineModel, Socket, load_machine_model, machine_text

TWO = MachineModel(
    name="two",
    sockets=[Socket(cores=2, hertz=1e9, cpus=[0, 1], node=0), Socket(cores=1, hertz=2e9, host="b")],
    latency_ns=[[50.0, 300.0], [300.0, 50.0]],
    bandwidth=[[5e10, 1e10], [1e10, 5e10]],
)


def problems_of(text: str, tmp_path: Path) -> list[str]:
    (tmp_path / "machine.toml").write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        load_machine_model(tmp_path / "machine.toml")
    return [f"{each.where}: {each.message}; allowed: {each.allowed}" for each in raised.value.problems]


def test_a_written_model_is_read_back_the_same(tmp_path: Path) -> None:
    (tmp_path / "machine.toml").write_text(machine_text(TWO))
    read = load_machine_model(tmp_path / "machine.toml")
    assert read == TWO
    assert read.fingerprint == TWO.fingerprint


def test_an_asymmetric_matrix_is_an_error_that_names_both_values(tmp_path: Path) -> None:
    text = machine_text(TWO).replace("[300.0, 50.0]", "[301.0, 50.0]")
    assert problems_of(text, tmp_path) == [
        "latency_ns[1][0]: is 301 but latency_ns[0][1] is 300; allowed: a symmetric matrix"
    ]


def test_an_incomplete_matrix_is_an_error_that_names_the_row(tmp_path: Path) -> None:
    text = machine_text(TWO).replace("[10000000000.0, 50000000000.0]", "[10000000000.0]")
    assert problems_of(text, tmp_path) == ["bandwidth[1]: has 1 numbers; allowed: 2, one for each socket"]


def test_a_matrix_with_too_few_rows_and_a_latency_of_zero_are_both_told(tmp_path: Path) -> None:
    text = (
        machine_text(TWO)
        .replace("  [10000000000.0, 50000000000.0],\n", "")
        .replace("[50.0, 300", "[0.0, 300")
    )
    assert [each.split(";")[0] for each in problems_of(text, tmp_path)] == [
        "latency_ns[0][0]: is 0.0",
        "bandwidth: has 1 rows",
    ]


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        (
            "hertz = 1000000000.0",
            "hertz = inf",
            "sockets[0].hertz: is inf; allowed: a number above 0, at most 1e18",
        ),
        (
            "cores = 2",
            "cores = 100000000",
            "sockets[0].cores: is 100000000; allowed: a whole number from 1 to 4096",
        ),
        ("[50.0, 300", "[nan, 300", "latency_ns[0][0]: is nan; allowed: a number above 0, at most 1e18"),
        ("[50.0, 300", "[1e300, 300", "latency_ns[0][0]: is 1e+300; allowed: a number above 0, at most 1e18"),
    ],
)
def test_a_number_that_no_machine_has_is_told(good: str, bad: str, told: str, tmp_path: Path) -> None:
    assert problems_of(machine_text(TWO).replace(good, bad, 1), tmp_path) == [told]


def test_more_sockets_than_the_search_can_place_are_an_error(tmp_path: Path) -> None:
    text = machine_text(TWO) + "[[sockets]]\ncores = 1\nhertz = 1e9\n" * 63
    assert problems_of(text, tmp_path) == [
        "sockets: has 65 sockets; allowed: at most 64, those of all hosts together"
    ]


def test_a_missing_and_a_misspelt_key_are_told(tmp_path: Path) -> None:
    found = problems_of('name = "x"\nsokets = []\n', tmp_path)
    assert [each.split(":")[0] for each in found] == ["sokets", "sockets", "latency_ns", "bandwidth"]


def test_a_socket_names_each_of_its_cpus_once(tmp_path: Path) -> None:
    text = machine_text(TWO).replace("cpus = [0, 1]", "cpus = [1, 1]")
    assert problems_of(text, tmp_path) == ["sockets[0].cpus: names CPU 1 twice; allowed: each CPU once"]


def test_a_cpu_belongs_to_one_socket(tmp_path: Path) -> None:
    text = machine_text(TWO).replace(
        'cores = 1\nhertz = 2000000000.0\nhost = "b"', "cores = 1\nhertz = 1e9\ncpus = [1]"
    )
    assert problems_of(text, tmp_path) == [
        "sockets[1].cpus: names CPU 1, which socket 0 has; allowed: each CPU once"
    ]


def test_fewer_sockets_are_the_first_ones() -> None:
    one = TWO.first(1)
    assert (one.cores, one.latency_ns, one.bandwidth) == (2, [[50.0]], [[5e10]])
