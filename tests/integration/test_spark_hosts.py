"""A Spark task on another host pushes into the receiver of a source: the hosts are network namespaces. Whoever listens on the
network between them learns nothing."""

from __future__ import annotations

import json
import sys

from tests.integration.namespaces import hosts

PATIENCE_S = 60.0
BATCHES, ROWS = 50, 1000
RECEIVE = """
import json, socket, sys, threading
from actorstream.spark.lanes import times_of
from actorstream.spark.receiver import Receiver
woken = threading.Event()
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
heard = []
def listen():
    while True:
        heard.append(wire.recv(1 << 17))
threading.Thread(target=listen, daemon=True).start()
receiver = Receiver([0], lambda rows: times_of(rows.column("t")), woken.set, host=sys.argv[1])
print(json.dumps([receiver.address, receiver.token]), flush=True)
total = rows = 0
while not receiver.ended:
    woken.clear()
    if (found := receiver.take(700)) is not None:
        rows += found[0].num_rows
        total += sum(found[0].column("t").to_pylist())
    elif not receiver.ended:
        assert woken.wait(60)
secrets = (receiver.token.encode(), b"ARROW", b"secret")
clear = [each.decode() for each in secrets if any(each in packet for packet in heard)]
print(json.dumps([rows, total, clear, sum(map(len, heard)) > 8 * rows]), flush=True)
sys.stdin.read()
"""
PUSH = """
import json, sys
import pyarrow as pa
from actorstream.spark.push import Target, encoded, push
address, token, batches, rows = json.loads(sys.argv[1])
numbers = (range(first, first + rows) for first in range(0, batches * rows, rows))
made = (pa.record_batch({"t": each, "text": ["secret"] * rows}) for each in numbers)
print(push(Target(address, token), 0, 0, encoded(made)).rows)
"""


def test_a_task_on_another_host_pushes_every_row() -> None:
    code = (sys.executable, "-c")
    with hosts(2) as made, made.start(made.name(0), *code, RECEIVE, made.address(0)) as receiver:
        assert receiver.stdout is not None
        address, token = json.loads(receiver.stdout.readline())
        hello = json.dumps([address, token, BATCHES, ROWS])
        with made.start(made.name(1), *code, PUSH, hello) as task:
            pushed, said = task.communicate(timeout=PATIENCE_S)
        assert task.returncode == 0, said
        arrived = json.loads(receiver.stdout.readline())
        receiver.communicate(timeout=PATIENCE_S)
    count = BATCHES * ROWS
    assert (int(pushed), arrived) == (count, [count, count * (count - 1) // 2, [], True])
