from __future__ import annotations

import pytest

from actorstream.cli.main import main

LAUNCH = ["launch", "apps/word_count/topology.toml", "--on", "local-cluster[1,1,1024]"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--transport", "shm"], "--transport: is 'shm' with --on; allowed: zmq"),
        (
            ["--spark", "executor.memory"],
            "--spark: is 'executor.memory'; allowed: NAME=VALUE (spark.executor.memory=2g)",
        ),
        (["--set", "actors.nobody.replicas=2"], "nobody"),
    ],
)
def test_a_wrong_option_is_one_message_before_spark_starts(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*LAUNCH, *options]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert "starting Spark" not in said
