"""Where Spark runs the tasks that push: on the host of the actor that they push to, if it has an executor. In the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorstream.spark.push import Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def placed(context: Any, targets: Sequence[Target | None]) -> Any:
    """An RDD of a partition for each lane, which Spark runs on the host of the lane's actor if it has an executor there."""
    if not any(target is not None and target.host for target in targets):
        return context.parallelize(range(len(targets)), len(targets))
    from pyspark.rdd import RDD
    from pyspark.serializers import NoOpSerializer

    java = context._jvm
    lists = java.scala.jdk.javaapi.CollectionConverters
    pairs = java.java.util.ArrayList()
    for target in targets:
        hosts = java.java.util.ArrayList()
        if target is not None and target.host:
            hosts.add(target.host)
        pairs.add(java.scala.Tuple2(b"", lists.asScala(hosts).toSeq()))
    kind = java.scala.reflect.ClassTag.apply(java.java.lang.Class.forName("[B"))
    made = context._jsc.sc().makeRDD(lists.asScala(pairs).toSeq(), kind)
    return RDD(made.toJavaRDD(), context, NoOpSerializer())


def near(rows: DataFrame, targets: Sequence[Target | None]) -> Any:
    """The RDD of a DataFrame that has a partition for each target, and in each one row; Spark prefers the hosts of the targets
    if the numbers of partitions agree.

    Where the rows of a shuffle are computed is Spark's choice. But of two RDDs that are zipped, Spark takes the hosts that both
    prefer, else those of either one, and the partitions of a shuffle prefer all hosts alike."""
    pushed = rows.rdd
    if not any(target is not None and target.host for target in targets):
        return pushed
    if pushed.getNumPartitions() != len(targets):
        return pushed
    from pyspark.rdd import RDD
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    context = rows.sparkSession.sparkContext
    java = placed(context, targets)._jrdd.zip(pushed._jrdd).values()
    return RDD(java, context, BatchedSerializer(CPickleSerializer()))
