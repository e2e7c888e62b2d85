"""Ranks that would not run the same job are refused, by an error that every rank makes alike."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import pytest

from actorstream import Actor
from actorstream.launch.ranks.identity import (
    Identity,
    RefusedError,
    check_alike,
    code_of,
    differ_in_errors,
    files_of,
    keys_of,
)


def identity(rank: int, **different: Any) -> Identity:
    same = {"deploy": '{"batch_size":7,"workers":2}', "graph": 1, "plan": 2, "code": {"app": "aa"}}
    same["keys"] = {"rows.count": "7"}
    return Identity(**{"rank": rank, "host": f"h{rank}", "pid": 10, "place": "", **same, **different})


def refused(*ranks: Identity, home: int = 0) -> RefusedError:
    with pytest.raises(RefusedError) as found:
        check_alike(ranks, home)
    return found.value


def text(error: RefusedError) -> str:
    return str(error).removeprefix("configuration: ")


def test_ranks_that_run_the_same_are_alike_wherever_they_run_and_whatever_they_planned() -> None:
    check_alike([identity(0), identity(1, plan=3, pid=4, place="x", whole_plan=b"{}")], 0)


@pytest.mark.parametrize(
    ("different", "said"),
    [
        ({"version": "9"}, "actorstream is 9 on rank 1, "),
        ({"python": "3.1.4"}, "Python is 3.1.4 on rank 1, "),
        ({"code": {"app": "bb"}}, "module app is bb on rank 1, aa on rank 0"),
        ({"code": {}}, "module app is no file on rank 1, aa on rank 0"),
        ({"code": {"app": "aa", "more": "cc"}}, "module more is cc on rank 1, no file on rank 0"),
        ({"deploy": '{"batch_size":8,"workers":2}'}, "deploy.batch_size is 8 on rank 1, 7 on rank 0"),
        ({"deploy": '{"batch_size":7}'}, "deploy.workers is None on rank 1, 2 on rank 0"),
        ({"graph": 255}, "the graph is 00000000000000ff on rank 1, 0000000000000001 on rank 0"),
        ({"keys": {"rows.count": "8"}}, "actors.rows.count is 8 on rank 1, 7 on rank 0"),
        ({"keys": {}}, "actors.rows.count is not set on rank 1, 7 on rank 0"),
        ({"resume": 3}, "goes on from is 3 on rank 1, none on rank 0"),
    ],
)
def test_a_rank_that_differs_is_named_with_both_values(different: dict[str, Any], said: str) -> None:
    found = refused(identity(0), identity(1, **different))
    assert found.status == 2
    assert text(found).startswith("rank 1 on host h1 does not fit rank 0 on host h0: ")
    assert said in text(found)


def test_what_a_rank_differs_from_is_the_home_rank() -> None:
    assert text(refused(identity(0), identity(1), identity(2, graph=5), home=2)).startswith(
        "rank 0 on host h0 does not fit rank 2 on host h2: the graph is 0000000000000001 on rank 0, "
    )


def test_patch_versions_of_python_may_differ() -> None:
    major, minor, patch = sys.version_info[:3]
    check_alike([identity(0), identity(1, python=f"{major}.{minor}.{patch + 1}")], 0)


def test_a_rank_that_cannot_run_says_why_before_any_difference() -> None:
    found = refused(identity(0, graph=9), identity(1, error="no file", status=4))
    assert (text(found), found.status) == ("rank 1 on host h1: no file", 4)


def test_an_error_that_all_ranks_have_names_none_of_them() -> None:
    found = refused(identity(0, error="no file", status=2), identity(1, error="no file", status=2))
    assert (text(found), found.status) == ("no file", 2)


def test_errors_that_differ_name_the_first_rank() -> None:
    assert (
        text(refused(identity(0, error="a", status=1), identity(1, error="b", status=2)))
        == "rank 0 on host h0: a"
    )


def test_an_identity_travels_unchanged() -> None:
    made = identity(3, resume=4, whole_plan=b"plan")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Identity) == made


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (["a", "c"], "file 2 of actors.rows is 'c' on rank 2, 'b' on rank 1"),
        (["a"], "file 2 of actors.rows is no file on rank 2, 'b' on rank 1"),
    ],
)
def test_ranks_that_share_files_are_compared_with_each_other_and_not_with_those_that_have_none(
    theirs: list[str], said: str
) -> None:
    own = identity(1, files={"rows": ["a", "b"], "more": ["x"]})
    check_alike([identity(0), own, identity(2, files={"rows": ["a", "b"]})], 0)
    found = refused(identity(0), own, identity(2, files={"rows": theirs}))
    assert found.status == 2
    assert text(found).startswith(f"rank 2 on host h2 does not fit rank 1 on host h1: {said}; ")


def test_files_are_named_below_their_folder_for_the_sources_of_which_a_rank_runs_one_of_several_replicas() -> (
    None
):
    files = {"many": ["/d/1/a", "/d/1/b", "/d/c"], "one": ["/e/a"], "far": ["/f/a"], "single": ["/g/a"]}

    class Reader:
        @classmethod
        def files_read(cls, keys: dict[str, Any]) -> list[str]:
            return files[keys["of"]]

    def actor(name: str, replicas: int = 2, role: str = "source") -> SimpleNamespace:
        return SimpleNamespace(cls=Reader, role=role, replicas=replicas, keys={"of": name})

    actors = {
        "many": actor("many"),
        "one": actor("one"),
        "far": actor("far"),
        "single": actor("single", replicas=1),
        "table": actor("many", role="operator"),
        "feed": SimpleNamespace(cls=object, role="source", replicas=2, keys={}),
    }
    here = [name for name in actors if name != "far"]
    job: Any = SimpleNamespace(graph=SimpleNamespace(actors=actors), actors_of=lambda rank: here)
    assert files_of(job, 1) == {"many": ["1/a", "1/b", "c"], "one": ["a"]}


def test_the_code_of_a_job_is_that_of_all_classes_of_its_actors_that_are_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {}
    for name in ("base_of_app", "app_of_test"):
        modules[name] = ModuleType(name)
        modules[name].__file__ = str(tmp_path / f"{name}.py")
        (tmp_path / f"{name}.py").write_text(f"# {name}")
        monkeypatch.setitem(sys.modules, name, modules[name])
    base = type("Base", (Actor,), {"__module__": "base_of_app"})
    cls = type("Count", (base,), {"__module__": "app_of_test"})
    job: Any = SimpleNamespace(graph=SimpleNamespace(actors={"count": SimpleNamespace(cls=cls)}))
    found = code_of(job)
    assert list(found) == ["app_of_test", "base_of_app"]
    (tmp_path / "base_of_app.py").write_text("# changed")
    changed = code_of(job)
    assert changed["app_of_test"] == found["app_of_test"]
    assert changed["base_of_app"] != found["base_of_app"]


def test_ranks_look_for_files_at_others_only_where_the_input_of_some_is_wrong() -> None:
    wrong, failed = {"error": "no file", "status": 2}, {"error": "broken", "status": 1}
    assert differ_in_errors([identity(0), identity(1, **wrong)])
    assert differ_in_errors([identity(0, **wrong), identity(1, error="no file; near: b", status=2)])
    assert not differ_in_errors([identity(0), identity(1)])
    assert not differ_in_errors([identity(0, **wrong), identity(1, **wrong)])
    assert not differ_in_errors([identity(0, **failed), identity(1, **wrong), identity(2)])


def test_the_keys_of_a_job_are_its_plain_values_and_digests_of_long_ones() -> None:
    keys = {"count": 7, "columns": ["a", "b"], "path": Path("out.csv"), "made": object(), "text": "x" * 100}
    job: Any = SimpleNamespace(
        graph=SimpleNamespace(actors={"rows": SimpleNamespace(name="rows", keys=keys)})
    )
    found = keys_of(job)
    assert found["rows.count"] == "7"
    assert found["rows.columns"] == "['a', 'b']"
    assert len(found["rows.text"]) == 16
    assert set(found) == {"rows.count", "rows.columns", "rows.text"}
    keys["text"] = "x" * 99 + "y"
    assert keys_of(job)["rows.text"] != found["rows.text"]
