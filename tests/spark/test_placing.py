"""Where Spark runs the tasks that feed actors, and what they say where their Python lacks this package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext

from actorstream.spark.driver import missing_package
from actorstream.spark.failure import spark_error
from actorstream.spark.placing import near, placed
from actorstream.spark.push import RESULT, Target

from .inputs import module_of_the_driver


def test_a_lane_whose_actor_is_on_a_host_prefers_executors_there(spark: Any) -> None:
    lanes = placed(spark.sparkContext, [Target("a", "t", "10.1.2.3"), None, Target("b", "t")])
    rdd = lanes._jrdd.rdd()
    hosts = [str(rdd.preferredLocations(part).mkString(",")) for part in rdd.partitions()]
    assert hosts == ["10.1.2.3", "", ""]
    found = lanes.mapPartitions(lambda _: [TaskContext.get().partitionId()]).collect()
    assert found == [0, 1, 2]


def test_the_rows_of_a_shuffle_prefer_executors_on_the_host_of_their_actor(spark: Any) -> None:
    def one_row(batches: Iterator[Any]) -> Iterator[Any]:
        rows = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pylist(
            [{"lane": TaskContext.get().partitionId(), "rows": rows, "left": False}]
        )

    rows = spark.range(100).repartition(3, "id").sortWithinPartitions("id").mapInArrow(one_row, RESULT)
    pushed = near(rows, [Target("a", "t", "10.1.2.3"), None, Target("b", "t", "10.1.2.4")])
    found = spark.sparkContext.runJob(pushed, list, [0, 2])
    assert [row.lane for row in found] == [0, 2]
    assert 0 < sum(row.rows for row in found) < 100
    context, rdd = spark.sparkContext._jsc.sc(), pushed._jrdd.rdd()
    hosts = [str(context.getPreferredLocs(rdd, number).mkString(",")) for number in range(3)]
    assert ("10.1.2.3" in hosts[0], "10.1.2." in hosts[1], "10.1.2.4" in hosts[2]) == (True, False, True)


def test_an_executor_without_the_package_is_named_with_what_to_do(spark: Any) -> None:
    with (
        pytest.raises(Exception, match="No module named 'actorstream") as error,
        module_of_the_driver("actorstream_of_the_driver") as missing,
    ):
        spark.sparkContext.parallelize([1]).mapPartitions(missing.run).collect()
    told = str(spark_error("pushing rows", error.value, missing_package(error.value)))
    assert re.search(
        r"the executors' Python \(.*python.*\) lacks this package: install actorstream there", told
    )
    assert len(told.splitlines()) <= 15
