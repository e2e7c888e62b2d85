"""The unit of a worker among several hosts does what docs/recovery.md says of it."""

from __future__ import annotations

from configparser import RawConfigParser
from pathlib import Path

from actorstream.cli.main import FAILED, SUSPENDED, WRONG, exit_code
from actorstream.transports.zmq.places import Discovery

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "actorstream@.service"


def test_a_unit_tries_again_after_a_worker_was_lost_and_while_a_host_is_away(tmp_path: Path) -> None:
    made = RawConfigParser(strict=False)
    made.read(UNIT)
    service = made["Service"]
    try:
        Discovery(tmp_path, 0, 2).wait(0.0)
    except Exception as error:
        away = exit_code(error)
    assert away == WRONG, "the same as of a wrong configuration"
    never_again = {int(code) for code in service.get("RestartPreventExitStatus", "").split()}
    assert service["Restart"] == "on-failure" and not never_again & {FAILED, WRONG}
    assert service["SuccessExitStatus"] == str(SUSPENDED)
