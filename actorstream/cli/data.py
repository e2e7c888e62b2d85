"""`actorstream data NAME`: runs the pipeline of an app, which makes the app's input, or prepares data that is there."""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from cyclopts import App

FILE, FUNCTION = "pipeline.py", "pipeline"

Pipeline = Callable[..., Any]


def data(
    name: str,
    /,
    *given: Annotated[str, Parameter(allow_leading_hyphen=True)],
    out: Path | None = None,
    options: Annotated[bool, Parameter(negative=())] = False,
    master: str = "local[*]",
    format_: Annotated[
        Literal["csv", "jsonl", "parquet"] | None, Parameter(name="--format", negative=())
    ] = None,
    compress: Annotated[bool, Parameter(negative=())] = False,
    check: Annotated[bool, Parameter(negative=())] = False,
    spark_logs: Annotated[bool, Parameter(negative=())] = False,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Make or prepare the input of an app at any size, as a Spark job.

    Writes a folder for each stream of the app, with files in the order of time, and a manifest.json with the number of
    rows, the least and the greatest event time and the checksum of each. The same options give the same bytes, however
    many tasks run. Exit status: 0 done, 1 the job failed or files differ, 2 the input is wrong.

    Parameters
    ----------
    name
        An app with a pipeline (apps/NAME/pipeline.py), or the folder or file of a pipeline.
    given
        Options of the pipeline itself, such as --events 1000.
    out
        The folder to write.
    options
        Writes nothing: lists the options of the pipeline.
    master
        Where Spark runs: local[*], spark://host:7077, yarn, …
    format_
        Of the streams' files, instead of the one that the app's topology reads.
    compress
        Packs text files with gzip.
    check
        Writes nothing: compares the files in DIR with its manifest.
    spark_logs
        Shows Spark's logs on stderr.
    json_
        Prints the manifest to stdout.
    """
    from actorstream.errors import ConfigurationError, Problem
    from actorstream.spark.write import (
        check_files,
        check_folder,
        prepare_folder,
        read_manifest,
        with_format,
        write_streams,
    )

    pipeline = load_pipeline(name)
    if options:
        print(describe(name, pipeline))
        return 0
    values = parse(name, pipeline, list(given))
    if out is None:
        raise ConfigurationError(Problem("--out", "is missing", "a folder to write into"))
    if check:
        wrong = check_files(out)
        print("\n".join(wrong) or f"{out}: all files are as the manifest says")
        return 1 if wrong else 0
    check_folder(out)
    from actorstream.spark.session import spark_session

    began = time.monotonic()

    def tell(line: str) -> None:
        print(f"data {name}: {line} ({time.monotonic() - began:.1f} s)", file=sys.stderr, flush=True)

    tell(f"starting Spark, master {master}")
    with spark_session(master, logs=spark_logs) as spark:
        streams = with_format(pipeline(spark, **values), format_, compress)
        about = {"pipeline": name, "options": {key: _told(value) for key, value in values.items()}}
        prepare_folder(out)  # Spark has started: what was there goes only now
        write_streams(spark, streams, out, about, tell)
    tell(f"done: {out / 'manifest.json'}")
    if json_:
        print(json.dumps(read_manifest(out), indent=2))
    return 0


def load_pipeline(name: str) -> Pipeline:
    """The function `pipeline` of an app. ConfigurationError: there is none of this name."""
    from actorstream.errors import ConfigurationError, Problem
    from actorstream.topology.modules import NotFoundError, load_object, project_root, use_modules_of
    from actorstream.topology.suggestions import did_you_mean, listed

    places = [Path(name), Path(name, FILE), Path("apps", name, FILE)]
    file = next((path for path in places if path.suffix == ".py" and path.is_file()), None)
    if file is None:
        there = sorted(path.parent.name for path in Path("apps").glob(f"*/{FILE}"))
        allowed = listed(there) if there else f"the path of a folder with a {FILE}"
        hint = did_you_mean(name, there)
        raise ConfigurationError(Problem("data", f"there is no pipeline {name!r} here", allowed, hint))
    root = project_root(file)
    use_modules_of(root)
    module = ".".join(file.resolve().relative_to(root).with_suffix("").parts)
    try:
        found: Pipeline = load_object(f"{module}:{FUNCTION}", noun="pipeline")
    except NotFoundError as error:
        raise ConfigurationError(Problem(str(file), error.message, error.allowed, error.hint)) from error
    return found


def parse(name: str, pipeline: Pipeline, options: list[str]) -> dict[str, Any]:
    """The values of a pipeline's options, defaults included. CycloptsError: an option is wrong."""
    values: dict[str, Any] = _app(name, pipeline)(
        options, result_action="return_value", exit_on_error=False, print_error=False
    )
    return values


def describe(name: str, pipeline: Pipeline) -> str:
    """The options of a pipeline as text."""
    lines = [inspect.getdoc(pipeline) or "", "", f"actorstream data {name} --out DIR"]
    for parameter in _options(pipeline):
        flag = "--" + parameter.name.replace("_", "-")
        lines.append(f"  {flag:24}{'' if parameter.default is None else parameter.default}")
    return "\n".join(lines).strip()


def _app(name: str, pipeline: Pipeline) -> App:
    from cyclopts import App

    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in _options(pipeline)]
    defaults = {each.name: each.default for each in parameters}

    def values(**given: Any) -> dict[str, Any]:
        return {**defaults, **given}

    values.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    values.__annotations__ = {each.name: each.annotation for each in parameters}
    app = App(name=f"actorstream data {name}", help_flags=[], version_flags=[])
    app.default(values)
    return app


def _options(pipeline: Pipeline) -> list[inspect.Parameter]:
    """The parameters behind the session."""
    parameters = list(inspect.signature(pipeline).parameters.values())[1:]
    names = getattr(pipeline, "__globals__", {})
    return [
        each.replace(annotation=eval(each.annotation, names)) if isinstance(each.annotation, str) else each
        for each in parameters
    ]


def _told(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
