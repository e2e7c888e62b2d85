"""Dataframes: topologies as a data source of Spark: `spark.read.format("actorstream")`, `readStream` and `df.write`.

    from actorstream.dataframes import register
    register(spark)

Importing it needs no pyspark; `register` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Lets a session use the format `actorstream`. NotInstalledError without pyspark."""
    from importlib.util import find_spec

    from actorstream.errors import NotInstalledError

    if find_spec("pyspark") is None:
        raise NotInstalledError("the format actorstream of Spark", "spark")
    from actorstream.dataframes.data_source import ActorstreamDataSource

    spark.dataSource.register(ActorstreamDataSource)
