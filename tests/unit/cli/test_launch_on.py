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
        (
            ["--plan", "plan.json"],
            "--plan: is given with --on local-cluster[1,1,1024], whose executors are not",
        ),
        (["--rank", "0"], "--rank: is given with --on"),
    ],
)
def test_a_wrong_option_is_one_message_before_spark_starts(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*LAUNCH, *options]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert "starting Spark" not in said


def test_an_option_of_spark_without_a_cluster_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LAUNCH[:2], "--spark", "spark.executor.memory=2g", "--spark-logs"]) == 2
    said = capsys.readouterr().err
    assert "--spark: is given without --on; allowed: with --on MASTER" in said
    assert "--spark-logs: is given without --on" in said
