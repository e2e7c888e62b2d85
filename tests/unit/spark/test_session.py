"""What a session of Spark says when its start is interrupted."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from actorstream.spark import session


def test_an_interrupted_start_says_nothing_of_its_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(*_: Any) -> None:
        for place in ("/lib/py4j/java_gateway.py", "/lib/users.py"):
            logging.getLogger().handle(
                logging.LogRecord("root", logging.ERROR, place, 1, "KeyboardInterrupt", None, None)
            )
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "_start", interrupted)
    with pytest.raises(KeyboardInterrupt), session.spark_session():
        pass
    assert [each.pathname for each in caplog.records] == ["/lib/users.py"]
