"""PyFlink DataStream: a plain Python map over integers, parallelism 1. Prints {"value": events a second}.

The rate is the slope between a short and a longer job, so that neither the JVM's nor Python's start is
measured.
"""

from __future__ import annotations

import json
import sys

from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import Sink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.java_gateway import get_gateway


def seconds(rows: int) -> float:
    """The net run time of a job over `rows` integers."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    numbers = environment.from_source(
        NumberSequenceSource(1, rows), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    mapped = numbers.map(lambda number: number + 1, output_type=Types.LONG())
    discarding = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    mapped.sink_to(Sink(discarding))
    return environment.execute().get_net_runtime() / 1000


def main(rows: int) -> None:
    short = seconds(rows // 4)
    print(json.dumps({"value": (rows - rows // 4) / (seconds(rows) - short)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
